//! Shows runs that are of no cell, such as those that read and write at once, as a table.

use halfpower_analyse::BesideRow;
use halfpower_spec::format::{thousands, time_ns};
use maud::{Markup, html};

use crate::html::format::{UNKNOWN, heading, scrolling_table};
use crate::words::first_screen;

/// All of these rows; nothing without any.
pub(crate) fn beside(rows: &[BesideRow]) -> Markup {
    if rows.is_empty() {
        return html! {};
    }
    let columns = html! {
        th scope="col" { "Run" }
        th.number scope="col" { "Block size" }
        th.number scope="col" { "Depth" }
        th.number scope="col" { "IOPS" }
        th.number scope="col" { "Of these" }
        th.number scope="col" { "p99" }
        th.number scope="col" { "Runs" }
    };
    let body = html! {
        tbody {
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
        }
    };
    scrolling_table("Runs beside the cells", columns, body)
}
