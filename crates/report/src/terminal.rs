//! Prints what the study found on one screen: at most forty lines.
//!
//! The answer stands first, in its three sentences; then the path, the advice, a chart, half power and cost of each
//! path, and warnings. Where there is more than a screen holds, the least urgent lines give way, and say how many
//! they were.

mod chart;
mod screen;
mod sections;

use std::io::{self, Write};

use halfpower_experiments::StudyFindings;

pub(crate) use screen::Noun;

/// A line of prose beyond this is hard to read, however wide the terminal.
const WIDEST: usize = 120;
/// Below this, tables are cut rather than the text folded further.
const NARROWEST: usize = 40;

/// How text is to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether colours may be used.
    pub colour: bool,
}

/// Prints the findings on at most one screen of forty lines, unless the answer itself is longer.
///
/// # Errors
/// Those of `out`.
pub fn terminal(findings: &StudyFindings, style: &Style, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let width = style.width.clamp(NARROWEST, WIDEST);
    let mut sections = sections::all(findings, width);
    screen::fit(&mut sections);
    let mut first = true;
    for section in sections.iter().filter(|section| !section.items.is_empty()) {
        if !first {
            writeln!(out)?;
        }
        first = false;
        section.print(width, style.colour, out)?;
    }
    Ok(())
}
