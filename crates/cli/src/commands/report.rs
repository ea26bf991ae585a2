//! Implements `halfpower report`: reports on a study file.

use std::io::{IsTerminal, Write};

use anyhow::Result;
use halfpower_experiments::StudyFindings;
use halfpower_output::Form;
use halfpower_record::{Environment, Record, StudyFile};
use halfpower_report::Style;

use super::{destination, to_output};
use crate::args::ReportArgs;

/// Columns of a report on a wide terminal; longer lines are harder to read.
const WIDEST: usize = 120;

/// A study file and its analysis.
pub struct Analysed {
    pub findings: StudyFindings,
    pub records: Vec<Record>,
    /// The command that asks the same question.
    pub command: String,
}

impl Analysed {
    pub fn of(file: &StudyFile) -> Result<Self> {
        let records = file.records()?;
        let environment = Environment { left_out: file.left_out(), ..file.environment().clone() };
        let findings = halfpower_experiments::analyse(file.question(), &environment, &records);
        Ok(Self { findings, records, command: super::question::command_of(file.question()) })
    }

    pub fn write_html(&self, out: &mut dyn Write) -> Result<()> {
        Ok(halfpower_report::html(&self.findings, &self.records, &self.command, &mut &mut *out)?)
    }

    pub fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        Ok(halfpower_report::json(&self.findings, &mut &mut *out)?)
    }

    pub fn write_text(&self, out: &mut dyn Write) -> Result<()> {
        Ok(halfpower_report::terminal(&self.findings, &style(), &mut &mut *out)?)
    }
}

pub fn report(args: &ReportArgs) -> Result<()> {
    let page = args.html.as_deref().map(|path| destination(path, Form::Page, args.force)).transpose()?;
    let analysed = Analysed::of(&StudyFile::open(&args.study)?)?;
    match page {
        Some(page) => page.write(|out| analysed.write_html(out)),
        None if args.json => to_output(|out| analysed.write_json(out)),
        None => to_output(|out| analysed.write_text(out)),
    }
}

/// As wide as COLUMNS says or the terminal is; in colour only on a terminal without NO_COLOR.
pub fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let of_terminal =
        || terminal_size::terminal_size().filter(|_| terminal).map(|(width, _)| usize::from(width.0).min(WIDEST));
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).or_else(of_terminal);
    let objection = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Style { width: columns.unwrap_or(100), colour: terminal && !objection }
}
