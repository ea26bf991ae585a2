//! Fits the constants of one path to its cells: those of time, and the processor cost of a request.
//!
//! The models of `path_model.rs` (a line and, each optional, the number in parallel, a ceiling in bytes and one in
//! requests) are settled from many starts. Then they are moved to minimise the mean of the relative errors, not of
//! their squares, so that a few disturbed cells do not bend the rest. The set of terms with the best BIC is used, with
//! Laplace's distribution of errors. The same is fitted to draws of the cells (with replacement): they show how far the
//! constants may be off, and a ceiling that too few of them have is noise.
//!
//! Where a limit of rate holds back some of the single requests (`rate_limit.rs`), the line is that of the others' latency,
//! and the rate is the limit's.

use std::collections::BTreeMap;

use halfpower_model::{FitError, PathConstants};
use halfpower_spec::{Bytes, InOrder};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::calibration::{FittedPath, MeasuredRange, Remark, Unfittable};
use super::rate_limit;
use crate::fit::fit_line;
use crate::mean::median;
use crate::path::MeasuredPath;
use crate::path_model::{Observation, PathModel, Regime};
use crate::regime::{noise, starts};
use crate::{Bound, CellFinding, CellSettings, Cost, LevelFinding, PathSettings};

/// Relative error below which further improvement counts for little.
const KNEE: f64 = 0.01;
/// Number of starts of each set of terms that are optimised: those with the least loss.
const MOVED_ON: usize = 2;
/// Largest and smallest step of the optimisation, as a logarithm.
const STEPS: [f64; 2] = [0.2, 1e-4];
/// Most moves with one step before the step is halved.
const MOVES: usize = 40;
/// Smallest value from which a constant of 0 is moved.
const LEAST_US: f64 = 1e-2;
const LEAST_US_PER_BYTE: f64 = 1e-6;
/// Fewest cells needed to tell a line from a limit.
const FEWEST: usize = 3;
/// Draws of the cells.
const DRAWS: usize = 20;
/// Seed of the draws: the same study always gives the same model.
const SEED: u64 = 1998;
/// First step of the optimisation for a draw, which begins at the fit to all cells.
const STEP_OF_A_DRAW: f64 = 0.05;
/// Sets of terms are tried on draws if their score is that close to the best.
const CLOSE: f64 = 12.0;
/// Share of the draws that must have a ceiling.
const BELIEVED: f64 = 0.75;
/// Share of the deepest depth below which the number of requests in parallel is more than its noise.
const WAITS: f64 = 0.8;
/// Standard deviation of a normal distribution over its median absolute deviation.
const OF_MEDIAN: f64 = 1.4826;

/// A fitted path.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub path: PathSettings,
    pub constants: PathConstants,
    pub cells: usize,
    pub range: MeasuredRange,
    /// Predicted over measured throughput less 1, of each cell with its settings.
    pub off: Vec<(f64, CellSettings)>,
    /// What each constant rests on, by its name.
    pub remarks: BTreeMap<&'static str, Remark>,
    /// How far its predictions may be off.
    pub error: FitError,
    pub parallelism_seen: bool,
    pub unseen_known: bool,
}

/// The constants of a path's usable cells; `levels` are those of the path, of which some may be limits of rate.
///
/// # Errors
/// The reason if they cannot be fitted.
pub(super) fn fit(path: &MeasuredPath<'_>, levels: &[LevelFinding]) -> Result<Fit, Unfittable> {
    let cells: Vec<&CellFinding> = path.usable().collect();
    let FittedModel { model, bounds, draws, alone } = fit_model(&cells, levels)?;
    let deepest = cells.iter().map(|cell| cell.total_depth()).max().unwrap_or(1);
    let (_, per_byte) = model.line.unwrap_or_default();
    let has_limit = model.bandwidth.is_some() || model.requests.is_some();
    let slice_us = if has_limit { rate_limit::slice_us(&alone) } else { 0.0 };
    let constants = PathConstants { slice_us, ..constants_of(&model, deepest) };
    let on = |regime| bounds.iter().filter(|bound| **bound == regime).count();
    let side_by_side = model.parallelism.map(|_| on(Regime::Parallelism));
    let time = match alone.len() {
        0 => Remark::RequestTime { cells: on(Regime::Latency) },
        cells => Remark::HeldBack { cells },
    };
    let remarks = BTreeMap::from([
        ("slice_us", Remark::Slice),
        ("fixed_us", time),
        ("us_per_kib", Remark::ByteRate { mbps: (per_byte > 0.0).then(|| 1.0 / per_byte) }),
        ("side_by_side", Remark::SideBySide { cells: side_by_side }),
        ("ceiling_mbps", Remark::Ceiling { cells: on(Regime::Bandwidth) }),
        ("ceiling_iops", Remark::Ceiling { cells: on(Regime::Requests) }),
    ]);
    // Noise alone makes the deepest cells look as if they waited a little.
    let is_seen = |model: &PathModel| model.parallelism.is_some_and(|most| most < WAITS * f64::from(deepest));
    let range = range(&cells);
    let off: Vec<(f64, CellSettings)> = cells.iter().map(|cell| (off(&constants, cell), cell.settings)).collect();
    let error = FitError {
        bs_bytes: range.bs_bytes,
        depths: range.depths,
        cells: cells.len() as u32,
        freedom: cells.len().saturating_sub(constants_in(&model)).max(1) as u32,
        side_by_side_seen: is_seen(&model)
            && draws.iter().filter(|draw| is_seen(draw)).count() as f64 >= BELIEVED * draws.len() as f64,
        may_be_limit: rate_limit::may_be_limit(&constants, &cells, levels),
        misfit: significant(misfit(&off, noise(&cells))),
        shared: 0.0,
        draws: draws.iter().map(|draw| FitError::draw(&constants_of(draw, deepest)).map(significant)).collect(),
    };
    Ok(Fit {
        path: path.settings,
        constants,
        cells: cells.len(),
        range,
        off,
        remarks,
        error,
        parallelism_seen: model.parallelism.is_some(),
        unseen_known: false,
    })
}

/// Number of constants of a model.
fn constants_in(model: &PathModel) -> usize {
    2 + [model.parallelism, model.bandwidth, model.requests].iter().flatten().count()
}

/// Relative error of what the model leaves out: of the fit's errors, what the noise of the cells does not explain.
fn misfit(off: &[(f64, CellSettings)], noise: f64) -> f64 {
    let errors = off.iter().map(|(off, _)| off.abs()).collect();
    ((OF_MEDIAN * median(errors)).powi(2) - noise.powi(2)).max(0.0).sqrt()
}

/// Smallest and largest measured block size and depth.
fn range(cells: &[&CellFinding]) -> MeasuredRange {
    let ends = |of: &dyn Fn(&CellFinding) -> u64| {
        let values = || cells.iter().map(|cell| of(cell));
        [values().min().unwrap_or(0), values().max().unwrap_or(0)]
    };
    MeasuredRange { bs_bytes: ends(&|cell| cell.bs_bytes), depths: ends(&|cell| u64::from(cell.total_depth())) }
}

/// The constants of some cells, without the data behind them.
pub(super) fn constants(cells: &[&CellFinding], levels: &[LevelFinding]) -> Result<PathConstants, Unfittable> {
    let deepest = cells.iter().map(|cell| cell.total_depth()).max().unwrap_or(1);
    fit_model(cells, levels).map(|fitted| constants_of(&fitted.model, deepest))
}

/// Predicted over measured throughput, less 1.
pub(super) fn off(constants: &PathConstants, cell: &CellFinding) -> f64 {
    cell.time_per_request_us() / constants.between_us(Bytes(cell.bs_bytes), cell.total_depth()) - 1.0
}

impl Fit {
    /// How well the path was fitted, with the cell of the largest error.
    pub fn remark(&self) -> Remark {
        let worst = self.off.iter().max_by(|one, other| one.0.abs().total_cmp(&other.0.abs()));
        let farthest = worst.map(|(off, settings)| (*settings, 1.0 + off));
        Remark::Path { range: self.range, fitted: self.fitted(), farthest }
    }

    /// Takes the ceiling in bytes away from the path, for what devices share.
    pub fn give_ceiling(&mut self) -> Option<f64> {
        let ceiling = self.constants.ceiling_mbps.take();
        let drawn = self.error.draws.iter_mut().map(|draw| std::mem::replace(&mut draw[3], f64::INFINITY));
        let drawn: Vec<f64> = drawn.filter(|mbps| mbps.is_finite()).collect();
        let ceiling = ceiling?;
        let squares: f64 = drawn.iter().map(|mbps| (mbps / ceiling).ln().powi(2)).sum();
        self.error.shared = significant((squares / drawn.len().max(1) as f64).sqrt());
        Some(ceiling)
    }

    pub fn fitted(&self) -> FittedPath {
        let mut off: Vec<f64> = self.off.iter().map(|(off, _)| off.abs()).collect();
        off.sort_by(f64::total_cmp);
        FittedPath {
            path: self.path,
            constants: self.constants,
            cells: self.cells,
            half_within: within(&off, 0.5),
            most_within: within(&off, 0.9),
        }
    }
}

fn constants_of(model: &PathModel, deepest: u32) -> PathConstants {
    let (fixed_us, us_per_byte) = model.line.unwrap_or_default();
    PathConstants {
        fixed_us,
        us_per_kib: us_per_byte * 1024.0,
        // Without a limit in the cells, the deepest measured depth is promised, and no more.
        side_by_side: Some(model.parallelism.unwrap_or_else(|| f64::from(deepest))),
        ceiling_mbps: model.bandwidth,
        ceiling_iops: model.requests.map(|per_us| significant(per_us * 1e6)),
        ..PathConstants::default()
    }
}

/// A model with what it rests on.
struct FittedModel<'a> {
    model: PathModel,
    /// The term that limits each cell.
    bounds: Vec<Regime>,
    /// The models of draws of the cells.
    draws: Vec<PathModel>,
    /// The cells of single requests of which a limit holds back some, with the others' time in microseconds.
    alone: Vec<(&'a CellFinding, f64)>,
}

fn fit_model<'a>(cells: &[&'a CellFinding], levels: &[LevelFinding]) -> Result<FittedModel<'a>, Unfittable> {
    let sizes = |cell: &&CellFinding| cell.bs_bytes;
    if cells.len() < FEWEST {
        return Err(Unfittable::TooFewCells { needed: FEWEST, usable: cells.len() });
    }
    if cells.iter().all(|cell| sizes(cell) == sizes(&cells[0])) {
        return Err(Unfittable::OneSize { bs_bytes: sizes(&cells[0]) });
    }
    let (mut seen, mut models) = starts(cells);
    for (seen, cell) in seen.iter_mut().zip(cells) {
        seen.alone_us = rate_limit::alone_us(cell, cells, levels);
    }
    models.extend(behind_limits(&seen));
    let of_cell = |(cell, seen): (&&'a CellFinding, &Observation)| Some((*cell, seen.alone_us?));
    let alone = cells.iter().zip(&seen).filter_map(of_cell).collect();
    let mut fitted = of_each_set(models, &seen, STEPS[0]);
    let best = fitted.first().ok_or(Unfittable::NoLine)?.0;
    fitted.retain(|(score, _)| *score < best + CLOSE);
    let draws = draws(&seen, &fitted);
    let fitted: Vec<PathModel> = fitted.into_iter().map(|(_, model)| model).collect();
    let model = *fitted.iter().find(|model| shown_by(model, &draws)).unwrap_or(&fitted[0]);
    let (model, bounds) = without_idle_terms(model, &seen);
    Ok(FittedModel { model, bounds, draws, alone })
}

/// Models of a device behind a limit of rate of either kind or of both, from the requests that it does not hold back.
fn behind_limits(seen: &[Observation]) -> Vec<PathModel> {
    let points: Vec<(f64, f64)> = seen.iter().filter_map(|seen| Some((seen.bytes, seen.alone_us?))).collect();
    if points.is_empty() {
        return Vec::new();
    }
    let line = fit_line(&points).map(|line| (line.intercept, line.slope)).filter(|(a, b)| *a > 0.0 && *b >= 0.0);
    let line = line.unwrap_or_else(|| (median(points.iter().map(|(_, us)| *us).collect()), 0.0));
    let highest = |of: fn(&Observation) -> f64| seen.iter().map(of).reduce(f64::max);
    let bandwidth = highest(Observation::bytes_per_us);
    let requests = highest(Observation::requests_per_us);
    let of =
        |bandwidth, requests| PathModel { base_depth: 1.0, line: Some(line), parallelism: None, bandwidth, requests };
    vec![of(bandwidth, None), of(None, requests), of(bandwidth, requests)]
}

/// The best model of each set of terms, moved from its best starts, with its score; the best first.
fn of_each_set(models: Vec<PathModel>, seen: &[Observation], first_step: f64) -> Vec<(f64, PathModel)> {
    let mut by_terms: BTreeMap<[bool; 3], Vec<(f64, PathModel)>> = BTreeMap::new();
    for model in models {
        let terms = [model.parallelism.is_some(), model.bandwidth.is_some(), model.requests.is_some()];
        by_terms.entry(terms).or_default().push((loss(&model, seen), model));
    }
    let mut fitted = Vec::new();
    for (terms, mut models) in by_terms {
        models.order_by(|one, other| one.0.total_cmp(&other.0));
        models.dedup_by(|one, other| one.1 == other.1);
        let constants = 2 + terms.iter().filter(|there| **there).count();
        let moved = models.into_iter().take(MOVED_ON).map(|(_, model)| moved(model, seen, first_step));
        let scored = moved.map(|model| (score(&model, seen, constants), model));
        fitted.extend(scored.reduce(|best, next| if next.0 < best.0 { next } else { best }));
    }
    // Of equal scores, the smaller set of terms comes first.
    fitted.order_by(|one, other| one.0.total_cmp(&other.0));
    fitted
}

/// The models that draws of the cells are fitted with, by the sets of terms that fit all cells well.
fn draws(seen: &[Observation], fitted: &[(f64, PathModel)]) -> Vec<PathModel> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut draw = || -> Vec<Observation> { seen.iter().map(|_| seen[random.random_range(0..seen.len())]).collect() };
    let draws = (0..DRAWS).map(|_| draw()).filter(|drawn| drawn.iter().any(|seen| seen.bytes != drawn[0].bytes));
    let model = |drawn: Vec<Observation>| {
        let starts = fitted.iter().map(|(_, model)| *model).collect();
        let (_, model) = *of_each_set(starts, &drawn, STEP_OF_A_DRAW).first()?;
        Some(without_idle_terms(model, &drawn).0)
    };
    draws.filter_map(model).collect()
}

/// Whether most draws have the ceilings of a model.
fn shown_by(model: &PathModel, draws: &[PathModel]) -> bool {
    let shown = |ceiling: &dyn Fn(&PathModel) -> Option<f64>| {
        let with = draws.iter().filter(|draw| ceiling(draw).is_some()).count();
        ceiling(model).is_none() || with as f64 >= BELIEVED * draws.len() as f64
    };
    shown(&|model| model.bandwidth) && shown(&|model| model.requests)
}

/// The model without the terms that limit no cell, and what limits each.
fn without_idle_terms(model: PathModel, seen: &[Observation]) -> (PathModel, Vec<Regime>) {
    let bounds: Vec<Regime> = seen.iter().map(|seen| model.time(seen).1).collect();
    let bound = |regime| bounds.contains(&regime);
    let model = PathModel {
        parallelism: model.parallelism.filter(|_| bound(Regime::Parallelism)),
        bandwidth: model.bandwidth.filter(|_| bound(Regime::Bandwidth)),
        requests: model.requests.filter(|_| bound(Regime::Requests)),
        ..model
    };
    (model, bounds)
}

/// Schwarz's criterion for errors of Laplace's distribution; lower is better.
fn score(model: &PathModel, seen: &[Observation], constants: usize) -> f64 {
    let count = errors(model, seen).count() as f64;
    2.0 * count * loss(model, seen).ln() + constants as f64 * count.ln()
}

/// Mean relative error, rounded below `KNEE`.
fn loss(model: &PathModel, seen: &[Observation]) -> f64 {
    let count = errors(model, seen).count() as f64;
    errors(model, seen).map(|off| off.hypot(KNEE)).sum::<f64>() / count
}

/// The relative errors of the times between two requests, and of the times of requests that no limit holds back.
fn errors(model: &PathModel, seen: &[Observation]) -> impl Iterator<Item = f64> {
    let of_alone = |seen: &Observation| {
        let (fixed, per_byte) = model.line?;
        Some(((fixed + per_byte * seen.bytes) / seen.alone_us?).ln())
    };
    let of_rate = |seen: &Observation| (model.time(seen).0 / seen.time_us).ln();
    seen.iter().map(of_rate).chain(seen.iter().filter_map(of_alone))
}

/// The model with the least loss: moved along each constant and each pair of them, by ever smaller steps.
fn moved(mut model: PathModel, seen: &[Observation], first_step: f64) -> PathModel {
    let mut least = loss(&model, seen);
    let mut step = first_step;
    while step > STEPS[1] {
        for _ in 0..MOVES {
            let before = least;
            for direction in directions() {
                let next = stepped(&model, direction, step);
                let found = loss(&next, seen);
                if found < least {
                    (model, least) = (next, found);
                }
            }
            if least >= before {
                break;
            }
        }
        step /= 2.0;
    }
    model
}

/// Up and down along each of the five constants, and along each pair, in both directions.
fn directions() -> impl Iterator<Item = [f64; 5]> {
    let signs = [-1.0, 0.0, 1.0];
    (0..5).flat_map(move |one| {
        (one..5).flat_map(move |other| {
            signs.into_iter().flat_map(move |of_one| {
                signs.into_iter().filter_map(move |of_other| {
                    let mut direction = [0.0; 5];
                    direction[other] = of_other;
                    direction[one] = of_one;
                    (direction[one] != 0.0).then_some(direction)
                })
            })
        })
    })
}

fn stepped(model: &PathModel, direction: [f64; 5], step: f64) -> PathModel {
    let by = |constant: usize| (direction[constant] * step).exp();
    // No factor changes 0.
    let grown = |value: f64, constant: usize, least: f64| match direction[constant] {
        0.0 => value,
        _ => value.max(least) * by(constant),
    };
    PathModel {
        base_depth: model.base_depth,
        line: model.line.map(|(fixed, per_byte)| (grown(fixed, 0, LEAST_US), grown(per_byte, 1, LEAST_US_PER_BYTE))),
        parallelism: model.parallelism.map(|most| (most * by(2)).max(1.0)),
        bandwidth: model.bandwidth.map(|rate| rate * by(3)),
        requests: model.requests.map(|rate| rate * by(4)),
    }
}

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

/// Fits the processor cost of a request on the path.
///
/// At the deepest cells one wait serves many requests, so waiting costs almost nothing there, and their cost is that of
/// the request itself. The extra cost of shallower cells is the wait.
pub(super) fn add_cost<'a>(fit: &mut Fit, path: &'a MeasuredPath<'a>, costs: &[Cost]) {
    let known = |cell: &'a CellFinding| Some((cell, cell.charged_us.filter(|us| *us > 0.0)?));
    charged(fit, &path.usable().filter_map(known).collect::<Vec<_>>());
    let of = |bound| {
        let of_cost = |cost: &Cost| PathSettings { pattern: cost.pattern, rw: cost.rw, cache: cost.cache };
        let here = |cost: &&Cost| of_cost(cost) == path.settings && cost.bound == bound;
        costs.iter().find(here)
    };
    if let (Some(lower), Some(upper)) = (of(Bound::Charged), of(Bound::Soaker)) {
        fit.constants.unseen_us = (upper.fixed_us.value - lower.fixed_us.value).max(0.0);
        fit.constants.unseen_us_per_kib = (upper.marginal_us_per_kib.value - lower.marginal_us_per_kib.value).max(0.0);
        fit.unseen_known = true;
        fit.remarks.insert("unseen_us", Remark::Unseen { cells: Some(upper.cells) });
    } else {
        fit.remarks.insert("unseen_us", Remark::Unseen { cells: None });
    }
}

/// Fits the charge from cells with their charge a request, in microseconds.
fn charged(fit: &mut Fit, cells: &[(&CellFinding, f64)]) {
    let mut depths: Vec<u32> = cells.iter().map(|(cell, _)| cell.iodepth).collect();
    depths.sort_unstable();
    depths.dedup();
    let line_at = |depth: u32| {
        let here = cells.iter().filter(|(cell, _)| cell.iodepth == depth);
        let points: Vec<(f64, f64)> = here.map(|(cell, us)| (cell.bs_bytes as f64 / 1024.0, *us)).collect();
        fit_line(&points).map(|line| (depth, points.len(), line))
    };
    let Some((deepest, count, line)) = depths.iter().rev().find_map(|depth| line_at(*depth)) else {
        fit.remarks.insert("charged_us", Remark::ChargeUnknown);
        return;
    };
    let mut waits: Vec<f64> = cells
        .iter()
        .filter(|(cell, _)| cell.iodepth < deepest)
        .map(|(cell, us)| (us - line.at(cell.bs_bytes as f64 / 1024.0)) * f64::from(cell.iodepth))
        .collect();
    waits.sort_by(f64::total_cmp);
    (fit.constants.charged_us, fit.constants.charged_us_per_kib) = (line.intercept, line.slope);
    let scatter = (line.points > 2).then_some(line.scatter);
    fit.remarks.insert("charged_us", Remark::Charge { cells: count, iodepth: deepest, scatter });
    if let Some(wait_us) = waits.get(waits.len() / 2) {
        // Below one percent of the request's own charge, the wait counts as zero.
        let least = line.intercept / 100.0;
        fit.constants.wait_us = if *wait_us > least { *wait_us } else { 0.0 };
        fit.remarks.insert("wait_us", Remark::Wait { cells: waits.len() });
    }
}
