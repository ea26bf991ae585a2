//! Holds what a line of another tool became: runs in our words, notes, and the layout to print records in.

use std::fmt;
use std::io::{self, Write};

use halfpower_record::{Environment, Record};

use crate::RunWords;
use crate::{diskspd, fio, sqlio};

/// What a line of another tool asks.
#[derive(Debug)]
pub struct Translation {
    /// The runs, one after the other.
    pub runs: Vec<RunWords>,
    /// How results are printed.
    pub layout: Layout,
}

/// How results are printed.
#[derive(Debug)]
pub enum Layout {
    /// As `halfpower run` prints them.
    Ours,
    /// As fio's JSON.
    FioJson,
    /// As SQLIO's text.
    Sqlio(sqlio::Shown),
    /// As diskspd's text or XML.
    Diskspd(diskspd::Shown),
}

/// One run that was measured.
#[derive(Debug)]
pub struct Measured<'a> {
    /// What was asked.
    pub run: &'a RunWords,
    /// What it gave.
    pub record: Record,
    /// Where.
    pub environment: Environment,
}

/// An option that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Where it stands, such as `job.fio, line 7`; empty on the command line.
    pub place: String,
    /// The option as it is written.
    pub option: String,
    /// Why, and what to do.
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, option, why } = self;
        if !place.is_empty() {
            write!(f, "{place}: ")?;
        }
        if option.is_empty() { f.write_str(why) } else { write!(f, "{option}: {why}") }
    }
}

impl Refusal {
    /// A refusal on the command line.
    pub fn of(option: impl Into<String>, why: impl Into<String>) -> Self {
        Self { place: String::new(), option: option.into(), why: why.into() }
    }
}

impl Translation {
    /// What is otherwise than in the other tool, in sentences, each once.
    pub fn notes(&self) -> Vec<&str> {
        let mut notes: Vec<&str> = Vec::new();
        for note in self.runs.iter().flat_map(|run| &run.notes) {
            if !notes.contains(&note.as_str()) {
                notes.push(note);
            }
        }
        notes
    }

    /// Whether the results are printed as `halfpower run` prints them.
    pub fn is_printed_as_ours(&self) -> bool {
        matches!(self.layout, Layout::Ours)
    }

    /// Prints the results in the other tool's layout; nothing where it is ours.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print(&self, measured: &[Measured<'_>], out: &mut dyn Write) -> io::Result<()> {
        match &self.layout {
            Layout::Ours => Ok(()),
            Layout::FioJson => fio::print_json(measured, out),
            Layout::Sqlio(shown) => measured.iter().try_for_each(|run| sqlio::print(shown, run, out)),
            Layout::Diskspd(shown) => measured.iter().try_for_each(|run| diskspd::print(shown, run, out)),
        }
    }
}
