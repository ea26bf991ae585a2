//! Builds the lines of the first screen that tell how often small writes are made durable.

use halfpower_analyse::Sureness;
use halfpower_experiments::StudyFindings;
use halfpower_experiments::commits::{CommitRates, CommitRow};
use halfpower_spec::format::{number, size, time_ns};

use crate::columns::{Column, lines};
use crate::words::first_screen;

/// Such as `commit, 8 KiB   1 at a time  5,669 a second  ±2%  p50 176 µs  p99 240 µs`; empty if commits were not measured.
pub(super) fn commits(study: &StudyFindings, width: usize) -> Vec<String> {
    let CommitRates { alone, together } = first_screen::commit_rates(study).unwrap_or_default();
    let rows: Vec<CommitRow> = [alone, together].into_iter().flatten().collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let of = |cell: &dyn Fn(&CommitRow) -> String| rows.iter().map(cell).collect::<Vec<String>>();
    let sureness = |row: &CommitRow| Sureness::of(&row.per_second, row.runs, None);
    let name = |at: usize, row: &CommitRow| match at {
        0 => format!("  commit, {}", size(row.bs_bytes as f64)),
        _ => String::new(),
    };
    let rate = |row: &CommitRow| match sureness(row).is_known() {
        true => format!("{} a second", number(row.per_second.value)),
        false => "not known".to_string(),
    };
    let time = |name: &str, ns: u64| format!("{name} {}", time_ns(ns as f64));
    let columns = vec![
        Column::left("", 0, rows.iter().enumerate().map(|(at, row)| name(at, row))),
        Column::right("", 0, of(&|row| first_screen::writers(row.writers))),
        Column::right("", 0, of(&rate)),
        Column::left("", 0, of(&|row| first_screen::reach(&sureness(row)))),
        Column::left("", 1, of(&|row| time("p50", row.commit_ns_p50))),
        Column::left("", 2, of(&|row| time("p99", row.commit_ns_p99))),
    ];
    // The first line is that of the headings, which these columns have none of.
    lines(columns, width).into_iter().skip(1).collect()
}
