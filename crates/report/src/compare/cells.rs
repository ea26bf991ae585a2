//! Shows the cells that studies share with a baseline as tables for the page.

use halfpower_analyse::{CellComparison, CellSettings, Change, Comparison, PathSettings};
use halfpower_spec::InOrder;
use maud::{Markup, html};

use super::tables::{changed, common_paths, named};
use crate::html::format::{UNKNOWN, heading, number, wide};
use crate::words::compare_notes;
use crate::words::settings::{cell as cell_words, count, path as path_words, size_and_depth};

/// Common cells that the page shows unfolded.
const OPEN: usize = 40;

/// All common cells, and the lists of those that could not be compared.
pub(super) fn cell_list(comparisons: &[Comparison]) -> Markup {
    html! {
        section #cells-compared {
            h2 id="cells" { "Cells" }
            @match comparisons {
                [comparison] => (of_two(comparison)),
                several => (of_several(several)),
            }
            @for comparison in comparisons { (not_compared(comparison)) }
        }
    }
}

/// All figures of two studies, with the cells that differ first.
fn of_two(comparison: &Comparison) -> Markup {
    let mut cells: Vec<&CellComparison> = comparison.cells.iter().collect();
    cells.order_by_key(|cell| !cell.different());
    let rows = html! {
        @for cell in cells {
            tr {
                th scope="row" {
                    (heading(&cell_words(&cell.settings)))
                    @if !cell.steady { small { "not steady" } }
                }
                td.number { (cell.runs_a) ", " (cell.runs_b) }
                td.number { (number(cell.mbps.a)) }
                td.number { (number(cell.mbps.b)) }
                (changed(Some(cell.mbps)))
                (changed(cell.latency_ns_p99))
                (changed(cell.charged_us))
            }
        }
    };
    let columns = ["Cell", "Runs A, B", "MB/s A", "MB/s B", "Throughput", "p99 latency", "Cost"];
    html! {
        details open[comparison.cells.len() <= OPEN] {
            summary { "All " (comparison.cells.len()) " common cells, those that differ first" }
            (wide("Common cells", &columns, 1, rows))
        }
    }
}

/// A figure that has a separate table.
struct CellFigure {
    name: &'static str,
    unit: &'static str,
    /// Factor from the unit of the change to the unit of the table.
    scale: f64,
    of: fn(&CellComparison) -> Option<Change>,
}

const FIGURES: [CellFigure; 3] = [
    CellFigure { name: "Throughput", unit: "MB/s", scale: 1.0, of: |cell| Some(cell.mbps) },
    CellFigure { name: "p99 latency", unit: "µs", scale: 1e-3, of: |cell| cell.latency_ns_p99 },
    CellFigure { name: "Processor time a request", unit: "µs", scale: 1.0, of: |cell| cell.charged_us },
];

/// One table per figure and one row per cell; for each study, the figure and its change from the baseline.
fn of_several(comparisons: &[Comparison]) -> Markup {
    let cells = common_cells(comparisons);
    html! {
        @for (at, figure) in FIGURES.iter().enumerate() {
            details open[at == 0 && cells.len() <= OPEN] {
                summary { (figure.name) " of " (count(cells.len(), "cell")) " that any study has in common with the baseline" }
                (figure_table(comparisons, &cells, figure))
            }
        }
    }
}

fn figure_table(comparisons: &[Comparison], cells: &[CellSettings], figure: &CellFigure) -> Markup {
    let change = |comparison: &Comparison, settings: &CellSettings| {
        comparison.cells.iter().find(|cell| cell.settings == *settings).and_then(figure.of)
    };
    let shown = |value: Option<f64>| value.map_or(UNKNOWN.to_string(), |value| number(figure.scale * value));
    let others = comparisons.iter().flat_map(|one| [named(&one.b), "Change".to_string()]);
    let columns: Vec<String> = ["Cell".to_string(), named(&comparisons[0].a)].into_iter().chain(others).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let row = |settings: &CellSettings| {
        let changes: Vec<Option<Change>> = comparisons.iter().map(|one| change(one, settings)).collect();
        html! {
            tr {
                th scope="row" { (size_and_depth(settings)) }
                td.number { (shown(changes.iter().flatten().next().map(|change| change.a))) }
                @for change in changes { td.number { (shown(change.map(|change| change.b))) } (changed(change)) }
            }
        }
    };
    let of_path = |path: PathSettings| cells.iter().filter(move |settings| settings.path() == path);
    let rows = html! {
        @for path in common_paths(comparisons) {
            tr.group { th colspan=(columns.len()) scope="rowgroup" { (heading(&path_words(path))) } }
            @for settings in of_path(path) { (row(settings)) }
        }
    };
    wide(&format!("{}, {}", figure.name, figure.unit), &columns, 1, rows)
}

/// All cells that any study shares with the baseline, sorted by depth and block size.
pub(super) fn common_cells(comparisons: &[Comparison]) -> Vec<CellSettings> {
    let mut cells: Vec<CellSettings> =
        comparisons.iter().flat_map(|one| &one.cells).map(|cell| cell.settings).collect();
    cells.sort_unstable();
    cells.dedup();
    cells
}

fn not_compared(comparison: &Comparison) -> Markup {
    let a = &comparison.a.letter;
    let b = &comparison.b.letter;
    let left_out = &comparison.left_out;
    html! {
        (alone(&format!("Cells that {a} has and {b} has not"), &comparison.only_a))
        (alone(&format!("Cells that {b} has and {a} has not"), &comparison.only_b))
        @if !left_out.is_empty() {
            details {
                summary { (left_out.len()) " common cells of " (a) " and " (b) " left out" }
                ul { @for one in left_out { li { (cell_words(&one.settings)) ": " (compare_notes::left_out(one, comparison)) } } }
            }
        }
    }
}

fn alone(what: &str, cells: &[CellSettings]) -> Markup {
    html! {
        @if !cells.is_empty() {
            details {
                summary { (what) ": " (cells.len()) }
                ul { @for settings in cells { li { (cell_words(settings)) } } }
            }
        }
    }
}
