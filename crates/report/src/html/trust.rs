//! Shows how far to trust a study: all faults and warnings, and a chart over time for each cell that is not steady.

use halfpower_analyse::{CellFinding, FaultFinding, Findings};
use halfpower_spec::InOrder;
use halfpower_spec::format::precise_size;
use halfpower_spec::path_words;
use maud::{Markup, html};

use crate::html::fold::Fold;
use crate::html::format::{UNKNOWN, heading, mbps, number, scrolling_table};
use crate::words::faults::sentence;
use crate::words::settings::count;
use crate::words::warnings;

/// Most charts; the fastest cells come first because readers most likely take those for advice.
const MOST: usize = 12;
/// Most steps of a chart.
const MOST_STEPS: usize = 80;
/// Most cells named below the charts.
const MOST_NAMED: usize = 40;

/// Indices in the findings of the cells with a chart, fastest first.
pub fn flagged(findings: &Findings) -> Vec<usize> {
    let mut places: Vec<usize> =
        (0..findings.cells.len()).filter(|place| is_flagged(&findings.cells[*place])).collect();
    let rate = |place: &usize| findings.cells[*place].mbps.value;
    places.order_by(|one, other| rate(other).total_cmp(&rate(one)).then(one.cmp(other)));
    places.truncate(MOST);
    places
}

fn is_flagged(cell: &CellFinding) -> bool {
    !cell.steady && !cell.series_mbps.is_empty()
}

/// The series of a cell for its chart and table: MB/s per step, and the step in milliseconds. Neighbouring steps of a
/// long series are merged.
pub fn drawn_series(cell: &CellFinding) -> (Vec<f64>, f64) {
    let together = cell.series_mbps.len().div_ceil(MOST_STEPS).max(1);
    let mean = |steps: &[f64]| steps.iter().sum::<f64>() / steps.len() as f64;
    (cell.series_mbps.chunks(together).map(mean).collect(), cell.series_step_ns as f64 / 1e6 * together as f64)
}

/// All problems of the numbers, and the cells that are not steady.
pub(crate) fn trust(findings: &Findings) -> Fold {
    let warnings = &findings.warnings;
    let body = html! {
        @if warnings.is_empty() {
            p.lead { "The analysis has no reservations about these numbers." }
        } @else {
            ul.warnings { @for warning in warnings { li { (crate::words::warnings::words(warning).sentence) } } }
        }
        @if !findings.cells.is_empty() { p.lead { (confidence(findings)) } }
        @if let Some(harness_ns) = findings.harness_ns_per_io.filter(|ns| *ns > 0.0) {
            p.lead {
                "halfpower itself takes " (number(harness_ns)) " ns of a request on this machine: \
                 that much of every latency and cost is the instrument's."
            }
        }
        (unsteady_cells(findings))
    };
    let gist = if warnings.is_empty() { "no warning".to_string() } else { count(warnings.len(), "warning") };
    Fold::new("trust", "How far to trust it", gist, body).printed()
}

/// The numbers of steady and of precise cells.
fn confidence(findings: &Findings) -> Markup {
    if !findings.imported.is_empty() {
        return html! {
            "Another tool measured these " (count(findings.cells.len(), "cell")) ", so whether they were steady and who \
             else used the disk is not known."
        };
    }
    let share = |fits: fn(&CellFinding) -> bool| findings.cells.iter().filter(|cell| fits(cell)).count();
    html! {
        "Of " (count(findings.cells.len(), "cell")) " " (share(|cell| cell.steady)) " were " a href="#def-steady" { "steady" }
        " and " (share(|cell| cell.within_5_percent)) " are known to within 5%."
    }
}

/// The charts of the cells that are not steady; empty if all are.
fn unsteady_cells(findings: &Findings) -> Markup {
    let shown = flagged(findings);
    let is_other = |(place, cell): &(usize, &CellFinding)| !cell.steady && !shown.contains(place);
    let others: Vec<&CellFinding> = findings.cells.iter().enumerate().filter(is_other).map(|(_, cell)| cell).collect();
    html! {
        @if !shown.is_empty() {
            div.screen {
            h3 #unsteady { "Cells that are not steady" }
            p.lead {
                "What they did over time, in the first run of each. Grey ground is the start that was "
                a href="#def-trimmed" { "trimmed" } "; the dashed rule is the mean of all runs, the dotted ones \
                 are the rates before and after a fall. They are hatched in the heat maps and never advised."
            }
            div.multiples { @for place in &shown { (figure(&findings.cells[*place], *place)) } }
            @if !others.is_empty() {
                details {
                    summary { (others.len()) " more cells that are not steady" }
                    ul { @for cell in others.iter().take(MOST_NAMED) { li { (words(cell)) ": " (reason(cell)) } } }
                    @if others.len() > MOST_NAMED { p.lead { "All are hatched in the heat maps." } }
                }
            }
            }
        }
    }
}

fn words(cell: &CellFinding) -> String {
    let path = heading(&path_words(cell.pattern, cell.cache, cell.rw));
    format!("{path}, {}, {} deep", precise_size(cell.bs_bytes as f64), cell.iodepth)
}

fn reason(cell: &CellFinding) -> String {
    cell.unsteady.as_ref().map_or(UNKNOWN.to_string(), warnings::why_unsteady)
}

fn figure(cell: &CellFinding, place: usize) -> Markup {
    let words = words(cell);
    let label = format!("{words}: throughput over time. Arrow keys walk through the points; a table follows.");
    html! {
        figure.chart data-chart="series" data-path=(place) {
            figcaption { (words) }
            p.reason {
                (heading(&reason(cell)))
                @if let Some((burst, sustained)) = cell.burst_mbps.zip(cell.sustained_mbps) {
                    ". Burst " (mbps(burst)) ", sustained " (mbps(sustained))
                }
                @if cell.trimmed_share > 0.0 { ". Trimmed " (number(100.0 * cell.trimmed_share)) "% of the time" }
            }
            div.plot.short role="group" aria-label=(label) {
                p.pending { "This chart is drawn by the page's script." }
            }
            p.said aria-live="polite" {}
            details { summary { "Numbers" } (table(cell, &words)) }
        }
    }
}

fn table(cell: &CellFinding, words: &str) -> Markup {
    let (series_mbps, step_ms) = drawn_series(cell);
    let columns = html! { th scope="col" { "From, ms" } th.number scope="col" { "MB/s" } };
    let body = html! {
        tbody {
            @for (step, mbps) in series_mbps.iter().enumerate() {
                tr { th scope="row" { (format!("{:.0}", step as f64 * step_ms)) } td.number { (number(*mbps)) } }
            }
        }
    };
    scrolling_table(&format!("{words} over time"), columns, body)
}

/// The section; `None` without faults.
pub(crate) fn faults_section(faults: &[FaultFinding]) -> Option<Fold> {
    let body = html! {
        p.lead { "Requests that failed, moved too little or found wrong data. They are in no rate." }
        ul.warnings { @for fault in faults { li { (sentence(fault)) } } }
    };
    (!faults.is_empty()).then(|| Fold::new("faults", "Faults", count(faults.len(), "kind"), body).printed())
}
