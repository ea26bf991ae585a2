//! Builds the section of the first screen on the most load under a latency.

use halfpower_experiments::StudyFindings;

use super::screen::{Item, Section, Tone};
use crate::words::most_load::{HEADING, LoadLine, lines, notes};

/// Width from which the requests have a column of their own.
const WIDE: usize = 72;

/// Such as `random read 4 KiB   p99 below 1.0 ms up to 41,200 a second ±4%`; empty if nobody asked for it.
pub(super) fn most_load(study: &StudyFindings, is_measuring: bool, width: usize) -> Section {
    let lines = lines(study, is_measuring);
    let widest = lines.iter().map(|line| line.of.chars().count()).max().unwrap_or(0);
    let item = |LoadLine { of, text }: &LoadLine| {
        if width >= WIDE {
            Item::sentence(&format!("  {of:<widest$}   "), text, width, Tone::Plain)
        } else {
            Item::sentence("  ", &format!("{}: {text}", of.trim_start()), width, Tone::Plain)
        }
    };
    let notes = notes(study).iter().map(|note| Item::sentence("  ", note, width, Tone::Plain));
    let items = lines.iter().map(item).chain(notes).collect();
    Section::new(Some(HEADING.to_uppercase()), items)
}
