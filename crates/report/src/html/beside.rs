//! Shows runs that are of no cell, such as those that read and write at once, as a table.

use halfpower_analyse::BesideRow;
use halfpower_spec::format::{thousands, time_ns};
use maud::{Markup, html};

use crate::html::format::{UNKNOWN, heading, wide};
use crate::words::first_screen;

/// All of these rows; nothing without any.
pub(crate) fn beside(rows: &[BesideRow]) -> Markup {
    let columns = ["Run", "Block size", "Depth", "IOPS", "Of these", "p99", "Runs"];
    let body = html! {
        @for row in rows {
            tr {
                th scope="row" { (heading(&first_screen::beside_name(row))) }
                td.number { (first_screen::beside_size(row)) }
                td.number { (first_screen::beside_depth(row)) }
                td.number { (thousands(row.iops)) }
                td.number { (first_screen::beside_split(row)) }
                td.number { (row.latency_ns_p99.map_or(UNKNOWN.to_string(), |ns| time_ns(ns as f64))) }
                td.number { (row.runs) }
            }
        }
    };
    html! { @if !rows.is_empty() { (wide("Runs beside the cells", &columns, 1, body)) } }
}
