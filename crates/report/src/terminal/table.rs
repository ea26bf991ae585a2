//! Formats figures as rows, and rows as tables that fit the width.

use halfpower_analyse::Interval;
use halfpower_spec::format::two_digits;

use crate::columns::{Column, lines};

/// Added to the rank of a right-aligned column.
pub(super) const RIGHT: u8 = 10;
/// Replaces an unknown figure.
pub(super) const UNKNOWN: &str = "unknown";

/// A figure such as `3.1` or `3.1 ±0.2`, both with the same number of decimals.
pub(super) fn term(interval: &Interval, with_interval: bool) -> String {
    let value = two_digits(interval.value);
    let half = (interval.high - interval.value).max(interval.value - interval.low);
    if !with_interval || !half.is_finite() || half <= 0.0 {
        return value;
    }
    if half > interval.value.abs() / 2.0 {
        // The interval is too wide for the value to have a meaningful digit.
        return format!("{value} \u{b1}?");
    }
    let decimals = value.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("{value} ±{half:.decimals$}")
}

/// A range from the smallest block size to the largest, such as `9.1 to 1.2`.
pub(super) fn range([smallest, largest]: [f64; 2]) -> String {
    format!("{} to {}", two_digits(smallest), two_digits(largest))
}

/// A heading line and one line per row. If the width is too small, the column with the highest of `ranks` is dropped
/// first. A column whose rank has [`RIGHT`] added is right-aligned.
pub(super) fn table(heading: &[&str], rows: &[Vec<String>], ranks: &[u8], width: usize) -> Vec<String> {
    let column = |(place, rank): (usize, &u8)| {
        let cells: Vec<String> = rows.iter().map(|row| row[place].clone()).collect();
        match rank {
            right @ RIGHT.. => Column::right(heading[place], right - RIGHT, cells),
            left => Column::left(heading[place], *left, cells),
        }
    };
    lines(ranks.iter().enumerate().map(column).collect(), width)
}
