//! Shows the numbers of comparisons as tables for the page: paths, half power and cost.

use halfpower_analyse::{
    Bound, CellSettings, Change, Comparison, CostComparison, CostTerm, HalfPowerComparison, PathComparison,
    PathSettings, StudyFacts,
};
use halfpower_spec::format::precise_size;
use maud::{Markup, html};

use super::terminal::mark;
use crate::html::format::{UNKNOWN, ends, heading, number, wide};
use crate::words;
use crate::words::compare::signed;

pub(super) fn changed(change: Option<Change>) -> Markup {
    match change {
        Some(change) => html! {
            td.number {
                span.different[change.different] { (signed(change.percent)) (mark(&change)) }
                @if let Some((low, high)) = change.interval() { small { (signed(low)) " to " (signed(high)) } }
            }
        },
        None => html! { td.number { (UNKNOWN) } },
    }
}

/// The name of a study as a row heading: `C after.halfpower`.
pub(super) fn named(study: &StudyFacts) -> String {
    format!("{} {}", study.letter, study.name)
}

/// The column name for the study that is compared with A.
fn other(comparisons: &[Comparison]) -> &str {
    if let [comparison] = comparisons { &comparison.b.letter } else { "study" }
}

/// The rows of a path: one row for a single comparison; for several, rows below the name of the path.
fn rows_of_path<T>(
    comparisons: &[Comparison],
    settings: PathSettings,
    of: fn(&Comparison) -> &[T],
    path_of: fn(&T) -> PathSettings,
    columns: usize,
    row: impl Fn(&str, &T) -> Markup,
) -> Markup {
    let path = heading(&words::settings::path(settings));
    let own = |comparison| Iterator::filter(<[T]>::iter(of(comparison)), move |one| path_of(one) == settings);
    html! {
        @if comparisons.len() > 1 && comparisons.iter().any(|one| own(one).next().is_some()) {
            tr.group { th colspan=(columns) scope="rowgroup" { (path) } }
        }
        @for comparison in comparisons {
            @let head = if comparisons.len() > 1 { named(&comparison.b) } else { path.clone() };
            @for one in own(comparison) { (row(&head, one)) }
        }
    }
}

pub(crate) fn path_table(comparisons: &[Comparison]) -> Markup {
    let at = |settings: &CellSettings| format!("{}, {} deep", precise_size(settings.bs_bytes as f64), settings.iodepth);
    let row = |head: &str, path: &PathComparison| {
        html! {
            tr {
                th scope="row" { (head) }
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
    let peak = format!("Peak {}", other(comparisons));
    let columns =
        ["Path", "Cells", "differ", "Throughput", "Peak A, MB/s", &peak, "Change of peak", "p99 latency", "Cost"];
    let rows = html! {
        @for settings in common_paths(comparisons) {
            (rows_of_path(comparisons, settings, |one| &one.paths, |one| one.path, columns.len(), row))
        }
    };
    wide("Paths: mean changes over common cells, and peaks", &columns, 1, rows)
}

pub(crate) fn half_power_table(comparisons: &[Comparison]) -> Markup {
    let bound =
        |bytes: u64, bracketed: bool| format!("{}{}", if bracketed { "" } else { "≤ " }, precise_size(bytes as f64));
    let row = |head: &str, half: &HalfPowerComparison| {
        html! {
            tr {
                th scope="row" { (head) small { (half.iodepth) " deep" } }
                td.number { (bound(half.bs_bytes_a, half.bracketed_a)) }
                td.number { (bound(half.bs_bytes_b, half.bracketed_b)) }
                @match half.n_half_bytes {
                    Some(change) => { td.number { (precise_size(change.a)) } td.number { (precise_size(change.b)) } }
                    None => { td.number { (UNKNOWN) } td.number { (UNKNOWN) } }
                }
                (changed(half.n_half_bytes))
            }
        }
    };
    let other = other(comparisons);
    let from = format!("from, {other}");
    let n_half = format!("n½ {other}");
    let columns = ["Path", "Half power from, A", &from, "n½ A", &n_half, "Change of n½"];
    let rows = html! {
        @for settings in common_paths(comparisons) {
            (rows_of_path(comparisons, settings, |one| &one.half_power, |one| one.path, columns.len(), row))
        }
    };
    let any = comparisons.iter().any(|one| !one.half_power.is_empty());
    html! { @if any { (wide("Half power", &columns, 1, rows)) } }
}

pub(crate) fn cost_table(comparisons: &[Comparison]) -> Markup {
    let mut costs = comparisons.iter().flat_map(|one| &one.cost).peekable();
    if costs.peek().is_none() {
        return html! {};
    }
    let in_cycles = costs.any(|cost| cost.fixed_us.cycles.is_some());
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
    let row = |head: &str, cost: &CostComparison| {
        html! {
            tr {
                th scope="row" { (head) small { (bound(cost.bound)) } }
                (term(&cost.fixed_us))
                (term(&cost.marginal_us_per_kib))
            }
        }
    };
    let other = other(comparisons);
    let fixed = format!("Fixed {other}");
    let marginal = format!("Marginal {other}");
    let cycles = in_cycles.then_some("in cycles");
    let columns = ["Path", "Fixed A, µs", &fixed, "Change"].into_iter().chain(cycles);
    let columns = columns.chain(["Marginal A, µs/KiB", &marginal, "Change"]).chain(cycles).collect::<Vec<_>>();
    let rows = html! {
        @for settings in common_paths(comparisons) {
            (rows_of_path(comparisons, settings, |one| &one.cost, |one| one.path, columns.len(), row))
        }
    };
    wide("Processor time a request", &columns, 1, rows)
}

/// All paths that any study shares with the baseline.
pub(super) fn common_paths(comparisons: &[Comparison]) -> Vec<PathSettings> {
    let mut paths: Vec<PathSettings> = Vec::new();
    for path in comparisons.iter().flat_map(|comparison| &comparison.paths).map(|one| one.path) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}
