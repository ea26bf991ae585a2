//! `halfpower report`: what a study found, again, from its file.

use std::io::{IsTerminal, Write};

use analyse::Findings;
use anyhow::Result;
use record::{Environment, Record, StudyFile};
use report::Style;

use super::{to_file, to_output};
use crate::args::ReportArgs;

/// A study file with what the analysis says of it.
pub struct Analysed {
    pub findings: Findings,
    pub records: Vec<Record>,
    /// The command that asks the same question.
    pub command: String,
}

impl Analysed {
    pub fn of(file: &StudyFile) -> Result<Self> {
        let records = file.records()?;
        let environment = Environment { left_out: file.left_out(), ..file.environment().clone() };
        let findings = analyse::analyse(file.question(), &environment, &records);
        Ok(Self { findings, records, command: super::question::command_of(file.question()) })
    }

    pub fn write_html(&self, out: &mut dyn Write) -> Result<()> {
        Ok(report::html(&self.findings, &self.records, &self.command, &mut &mut *out)?)
    }

    pub fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        Ok(report::json(&self.findings, &mut &mut *out)?)
    }

    pub fn write_text(&self, out: &mut dyn Write) -> Result<()> {
        Ok(report::terminal(&self.findings, &style(), &mut &mut *out)?)
    }
}

pub fn report(args: &ReportArgs) -> Result<()> {
    let analysed = Analysed::of(&StudyFile::open(&args.study)?)?;
    match &args.html {
        Some(path) => to_file(path, |out| analysed.write_html(out)),
        None if args.json => to_output(None, |out| analysed.write_json(out)),
        None => to_output(None, |out| analysed.write_text(out)),
    }
}

/// As wide as the terminal, in colour only where there is one and nobody objects (NO_COLOR).
pub fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let objection = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Style { width: columns.unwrap_or(100), colour: terminal && !objection }
}
