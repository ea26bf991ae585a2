//! Implements `halfpower report`: reports on a study file.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::Result;
use halfpower_experiments::StudyFindings;
use halfpower_record::output::Form;
use halfpower_record::{Diagnosis, Environment, HostPlace, Level, Record, StudyFile, TargetKind};
use halfpower_report::Style;

use super::{destination, opened, shut_out, to_output, to_styled_output};
use crate::args::ReportArgs;
use crate::progress::is_dumb;

/// Columns if output does not go to a terminal.
const WITHOUT_A_TERMINAL: usize = 80;

/// A study file and its analysis.
pub struct Analysed {
    pub findings: StudyFindings,
    pub records: Vec<Record>,
    /// The study file.
    path: PathBuf,
    /// The command that asks the same question; empty if another tool measured.
    pub command: String,
}

/// The hosts and levels of the records to analyse: if a study continued with a different number of hosts, those of the
/// last environment.
fn of_hosts(began: &Environment, at_last: &Environment) -> (Vec<HostPlace>, Vec<Level>) {
    let of = if began.hosts.len() == at_last.hosts.len() { began } else { at_last };
    (of.hosts.clone(), of.levels.clone())
}

/// What the checks of settings found in the first of these environments in which somebody looked.
fn diagnoses_in<'a>(mut environments: impl Iterator<Item = &'a Environment>) -> &'a [Diagnosis] {
    let looked = environments.find(|environment| !environment.diagnoses.is_empty());
    looked.map(|environment| environment.diagnoses.as_slice()).unwrap_or_default()
}

/// The environment in which the records of a study are analysed, of all that it had.
pub fn environment_of(file: &StudyFile) -> Environment {
    let far_end = file.environments().iter().rev().find_map(|environment| environment.far_end.clone());
    let left_out = file.left_out();
    let notes = file.notes();
    let diagnoses = diagnoses_in(file.environments().iter()).to_vec();
    let mut environment = Environment { left_out, notes, far_end, diagnoses, ..file.environment().clone() };
    if let Some(at_last) = file.environments().last() {
        (environment.hosts, environment.levels) = of_hosts(&environment, at_last);
    }
    environment
}

impl Analysed {
    pub fn of(file: &StudyFile) -> Result<Self> {
        let records = file.comparable_records()?;
        let environment = environment_of(file);
        let after = diagnoses_in(file.environments().iter().rev());
        let findings = halfpower_experiments::analyse(file.question(), &environment, &records);
        let mut findings = findings.checked_again(after);
        if let Some(share) = halfpower_study::unfinished_share(file)? {
            findings = findings.cut_short(share);
        }
        let imported = environment.capabilities.kind == TargetKind::Imported;
        let command = if imported { String::new() } else { super::question::command_of(file.question()) };
        let path = file.path().to_path_buf();
        Ok(Self { findings, records, path, command })
    }

    pub fn write_html(&self, out: &mut dyn Write) -> Result<()> {
        Ok(halfpower_report::html(&self.findings, &self.records, &self.command, out)?)
    }

    pub fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        Ok(halfpower_report::json(&self.findings, out)?)
    }

    pub fn write_text(&self, out: &mut dyn Write) -> Result<()> {
        Ok(halfpower_report::terminal(&self.findings, Some(&self.path), &style(), out)?)
    }

    fn write_all(&self, out: &mut dyn Write) -> Result<()> {
        Ok(halfpower_report::terminal_full(&self.findings, &style(), out)?)
    }

    fn write_warnings(&self, out: &mut dyn Write) -> Result<()> {
        Ok(halfpower_report::warnings_text(&self.findings, &style(), out)?)
    }
}

pub fn report(args: &ReportArgs) -> Result<()> {
    let page = args.html.as_deref().map(|path| destination(path, Form::Page, args.force)).transpose()?;
    shut_out([args.study.as_path()], args.html.as_deref());
    let analysed = Analysed::of(&opened(&args.study)?)?;
    match page {
        Some(page) => page.write(|out| analysed.write_html(out)),
        None if args.json => to_output(|out| analysed.write_json(out)),
        None if args.full => to_styled_output(&style(), |out| analysed.write_all(out)),
        None if args.warnings => to_styled_output(&style(), |out| analysed.write_warnings(out)),
        None => to_styled_output(&style(), |out| analysed.write_text(out)),
    }
}

/// As [`style_without_a_terminal`], with 80 columns.
pub fn style() -> Style {
    style_without_a_terminal(WITHOUT_A_TERMINAL)
}

/// The terminal's width; without a terminal that of the variable COLUMNS, else `width`. Colour only on a terminal that
/// supports it and without NO_COLOR.
pub fn style_without_a_terminal(width: usize) -> Style {
    let out = std::io::stdout();
    let size = terminal_size::terminal_size_of(&out).filter(|_| out.is_terminal());
    let columns = size.map(|(columns, _)| usize::from(columns.0)).filter(|columns| *columns > 0);
    let asked = || std::env::var("COLUMNS").ok()?.parse::<usize>().ok().filter(|columns| *columns > 0);
    let width = columns.or_else(asked).unwrap_or(width);
    Style { width, colour: out.is_terminal() && may_colour() }
}

/// Whether colours may go to a terminal: it has them, and NO_COLOR does not object.
pub fn may_colour() -> bool {
    let objection = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !is_dumb() && !objection
}
