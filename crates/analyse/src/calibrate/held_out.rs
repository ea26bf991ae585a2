//! Measures how well a calibration predicts: fitted to one half of a study's cells, it predicts the other half.
//!
//! The halves alternate like the squares of a chessboard over block size and depth, so each predicted cell lies beside
//! measured ones, and both halves never share a cell.

use super::calibration::CalibrateError;
use super::path_constants::{self, typical, within};
use crate::path::{MeasuredPath, paths};
use crate::{CellFinding, Findings, LevelFinding, PathSettings};

/// Predictions of cells that the model was not fitted to.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// Each path.
    pub paths: Vec<HeldOutPath>,
    /// Cells that were predicted.
    pub cells: usize,
    /// Half of all predictions have a smaller error, as a share of the measurement.
    pub half_within: f64,
    /// Nine tenths have a smaller error.
    pub most_within: f64,
    /// Median difference between two runs of the same cell, if cells were run more than once: no prediction can be
    /// better.
    pub runs_apart: Option<f64>,
}

/// The same for one path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldOutPath {
    /// The path.
    pub path: PathSettings,
    /// Cells that were predicted.
    pub cells: usize,
    /// Half of the predictions have a smaller error.
    pub half_within: f64,
    /// Nine tenths have a smaller error.
    pub most_within: f64,
}

/// Predicts each half of the cells of each path from the other.
///
/// # Errors
/// If no path has enough cells for two halves.
pub fn check(findings: &Findings) -> Result<HeldOut, CalibrateError> {
    if findings.cells.is_empty() {
        return Err(CalibrateError::NoWalks);
    }
    let mut all = Vec::new();
    let mut held_out = Vec::new();
    let cells = typical(&findings.cells);
    for path in paths(&cells) {
        let mut off = predicted(&path, &findings.levels);
        if off.is_empty() {
            continue;
        }
        off.sort_by(f64::total_cmp);
        let half_within = within(&off, 0.5);
        let most_within = within(&off, 0.9);
        held_out.push(HeldOutPath { path: path.settings, cells: off.len(), half_within, most_within });
        all.extend(off);
    }
    if held_out.is_empty() {
        return Err(CalibrateError::HalvesTooSmall);
    }
    all.sort_by(f64::total_cmp);
    let half_within = within(&all, 0.5);
    let most_within = within(&all, 0.9);
    Ok(HeldOut { paths: held_out, cells: all.len(), half_within, most_within, runs_apart: runs_apart(&findings.cells) })
}

/// The error of each cell's prediction by the other half.
fn predicted(path: &MeasuredPath<'_>, levels: &[LevelFinding]) -> Vec<f64> {
    let halves = halves(path);
    let other = [&halves[1], &halves[0]];
    let mut off = Vec::new();
    for (fitted_to, predicts) in halves.iter().zip(other) {
        if let Ok(constants) = path_constants::constants(fitted_to, levels) {
            off.extend(predicts.iter().map(|cell| path_constants::off(&constants, cell).abs()));
        }
    }
    off
}

/// The cells of each colour of the chessboard.
fn halves<'a>(path: &'a MeasuredPath<'a>) -> [Vec<&'a CellFinding>; 2] {
    let cells: Vec<&CellFinding> = path.usable().collect();
    let rank = |of: &dyn Fn(&CellFinding) -> u64, cell: &CellFinding| {
        let mut values: Vec<u64> = cells.iter().map(|cell| of(cell)).collect();
        values.sort_unstable();
        values.dedup();
        values.iter().position(|value| *value == of(cell)).unwrap_or(0)
    };
    let colour = |cell: &CellFinding| {
        let size = rank(&|cell| cell.bs_bytes, cell);
        let depth = rank(&|cell| u64::from(cell.total_depth()), cell);
        (size + depth) % 2
    };
    let (one, other) = cells.iter().copied().partition(|cell| colour(cell) == 0);
    [one, other]
}

fn runs_apart(cells: &[CellFinding]) -> Option<f64> {
    let pairs = cells.iter().filter(|cell| cell.usable()).flat_map(|cell| cell.run_mbps.windows(2));
    let mut apart: Vec<f64> =
        pairs.map(|runs| (runs[0] / runs[1] - 1.0).abs()).filter(|apart| apart.is_finite()).collect();
    apart.sort_by(f64::total_cmp);
    (!apart.is_empty()).then(|| within(&apart, 0.5))
}
