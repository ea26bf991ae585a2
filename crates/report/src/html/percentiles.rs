//! Shows latency by percentile for the cells of the answer: curves up to p99.99, if there are enough requests.

use halfpower_analyse::{CellSettings, Percentiles, RateRow};
use halfpower_experiments::StudyFindings;
use halfpower_record::Record;
use halfpower_spec::Direction;
use halfpower_spec::format::{size, thousands, time_ns};
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::html::format::{UNKNOWN, heading, scrolling_table};
use crate::words::first_screen;

/// The percentiles of the table; the last is also the end of the curves.
const SHOWN: [(f64, &str); 6] =
    [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (0.9995, "p99.95"), (0.9999, "p99.99")];
/// The percentile, as a share, at which a whole curve ends.
const END: f64 = 0.9999;
/// Requests from which that percentile is borne: five lie beyond it.
const FEWEST: u64 = 50_000;

/// The curve of one cell.
pub(crate) struct PercentileRow {
    rw: Direction,
    name: String,
    percentiles: Percentiles,
}

/// A curve for each row of the answer that has records, and for its durable variant.
pub(crate) fn percentile_rows(study: &StudyFindings, records: &[Record]) -> Vec<PercentileRow> {
    let row = |row: &RateRow| curve(&row.cell, records);
    study.summary.how_fast.iter().map(row).filter(|row| !row.percentiles.points.is_empty()).collect()
}

fn curve(cell: &CellSettings, records: &[Record]) -> PercentileRow {
    let path = heading(&first_screen::whole_row_name(cell));
    let name = format!("{path}, {}, {}", size(cell.bs_bytes as f64), first_screen::depth(cell));
    PercentileRow { rw: cell.rw, name, percentiles: halfpower_analyse::percentiles(records, cell) }
}

/// The curves for the page's script.
pub(crate) fn value(rows: &[PercentileRow]) -> Value {
    let row = |row: &PercentileRow| json!({ "rw": row.rw, "name": row.name, "points": row.percentiles.points });
    rows.iter().map(row).collect()
}

/// The places of the charts for reads and writes, with their table.
pub(crate) fn percentiles(rows: &[PercentileRow]) -> Markup {
    let ways = Direction::ALL.iter().filter(|rw| rows.iter().any(|row| row.rw == **rw));
    html! {
        @if !rows.is_empty() {
            h3 { "Latency by percentile" }
            p.lead {
                "For the cells of the answer: the share of the requests that took no longer. A curve ends at the last \
                 percentile that five requests lie beyond."
            }
            div.multiples {
                @for rw in ways {
                    figure.chart data-chart="percentiles" data-path=(rw) {
                        figcaption { (heading(rw.word())) "s" }
                        div.plot role="group" aria-label={ "Latency of " (rw) "s by percentile. The numbers are in the table that follows." } {
                            p.pending { "This chart is drawn by the page's script." }
                        }
                        p.said aria-live="polite" {}
                    }
                }
            }
            (table(rows))
            @if rows.iter().any(|row| end(row) < END) {
                ul.early {
                    @for row in rows.iter().filter(|row| end(row) < END) { li { (row.name) ": " (ends_early(row)) } }
                }
            }
        }
    }
}

fn end(row: &PercentileRow) -> f64 {
    row.percentiles.points.last().map_or(0.0, |(share, _)| *share)
}

fn ends_early(row: &PercentileRow) -> String {
    let last = trimmed(100.0 * end(row));
    let requests = row.percentiles.requests;
    if requests >= FEWEST {
        return format!("the curve ends at p{last}, because the other tool's results list no higher percentile.");
    }
    let [requests, fewest] = [requests, FEWEST].map(|count| thousands(count as f64));
    format!("the curve ends at p{last}, because {requests} requests are too few for p99.99, which takes {fewest}.")
}

/// A percentage without trailing zeros.
fn trimmed(percent: f64) -> String {
    let text = format!("{percent:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn table(rows: &[PercentileRow]) -> Markup {
    let columns = html! {
        th scope="col" { "Cell" }
        @for (_, name) in SHOWN { th.number scope="col" { (name) } }
        th.number scope="col" { "Requests" }
    };
    let at = |row: &PercentileRow, share: f64| {
        let point = row.percentiles.points.iter().find(|(other, _)| *other == share);
        point.map_or_else(|| UNKNOWN.to_string(), |(_, ns)| time_ns(*ns as f64))
    };
    let body = html! {
        tbody {
            @for row in rows {
                tr {
                    th scope="row" { (row.name) }
                    @for (share, _) in SHOWN { td.number { (at(row, share)) } }
                    td.number { (thousands(row.percentiles.requests as f64)) }
                }
            }
        }
    };
    scrolling_table("Latency by percentile", columns, body)
}
