//! Writes what only the page needs: unknown numbers, ends of intervals, dates, and the frame of tables.

use std::io;
use std::path::Path;

use halfpower_analyse::{Findings, Interval};
use halfpower_spec::format::three_digits;
use halfpower_spec::{Target, UtcTime, shell_operand};
use maud::{Markup, html};

pub(crate) use crate::words::settings::capitalised as heading;

/// Replaces an unknown number.
pub const UNKNOWN: &str = "\u{2013}";

/// A number with three digits that may be unknown.
pub fn number(value: f64) -> String {
    if value.is_finite() { three_digits(value) } else { UNKNOWN.to_string() }
}

/// A throughput from MB/s.
pub fn mbps(value: f64) -> String {
    format!("{} MB/s", number(value))
}

/// A throughput that may be unknown.
pub fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".to_string(), mbps)
}

/// The ends of an interval, if they differ from the value and are meaningful.
pub fn ends(interval: &Interval) -> Option<String> {
    let known = interval.low.is_finite() && interval.high.is_finite() && interval.low != interval.high;
    (known && !is_open(interval)).then(|| format!("{} to {}", number(interval.low), number(interval.high)))
}

/// Whether the interval extends more than half of the value to a side, so that neither is meaningful.
pub fn is_open(interval: &Interval) -> bool {
    const MOST_REACH: f64 = 0.5;
    let known = interval.low.is_finite() && interval.high.is_finite();
    known && (interval.high - interval.low) / 2.0 > MOST_REACH * interval.value.abs()
}

/// Whether other programs can open a target by its name: a folder, a file or a device.
pub fn is_a_path(target: &str) -> bool {
    // No file is read: a simulated target is none, whatever its file says.
    let unread = |_: &Path| Err(io::ErrorKind::NotFound.into());
    matches!(Target::parse(target, unread), Ok(Target::Path(_)))
}

/// The target, if commands can name it: what another tool measured has the name that its results have for it.
pub(crate) fn copied_target(findings: &Findings) -> Option<&str> {
    Some(findings.target.as_str()).filter(|_| findings.imported.is_empty())
}

/// The target as `halfpower run` takes it, or a placeholder.
pub(crate) fn run_operand(findings: &Findings) -> String {
    copied_target(findings).map_or("TARGET".to_string(), |target| shell_operand(target).to_string())
}

/// A date and time of day in UTC, from milliseconds of Unix time.
pub fn date(unix_ms: u64) -> String {
    let UtcTime { year, month, day, hour, minute, .. } = UtcTime::of_unix_s(unix_ms / 1000);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// A table with its caption, the cells of its head row, and its bodies.
pub(crate) fn scrolling_table(caption: &str, columns: Markup, bodies: Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr { (columns) } }
                (bodies)
            }
        }
    }
}

/// A table that scrolls if it is wider than the page; columns from `numbers_from` on hold numbers.
pub(crate) fn wide(caption: &str, columns: &[&str], numbers_from: usize, rows: Markup) -> Markup {
    let columns = html! {
        @for (place, words) in columns.iter().enumerate() {
            th scope="col" .number[place >= numbers_from] { (words) }
        }
    };
    scrolling_table(caption, columns, html! { tbody { (rows) } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_is_opened_by_other_programs() {
        let targets =
            ["/srv/data", "/dev/sda", "each:/a,/b", "stripe:/a,/b", "smb://nas/share", "sim:nt4-fastwide", "null:"];
        assert_eq!(targets.map(is_a_path), [true, true, false, false, false, false, false]);
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400_000), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_767_225_599_000), "2025-12-31 23:59 UTC");
    }
}
