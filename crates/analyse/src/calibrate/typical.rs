//! Takes the cells at the median of their runs, and rounds what is fitted to them.

use crate::CellFinding;
use crate::mean::median;

/// The cells at the median of their runs: what a run beside some disturbance saw is not what the device does.
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

/// Four significant digits: more would claim more than is known.
pub(super) fn significant(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// The value that a share of all these do not exceed.
pub(super) fn within(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0)
}
