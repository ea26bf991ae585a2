//! Shows which of many alike machines is unlike the others, with a map of these: in the terminal and as a page.

mod page;

pub use page::alike_html;

use std::collections::BTreeSet;
use std::io::{self, Write};

use halfpower_analyse::{Access, AlikeMachines};
use halfpower_spec::format;

use crate::Style;
use crate::columns::{Column, lines};
use crate::terminal::{BOLD, folded, styled};
use crate::words::alike as words;

/// Narrowest and widest width.
const WIDTH: (usize, usize) = (40, 120);
/// Machines that are shown; the report counts the others.
const SHOWN: usize = 50;

/// Prints which machines are unlike the others: each with what differs most, then a map of their rates, and the names of the
/// most typical ones to hold them against.
///
/// # Errors
/// Those of `out`.
pub fn alike_text(found: &AlikeMachines, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let width = style.width.clamp(WIDTH.0, WIDTH.1);
    let bold = style.colour.then_some(BOLD);
    print(&folded("", &words::gist(found), width), width, out)?;
    if found.unlike.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    styled("UNLIKE THE OTHERS, the most unlike first", bold, width, out)?;
    for one in found.unlike.iter().take(SHOWN) {
        print(&folded("  ", &format!("{}: {}", one.name, words::unlike(one)), width), width, out)?;
    }
    if found.unlike.len() > SHOWN {
        print(&[format!("  ... and {} more", found.unlike.len() - SHOWN)], width, out)?;
    }
    writeln!(out)?;
    styled("RATE AS A SHARE OF THE OTHERS'", bold, width, out)?;
    print(&map(found, width), width, out)?;
    let typical: Vec<&str> = found.typical().iter().map(|one| one.name.as_str()).collect();
    if typical.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    styled("THE MOST TYPICAL", bold, width, out)?;
    print(&folded("  ", &typical.join(", "), width), width, out)
}

fn print(lines: &[String], width: usize, out: &mut dyn Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| styled(line, None, width, out))
}

/// A row for each machine that is shown, and a column for each kind of requests.
fn map(found: &AlikeMachines, width: usize) -> Vec<String> {
    let shown = || found.unlike.iter().take(SHOWN);
    let parts: BTreeSet<Access> = shown().flat_map(|one| one.rates.keys().copied()).collect();
    let names = shown().map(|one| format!("  {}", one.name)).collect::<Vec<String>>();
    let mut columns = vec![Column::left("  machine", 0, names)];
    for part in parts {
        let share = |rate: Option<&f64>| rate.map_or_else(String::new, |rate| format::percent(*rate));
        let rates = shown().map(|one| share(one.rates.get(&part))).collect::<Vec<String>>();
        columns.push(Column::right(&words::part(part), 0, rates));
    }
    lines(columns, width)
}
