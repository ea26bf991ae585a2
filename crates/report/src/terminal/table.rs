//! Puts figures into rows, and rows into tables of the width that there is.

use halfpower_analyse::Interval;
use halfpower_text::format::two_digits;

use crate::columns::{Column, lines};

/// Added to the rank of a column that is flush right.
pub(super) const RIGHT: u8 = 10;
/// Stands where something is not known.
pub(super) const UNKNOWN: &str = "unknown";

/// Such as `3.1` or `3.1 ±0.2`, both to the same decimal.
pub(super) fn term(interval: &Interval, with_interval: bool) -> String {
    let value = two_digits(interval.value);
    let half = (interval.high - interval.value).max(interval.value - interval.low);
    if !with_interval || !half.is_finite() || half <= 0.0 {
        return value;
    }
    if half > interval.value.abs() / 2.0 {
        // Nothing that one could read from it.
        return format!("{value} \u{b1}?");
    }
    let decimals = value.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("{value} ±{half:.decimals$}")
}

/// Such as `9.1 to 1.2`: from the smallest block size to the largest.
pub(super) fn range([smallest, largest]: [f64; 2]) -> String {
    format!("{} to {}", two_digits(smallest), two_digits(largest))
}

/// A heading line and a line for each row; of `ranks` the highest is left out first where there is no room, and a column
/// whose rank has [`RIGHT`] added to it is flush right.
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
