//! Prints the findings of a study: the answer on one screen, everything, or all warnings.
//!
//! The first screen has the state of the study, the two worst warnings, what was asked for by name (an application's needs,
//! the most load under a latency), and three short sections: how fast, what stops it, what to set. The details behind them
//! (path, charts, half power, cost, experiments) are printed on request.

mod application;
mod chart;
mod commits;
mod first;
mod in_place;
mod live;
mod most_load;
mod screen;
mod sections;

use std::io::{self, Write};
use std::path::Path;

use halfpower_experiments::StudyFindings;

pub use in_place::InPlace;
pub use live::{Now, live_frame};
pub(crate) use screen::{BOLD, Noun, folded, styled};
pub use screen::{STYLES, Style};

use crate::words::warnings;
use first::Moment;
use screen::{Item, NARROWEST, Section, Tone, WIDEST, print, print_line};

/// Prints the answer on one screen; the last line names `file`, the study file.
///
/// # Errors
/// Those of `out`.
pub fn terminal(findings: &StudyFindings, file: Option<&Path>, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let width = style.width.clamp(NARROWEST, WIDEST);
    let first = print(&first::sections(findings, Moment::After, width), width, style.colour, out);
    first.and_then(|()| writeln!(out))?;
    print_line(&first::more(findings, file, width), Tone::Plain, width, style.colour, out)
}

/// Prints the answer and all details: the path, all advice, charts, half power and cost, each experiment, all warnings.
///
/// # Errors
/// Those of `out`.
pub fn terminal_full(findings: &StudyFindings, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let width = style.width.clamp(NARROWEST, WIDEST);
    let mut all = first::summary(findings, Moment::After, width);
    all.extend(sections::all(findings, width));
    all.push(warnings(findings, width));
    print(&all, width, style.colour, out)
}

/// Prints all warnings, the most harmful first.
///
/// # Errors
/// Those of `out`.
pub fn warnings_text(findings: &StudyFindings, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let width = style.width.clamp(NARROWEST, WIDEST);
    let section = warnings(findings, width);
    if section.items.is_empty() {
        return writeln!(out, "No warnings.");
    }
    section.print(width, style.colour, out)
}

fn warnings(findings: &StudyFindings, width: usize) -> Section {
    let faults = findings.faults.iter().map(crate::words::faults::sentence);
    let texts = faults.chain(findings.warnings.iter().map(|warning| warnings::words(warning).sentence));
    let items = texts.map(|text| Item::sentence("  ! ", &text, width, Tone::Alert)).collect();
    Section::new(Some("WARNINGS, the most harmful first".to_string()), items)
}
