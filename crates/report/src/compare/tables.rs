//! Shows the numbers of a comparison as tables for the page: paths, half power, cost and cells.

use halfpower_analyse::{Bound, CellComparison, CellSettings, Change, Comparison, CostTerm, HalfPowerComparison};
use maud::{Markup, html};

use crate::html::format::{UNKNOWN, ends, heading, number, size};
use crate::html::scrolling_table::scrolling_table;
use crate::words::compare::signed;
use crate::words::settings::cell as cell_words;
use crate::words::{self, compare_notes};

/// A table that scrolls where it is wider than the page; columns from `numbers_from` on hold numbers.
pub(crate) fn wide(caption: &str, columns: &[&str], numbers_from: usize, rows: Markup) -> Markup {
    let columns = html! {
        @for (place, words) in columns.iter().enumerate() {
            th scope="col" .number[place >= numbers_from] { (words) }
        }
    };
    scrolling_table(caption, columns, html! { tbody { (rows) } })
}

fn changed(change: Option<Change>) -> Markup {
    match change {
        Some(change) => html! {
            td.number {
                span.different[change.different] { (signed(change.percent)) @if change.different { " *" } }
                @if let Some((low, high)) = change.interval() { small { (signed(low)) " to " (signed(high)) } }
            }
        },
        None => html! { td.number { (UNKNOWN) } },
    }
}

pub(crate) fn path_table(comparison: &Comparison) -> Markup {
    let at = |settings: &CellSettings| format!("{}, {} deep", size(settings.bs_bytes as f64), settings.iodepth);
    let rows = html! {
        @for path in &comparison.paths {
            tr {
                th scope="row" { (heading(&words::settings::path(path.settings()))) }
                td.number { (path.cells) }
                td.number { (path.cells_different) }
                (changed(Some(path.throughput_mbps)))
                td.number { (number(path.peak_mbps.a)) small { (at(&path.peak_at_a)) } }
                td.number { (number(path.peak_mbps.b)) small { (at(&path.peak_at_b)) } }
                (changed(Some(path.peak_mbps)))
                (changed(path.latency_ns_p99))
                (changed(path.charged_us))
            }
        }
    };
    let columns =
        ["Path", "Cells", "differ", "Throughput", "Peak A, MB/s", "Peak B", "Change of peak", "p99 latency", "Cost"];
    wide("Paths: mean changes over common cells, and peaks", &columns, 1, rows)
}

pub(crate) fn half_power_table(comparison: &Comparison) -> Markup {
    let bound = |bytes: u64, bracketed: bool| format!("{}{}", if bracketed { "" } else { "≤ " }, size(bytes as f64));
    let same = |one: &HalfPowerComparison, other: &HalfPowerComparison| one.settings() == other.settings();
    let rows = html! {
        @for depths in comparison.half_power.chunk_by(same) {
            tr.group { th colspan="6" scope="rowgroup" { (heading(&words::settings::path(depths[0].settings()))) } }
            @for half in depths {
                tr {
                    th scope="row" { (half.iodepth) }
                    td.number { (bound(half.bs_bytes_a, half.bracketed_a)) }
                    td.number { (bound(half.bs_bytes_b, half.bracketed_b)) }
                    @match half.n_half_bytes {
                        Some(change) => { td.number { (size(change.a)) } td.number { (size(change.b)) } }
                        None => { td.number { (UNKNOWN) } td.number { (UNKNOWN) } }
                    }
                    (changed(half.n_half_bytes))
                }
            }
        }
    };
    let columns = ["Depth", "Half power from, A", "B", "n½ A", "n½ B", "Change of n½"];
    html! { @if !comparison.half_power.is_empty() { (wide("Half power", &columns, 1, rows)) } }
}

pub(crate) fn cost_table(comparison: &Comparison) -> Markup {
    let in_cycles = comparison.cost.iter().any(|cost| cost.fixed_us.cycles.is_some());
    let bound = |bound| if bound == Bound::Charged { "charged" } else { "soaker" };
    let term = |term: &CostTerm| {
        html! {
            td.number { (number(term.a.value)) @if let Some(ends) = ends(&term.a) { small { (ends) } } }
            td.number { (number(term.b.value)) @if let Some(ends) = ends(&term.b) { small { (ends) } } }
            (changed(term.change))
            @if in_cycles {
                td.number { (term.cycles.map_or(UNKNOWN.to_string(), |[a, b]| format!("{} → {}", number(a), number(b)))) }
            }
        }
    };
    let rows = html! {
        @for cost in &comparison.cost {
            tr {
                th scope="row" { (heading(&words::settings::path(cost.settings()))) small { (bound(cost.bound)) } }
                (term(&cost.fixed_us))
                (term(&cost.marginal_us_per_kib))
            }
        }
    };
    let mut columns = vec!["Path", "Fixed A, µs", "Fixed B", "Change"];
    let cycles = |columns: &mut Vec<&str>| {
        if in_cycles {
            columns.push("in cycles")
        }
    };
    cycles(&mut columns);
    columns.extend(["Marginal A, µs/KiB", "Marginal B", "Change"]);
    cycles(&mut columns);
    html! { @if !comparison.cost.is_empty() { (wide("Processor time a request", &columns, 1, rows)) } }
}

/// Every common cell, those that differ first, and the lists of those that could not be compared.
pub(crate) fn cell_list(comparison: &Comparison) -> Markup {
    let mut cells: Vec<&CellComparison> = comparison.cells.iter().collect();
    cells.sort_by_key(|cell| !cell.different());
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
        section #cells-compared {
            h2 id="cells" { "Cells" }
            details open[comparison.cells.len() <= 40] {
                summary { "All " (comparison.cells.len()) " common cells, those that differ first" }
                (wide("Common cells", &columns, 1, rows))
            }
            (alone("Cells that A alone has", &comparison.only_a))
            (alone("Cells that B alone has", &comparison.only_b))
            @if !comparison.left_out.is_empty() {
                details {
                    summary { (comparison.left_out.len()) " common cells left out" }
                    ul { @for one in &comparison.left_out { li { (cell_words(&one.settings)) ": " (compare_notes::left_out(one, comparison)) } } }
                }
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
