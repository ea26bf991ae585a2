//! Prints how two targets compare that were measured in turns: the answer, the rates, the latencies.

use std::io::{self, Write};

use halfpower_analyse::{Duet, DuetCell, DuetFigure};
use halfpower_spec::format::time_ns;

use crate::Style;
use crate::columns::{Column, lines};
use crate::terminal::{BOLD, folded, styled};
use crate::words::{compare, duet as words};

/// Narrowest and widest width.
const WIDTH: (usize, usize) = (40, 120);

/// Prints a duet.
///
/// # Errors
/// Those of `out`.
pub fn duet_text(duet: &Duet, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let width = style.width.clamp(WIDTH.0, WIDTH.1);
    let bold = style.colour.then_some(BOLD);
    let mut print = |lines: &[String], heading: Option<&'static str>| -> io::Result<()> {
        lines.iter().try_for_each(|line| styled(line, heading, width, out))
    };
    for sentence in words::verdict(duet) {
        print(&folded("", &sentence, width), bold)?;
    }
    for (letter, target) in [("A: ", &duet.a), ("B: ", &duet.b)] {
        print(&folded(letter, target, width), None)?;
    }
    for table in [rates(&duet.cells, width), latencies(&duet.cells, width)] {
        if let Some((heading, rows)) = table.split_first() {
            print(&[String::new()], None)?;
            print(std::slice::from_ref(heading), bold)?;
            print(rows, None)?;
        }
    }
    let answered: Vec<String> = duet.fail_if.iter().map(compare::answered).collect();
    let parts = [("CONDITIONS", answered), ("LEFT OUT", words::left_out(duet)), ("NOTES", duet.notes.clone())];
    for (heading, texts) in parts.into_iter().filter(|(_, texts)| !texts.is_empty()) {
        print(&[String::new(), heading.to_string()], bold)?;
        for text in texts {
            print(&folded("  ", &text, width), None)?;
        }
    }
    print(&[String::new()], None)?;
    print(&folded("", &words::basis(duet), width), None)
}

/// The heading and a line for each cell with its rates; nothing without a cell.
fn rates(cells: &[DuetCell], width: usize) -> Vec<String> {
    if cells.is_empty() {
        return Vec::new();
    }
    let of = |cell: &dyn Fn(&DuetCell) -> String| cells.iter().map(cell).collect::<Vec<String>>();
    let columns = vec![
        Column::left("RATE", 0, of(&|cell| words::name(&cell.workload))),
        Column::right("A", 1, of(&|cell| words::rates(cell)[0].clone())),
        Column::right("B", 1, of(&|cell| words::rates(cell)[1].clone())),
        Column::left("B against A", 0, of(&words::outcome)),
        Column::right("pairs", 2, of(&|cell| cell.pairs.to_string())),
        Column::right("left out", 3, of(&disturbed)),
    ];
    lines(columns, width)
}

/// Pairs that others disturbed; empty for none.
fn disturbed(cell: &DuetCell) -> String {
    if cell.disturbed_pairs == 0 { String::new() } else { cell.disturbed_pairs.to_string() }
}

/// The heading and a line for each cell with its latencies; nothing if none is known.
fn latencies(cells: &[DuetCell], width: usize) -> Vec<String> {
    if cells.iter().all(|cell| cell.latency_ns_p50.is_none() && cell.latency_ns_p99.is_none()) {
        return Vec::new();
    }
    let of = |cell: &dyn Fn(&DuetCell) -> String| cells.iter().map(cell).collect::<Vec<String>>();
    let time = |figure: Option<DuetFigure>, of: fn(&DuetFigure) -> f64| {
        figure.map_or_else(String::new, |figure| time_ns(of(&figure)))
    };
    let change =
        |figure: Option<DuetFigure>| figure.and_then(|figure| figure.ratio).map_or_else(String::new, words::change);
    let columns = vec![
        Column::left("LATENCY", 0, of(&|cell| words::name(&cell.workload))),
        Column::right("p50 A", 0, of(&|cell| time(cell.latency_ns_p50, |figure| figure.a))),
        Column::right("B", 0, of(&|cell| time(cell.latency_ns_p50, |figure| figure.b))),
        Column::right("p99 A", 1, of(&|cell| time(cell.latency_ns_p99, |figure| figure.a))),
        Column::right("B", 1, of(&|cell| time(cell.latency_ns_p99, |figure| figure.b))),
        Column::left("p99 of B against A", 2, of(&|cell| change(cell.latency_ns_p99))),
    ];
    lines(columns, width)
}
