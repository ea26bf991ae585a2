//! Holds the translation of another tool's line: runs as halfpower words, notes, and the layout for printing.

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

use halfpower_record::{Environment, Record};
use halfpower_spec::masked_addresses;

use crate::RunWords;

/// The translation of another tool's line.
#[derive(Debug)]
pub struct Translation {
    /// The runs, one after the other.
    pub runs: Vec<RunWords>,
    /// How results are printed; `None` prints as `halfpower run` does.
    pub layout: Option<Box<dyn Layout>>,
    /// The file that results go to; `None` is standard output.
    pub output: Option<Output>,
    /// Whether the words of the runs are printed and nothing is measured.
    pub only_shows: bool,
}

/// The file that results go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its path.
    pub path: PathBuf,
    /// Whether it may replace a file that halfpower did not make.
    pub force: bool,
}

/// How another tool prints its results.
pub trait Layout: fmt::Debug {
    /// Whether halfpower's own layout is printed as well.
    fn goes_with_ours(&self) -> bool {
        false
    }

    /// Whether what is printed holds the notes of the runs.
    fn holds_notes(&self) -> bool {
        false
    }

    /// Prints all runs of a line.
    ///
    /// # Errors
    /// Errors of `out`.
    fn print(&self, measured: &[Measured<'_>], out: &mut dyn Write) -> io::Result<()>;
}

/// One run that was measured.
#[derive(Debug)]
pub struct Measured<'a> {
    /// The run.
    pub run: &'a RunWords,
    /// Its record.
    pub record: Record,
    /// Its environment.
    pub environment: Environment,
}

/// An option that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its place, such as `job.fio, line 7`; empty on the command line.
    pub place: String,
    /// The option as it is written.
    pub option: String,
    /// Why, and what to do.
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, .. } = self;
        let option = masked_addresses(&self.option);
        let why = masked_addresses(&self.why);
        if !place.is_empty() {
            write!(f, "{place}: ")?;
        }
        if option.is_empty() { f.write_str(&why) } else { write!(f, "{option}: {why}") }
    }
}

impl Refusal {
    /// A refusal on the command line.
    pub fn of(option: impl Into<String>, why: impl Into<String>) -> Self {
        Self { place: String::new(), option: option.into(), why: why.into() }
    }
}

impl Translation {
    /// Runs that are measured and printed in this layout.
    pub fn of(runs: Vec<RunWords>, layout: Option<Box<dyn Layout>>) -> Self {
        Self { runs, layout, output: None, only_shows: false }
    }

    /// Differences from the other tool, each sentence once.
    pub fn notes(&self) -> Vec<&str> {
        let mut notes: Vec<&str> = Vec::new();
        for note in self.runs.iter().flat_map(|run| &run.notes) {
            if !notes.contains(&note.as_str()) {
                notes.push(note);
            }
        }
        notes
    }

    /// Whether the notes stand in the results as well.
    pub fn holds_notes(&self) -> bool {
        self.layout.as_ref().is_some_and(|layout| layout.holds_notes())
    }

    /// Whether the results are printed as `halfpower run` prints them, perhaps besides.
    pub fn is_printed_as_ours(&self) -> bool {
        self.layout.as_ref().is_none_or(|layout| layout.goes_with_ours())
    }

    /// Prints the results in the other tool's layout; prints nothing if the layout is halfpower's.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn print(&self, measured: &[Measured<'_>], out: &mut dyn Write) -> io::Result<()> {
        self.layout.as_ref().map_or(Ok(()), |layout| layout.print(measured, out))
    }
}
