//! Represents each cell by the median of its runs, and rounds the constants fitted to them.

use crate::CellFinding;
use crate::mean::median;

/// The cells at the median of their runs: a disturbed run does not show what the device does.
pub(super) fn typical(cells: &[CellFinding]) -> Vec<CellFinding> {
    let at_median = |cell: &CellFinding| {
        let mut cell = cell.clone();
        if !cell.run_mbps.is_empty() {
            cell.mbps.value = median(cell.run_mbps.clone());
        }
        cell
    };
    cells.iter().map(at_median).collect()
}

/// Four significant digits: more would claim too much accuracy.
pub(super) fn significant(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// The value that this share of all values does not exceed.
pub(super) fn within(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0)
}
