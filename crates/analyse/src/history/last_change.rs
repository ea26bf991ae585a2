//! Compares the last level of each path with the one before, as two studies are compared, so that conditions can be checked.
//!
//! Each study of a level counts as a run does in a comparison: the interval of a change is from the spread between studies,
//! which holds what differs from day to day.

use std::collections::BTreeMap;
use std::ops::Range;

use super::digest::{CellDigest, StudyDigest};
use super::found::{History, HistoryChange, HistoryFigure};
use crate::compare::{CellComparison, Change, Comparison, Estimate, PathComparison};
use crate::mean::mean;
use crate::{CellSettings, PathSettings};

/// Two neighbouring levels, as indices of studies.
#[derive(Debug, Clone, PartialEq)]
struct Levels {
    before: Range<usize>,
    after: Range<usize>,
}

/// The logarithms of a figure in the studies of two levels.
#[derive(Debug, Clone, PartialEq, Default)]
struct Logs {
    before: Vec<f64>,
    after: Vec<f64>,
}

/// The cells of one path, each with its digests by the index of their study.
type Cells<'a> = BTreeMap<CellSettings, Vec<(usize, &'a CellDigest)>>;

/// Gets a figure of a cell.
type CellValue = fn(&CellDigest) -> Option<f64>;

/// The comparison of the last levels. On a path without a change, the whole history is compared with itself.
pub(crate) fn last_levels_compared(digests: &[&StudyDigest], history: &History) -> Comparison {
    let mut of_paths: BTreeMap<PathSettings, Cells<'_>> = BTreeMap::new();
    for (study, digest) in digests.iter().enumerate() {
        for cell in &digest.cells {
            let path = of_paths.entry(cell.settings.path()).or_default();
            path.entry(cell.settings).or_default().push((study, cell));
        }
    }
    let mut cells = Vec::new();
    let mut paths = Vec::new();
    for (path, of_path) in &of_paths {
        let levels = levels(*path, &history.changes, digests.len());
        let own: Vec<CellComparison> =
            of_path.iter().filter_map(|(settings, of)| cell(*settings, of, &levels)).collect();
        paths.extend(compared(*path, &own, of_path, &levels));
        cells.extend(own);
    }
    Comparison::of_figures([history.target.as_str(); 2], cells, paths)
}

/// The last two levels of a path: those around the last change of one of its figures or of the typical cell.
fn levels(path: PathSettings, changes: &[HistoryChange], studies: usize) -> Levels {
    let is_of_path = |figure: HistoryFigure| match figure.access() {
        Some(access) => access == (path.pattern, path.rw),
        None => figure == HistoryFigure::TypicalCell,
    };
    let own = changes.iter().filter(|change| change.figures.iter().any(|one| is_of_path(one.figure)));
    let mut last = own.map(|change| change.at).rev();
    match last.next() {
        Some(at) => Levels { before: last.next().unwrap_or(0)..at, after: at..studies },
        None => Levels { before: 0..studies, after: 0..studies },
    }
}

impl Logs {
    /// A figure of a cell in both levels; `None` if a level lacks it.
    fn of(cell: &[(usize, &CellDigest)], levels: &Levels, value: CellValue) -> Option<Self> {
        let within = |level: &Range<usize>| -> Vec<f64> {
            let own = cell.iter().filter(|(study, _)| level.contains(study));
            own.filter_map(|(_, cell)| Some(value(cell)?.ln())).collect()
        };
        let logs = Self { before: within(&levels.before), after: within(&levels.after) };
        (!logs.before.is_empty() && !logs.after.is_empty()).then_some(logs)
    }

    /// The change with its interval, from the spread between studies.
    fn change(&self) -> Change {
        let before = mean(&self.before);
        let after = mean(&self.after);
        let counts = [&self.before, &self.after].map(|logs| logs.len() as f64);
        let sum = squares(&self.before) + squares(&self.after);
        let has_spread = |logs: &[f64]| logs.len() > 1;
        let estimate = (has_spread(&self.before) && has_spread(&self.after)).then(|| {
            let freedom = counts[0] + counts[1] - 2.0;
            let error = (sum / freedom * (1.0 / counts[0] + 1.0 / counts[1])).sqrt();
            Estimate { log_ratio: after - before, error, freedom }
        });
        let of_after = has_spread(&self.after).then(|| {
            let freedom = counts[1] - 1.0;
            let error = (squares(&self.after) / freedom / counts[1]).sqrt();
            Estimate { log_ratio: after, error, freedom }
        });
        Change::of_logs(before, after, estimate).with_estimate_of_b(of_after)
    }
}

fn squares(logs: &[f64]) -> f64 {
    let center = mean(logs);
    logs.iter().map(|log| (log - center).powi(2)).sum()
}

const MBPS: CellValue = |cell| Some(cell.mbps.value);
const P50: CellValue = |cell| cell.latency_ns_p50;
const P99: CellValue = |cell| cell.latency_ns_p99;
const COST: CellValue = |cell| cell.charged_us;

fn cell(settings: CellSettings, of: &[(usize, &CellDigest)], levels: &Levels) -> Option<CellComparison> {
    let mbps = Logs::of(of, levels, MBPS)?;
    let change = |value: CellValue| Some(Logs::of(of, levels, value)?.change());
    Some(CellComparison {
        settings,
        runs_a: mbps.before.len(),
        runs_b: mbps.after.len(),
        steady: true,
        mbps: mbps.change(),
        latency_ns_p50: change(P50),
        latency_ns_p99: change(P99),
        charged_us: change(COST),
    })
}

/// The mean over a path's cells that both levels have; `None` without one.
fn compared(path: PathSettings, own: &[CellComparison], cells: &Cells<'_>, levels: &Levels) -> Option<PathComparison> {
    let both = |cell: &CellComparison| cell.mbps.a.ln() + cell.mbps.b.ln();
    let peak = own.iter().max_by(|one, other| both(one).total_cmp(&both(other)))?;
    let over_cells = |value: CellValue| over_cells(own, cells, levels, value);
    Some(PathComparison {
        path,
        cells: own.len(),
        cells_different: 0,
        throughput_mbps: over_cells(MBPS)?,
        latency_ns_p99: over_cells(P99),
        charged_us: over_cells(COST),
        charged_kilocycles: None,
        peak_mbps: peak.mbps,
        peak_at_a: peak.settings,
        peak_at_b: peak.settings,
    })
}

/// Each study's mean distance of its cells from their usual values, before and after, around the mean of these values.
/// Studies need not have the same cells.
fn over_cells(own: &[CellComparison], cells: &Cells<'_>, levels: &Levels, value: CellValue) -> Option<Change> {
    let mut centers = Vec::new();
    let mut distances: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for cell in own {
        let digests = &cells[&cell.settings];
        let Some(logs) = Logs::of(digests, levels, value) else { continue };
        let center = (mean(&logs.before) + mean(&logs.after)) / 2.0;
        centers.push(center);
        for (study, digest) in digests {
            distances.entry(*study).or_default().extend(value(digest).map(|value| value.ln() - center));
        }
    }
    if centers.is_empty() {
        return None;
    }
    let center = mean(&centers);
    let within = |level: &Range<usize>| -> Vec<f64> {
        let own = distances.range(level.clone()).filter(|(_, distances)| !distances.is_empty());
        own.map(|(_, distances)| center + mean(distances)).collect()
    };
    Some(Logs { before: within(&levels.before), after: within(&levels.after) }.change())
}
