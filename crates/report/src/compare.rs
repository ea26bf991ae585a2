//! Shows how studies differ from a baseline: in the terminal, as Markdown and as a page.

mod cells;
mod charts;
mod data;
mod many;
mod page;
mod parts;
mod sides;
mod tables;
mod terminal;

use std::io::{self, Write};

use halfpower_analyse::Comparison;

pub use page::compare_html;

use crate::Style;
use terminal::Extent;

/// Prints one or more comparisons with the same baseline. A single comparison takes at most a screen of forty lines,
/// unless its first parts alone are longer.
///
/// # Errors
/// Those of `out`.
pub fn compare_text(comparisons: &[Comparison], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let most = if comparisons.len() == 1 { terminal::SCREEN } else { usize::MAX };
    parts::print(&all(comparisons, Extent::Screen), most, style, out)
}

/// Prints the same in full: every cell with its intervals, every depth, every condition's case.
///
/// # Errors
/// Those of `out`.
pub fn compare_full(comparisons: &[Comparison], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    parts::print(&all(comparisons, Extent::Full), usize::MAX, style, out)
}

/// Writes the same in full as Markdown, for a pull request or an issue.
///
/// # Errors
/// Those of `out`.
pub fn compare_markdown(comparisons: &[Comparison], out: &mut dyn Write) -> io::Result<()> {
    parts::print_markdown(&all(comparisons, Extent::Screen), out)
}

fn all(comparisons: &[Comparison], extent: Extent) -> Vec<parts::Part> {
    match comparisons {
        [comparison] => terminal::parts(comparison, extent),
        several => many::parts(several, extent),
    }
}
