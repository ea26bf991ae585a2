//! What is a calibration worth? Fitted to one half of a study's cells, it predicts the other half; and the other way
//! round.
//!
//! The halves lie like the fields of a chessboard over block size and depth, so that what is predicted always lies
//! beside what was measured, and never between two runs of the same settings.

use super::{CalibrateError, passage, typical, within};
use crate::path::{Path, paths};
use crate::{CellFinding, Findings};

/// Predictions of cells that the model was not fitted to.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// Each way through.
    pub ways: Vec<HeldOutWay>,
    /// Cells that were predicted.
    pub cells: usize,
    /// Half of all predictions are off by less, as a share of what was measured.
    pub half_within: f64,
    /// Nine tenths are.
    pub most_within: f64,
    /// How far two runs of the same cell are apart in the median, where cells were run more than once: nobody can
    /// predict better than that.
    pub runs_apart: Option<f64>,
}

/// The same of one way through.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOutWay {
    /// Its name in words.
    pub words: String,
    /// Cells that were predicted.
    pub cells: usize,
    /// Half of the predictions are off by less.
    pub half_within: f64,
    /// Nine tenths are.
    pub most_within: f64,
}

/// Predicts each half of the cells of each way through from the other.
///
/// # Errors
/// Where no way has enough cells for two halves.
pub fn check(findings: &Findings) -> Result<HeldOut, CalibrateError> {
    if findings.cells.is_empty() {
        return Err(CalibrateError::NoWalks);
    }
    let mut all = Vec::new();
    let mut ways = Vec::new();
    let cells = typical(&findings.cells);
    for path in paths(&cells) {
        let mut off = predicted(&path);
        if off.is_empty() {
            continue;
        }
        off.sort_by(f64::total_cmp);
        let (half_within, most_within) = (within(&off, 0.5), within(&off, 0.9));
        ways.push(HeldOutWay { words: path.words(), cells: off.len(), half_within, most_within });
        all.extend(off);
    }
    if ways.is_empty() {
        return Err(CalibrateError::TooLittle("half of the cells are too few to fit a model to".to_string()));
    }
    all.sort_by(f64::total_cmp);
    let (half_within, most_within) = (within(&all, 0.5), within(&all, 0.9));
    Ok(HeldOut { ways, cells: all.len(), half_within, most_within, runs_apart: runs_apart(&findings.cells) })
}

/// How far off each cell's prediction by the other half is.
fn predicted(path: &Path<'_>) -> Vec<f64> {
    let halves = halves(path);
    let other = [&halves[1], &halves[0]];
    let mut off = Vec::new();
    for (fitted_to, predicts) in halves.iter().zip(other) {
        if let Ok(passage) = passage::passage(fitted_to) {
            off.extend(predicts.iter().map(|cell| passage::off(&passage, cell).abs()));
        }
    }
    off
}

/// The fields of either colour.
fn halves<'a>(path: &'a Path<'a>) -> [Vec<&'a CellFinding>; 2] {
    let cells: Vec<&CellFinding> = path.usable().collect();
    let rank = |of: &dyn Fn(&CellFinding) -> u64, cell: &CellFinding| {
        let mut values: Vec<u64> = cells.iter().map(|cell| of(cell)).collect();
        values.sort_unstable();
        values.dedup();
        values.iter().position(|value| *value == of(cell)).unwrap_or(0)
    };
    let colour = |cell: &CellFinding| {
        let (size, depth) = (rank(&|cell| cell.bs_bytes, cell), rank(&|cell| u64::from(cell.total_depth()), cell));
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
