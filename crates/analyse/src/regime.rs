//! Finds what limits each cell of a path, and the constants behind it.
//!
//! Every set of terms of the model in `path_model.rs` is fitted from a few starting points; among the results whose
//! plateaus the cells support, the best by BIC is used (G. Schwarz, Estimating the dimension of a model, 1978).

use crate::fit::{LineFit, fit_line};
pub(crate) use crate::path_model::Regime;
use crate::path_model::{Observation, Observations, PathModel};
use crate::{CellFinding, Interval};
use halfpower_spec::InOrder;

/// Requests in parallel up to which a device serves one at a time.
const ONE_AT_A_TIME: f64 = 1.1;
/// Share of that number below which a cell is shallower.
const SHALLOWER: f64 = 0.95;
/// Relative distance up to which a limit of requests, times their size, is the limit of bytes again.
const SAME_LIMIT: f64 = 0.05;

/// A path's constants, and which of them limits each of its usable cells.
#[derive(Debug, Clone)]
pub(crate) struct Regimes<'a> {
    pub cells: Vec<(&'a CellFinding, Regime)>,
    /// Total depth of the fit `line`: the smallest with more than one size, 1 in most studies.
    pub base_depth: u32,
    /// Time between completions against bytes at `base_depth`, in microseconds, over the cells below any ceiling.
    pub line: Option<LineFit>,
    pub parallelism: Option<f64>,
    /// MB/s, over the cells at the ceiling.
    pub ceiling_mbps: Option<Interval>,
    /// Requests a second, over the cells at the ceiling.
    pub ceiling_iops: Option<Interval>,
}

/// Fits the model to the usable cells among `cells`, all of one path.
pub(crate) fn regimes<'a>(cells: impl Iterator<Item = &'a CellFinding>) -> Regimes<'a> {
    let cells: Vec<&CellFinding> = cells.filter(|cell| cell.usable()).collect();
    let observations = Observations { seen: cells.iter().map(|cell| seen(cell)).collect(), noise: noise(&cells) };
    let base_depth = base_depth(&observations.seen);
    let chosen = candidates(&observations.seen, base_depth)
        .into_iter()
        .map(|model| observations.settle(model))
        .filter(|model| observations.believes(model))
        .map(|model| (observations.score(&model), model))
        .reduce(|best, next| if next.0 < best.0 { next } else { best });
    match chosen {
        Some((_, model)) => Regimes::of_model(cells, &observations, &model),
        None => Regimes::none(cells, base_depth),
    }
}

/// The cells as the model sees them, and every settled model with a known line, expressed for single requests (base
/// depth 1).
pub(crate) fn starts(cells: &[&CellFinding]) -> (Vec<Observation>, Vec<PathModel>) {
    let observations = Observations { seen: cells.iter().map(|cell| seen(cell)).collect(), noise: noise(cells) };
    let base_depth = base_depth(&observations.seen);
    let alone = |model: PathModel| {
        let line = model.line.map(|(fixed, per_byte)| (fixed * base_depth, per_byte * base_depth));
        PathModel { base_depth: 1.0, line, ..model }
    };
    let models = candidates(&observations.seen, base_depth).into_iter().filter(|model| model.line.is_some());
    let models = models.flat_map(|model| [model, observations.settle(model)]).map(alone).collect();
    (observations.seen, models)
}

impl<'a> Regimes<'a> {
    fn of_model(cells: Vec<&'a CellFinding>, observations: &Observations, model: &PathModel) -> Self {
        let bound = |seen: &Observation| model.time(seen).1;
        let on = |ceiling: Option<f64>, regime, of: &dyn Fn(&Observation) -> f64| -> Option<Interval> {
            let ceiling = ceiling?;
            let on = observations.seen.iter().filter(|seen| bound(seen) == regime).map(of);
            let rates: Vec<f64> = on.filter(|rate| observations.stands_on(*rate, ceiling)).collect();
            (!rates.is_empty()).then(|| Interval::of_means(&rates))
        };
        // Requests of one size cannot tell a limit of requests from one of bytes.
        let sizes_differ = |regime| {
            let mut bytes = observations.seen.iter().filter(|seen| bound(seen) == regime).map(|seen| seen.bytes);
            let first = bytes.next();
            bytes.any(|bytes| Some(bytes) != first)
        };
        // The smallest requests on a ceiling stand on it alone only if they move fewer bytes than others do.
        let fastest = observations.seen.iter().map(Observation::bytes_per_us).fold(0.0, f64::max);
        let moves_fewer_bytes = |requests: &Interval| {
            let on = observations.seen.iter().filter(|seen| bound(seen) == Regime::Requests);
            let on = on.filter(|seen| observations.stands_on(seen.requests_per_us(), requests.value));
            let least = on.map(|seen| seen.bytes).fold(f64::INFINITY, f64::min);
            is_apart(least * requests.value, fastest)
        };
        let waits = |seen: &Observation| bound(seen) == Regime::Parallelism;
        // Where even the shallowest cell waits, the device may serve fewer than that: their number is not known.
        let shallowest = observations.seen.iter().map(|seen| seen.depth).fold(f64::INFINITY, f64::min);
        let is_bracketed = |most: &f64| *most <= ONE_AT_A_TIME || shallowest < SHALLOWER * most;
        let per_second =
            |rate: Interval| Interval { value: rate.value * 1e6, low: rate.low * 1e6, high: rate.high * 1e6 };
        Self {
            base_depth: model.base_depth as u32,
            line: fit_line(&model.line_points(&observations.seen)),
            parallelism: model.parallelism.filter(is_bracketed).filter(|_| observations.seen.iter().any(waits)),
            // A byte a microsecond is a MB/s.
            ceiling_mbps: on(model.bandwidth, Regime::Bandwidth, &Observation::bytes_per_us),
            ceiling_iops: on(model.requests, Regime::Requests, &Observation::requests_per_us)
                .filter(|_| sizes_differ(Regime::Requests))
                .filter(moves_fewer_bytes)
                .map(per_second),
            cells: cells.into_iter().zip(observations.seen.iter().map(bound)).collect(),
        }
    }

    fn none(cells: Vec<&'a CellFinding>, base_depth: f64) -> Self {
        Self {
            cells: cells.into_iter().map(|cell| (cell, Regime::Latency)).collect(),
            base_depth: base_depth as u32,
            line: None,
            parallelism: None,
            ceiling_mbps: None,
            ceiling_iops: None,
        }
    }
}

/// Whether requests that move `bytes_per_us` stand on a limit of their own, where others move `fastest`.
fn is_apart(bytes_per_us: f64, fastest: f64) -> bool {
    bytes_per_us < (1.0 - SAME_LIMIT) * fastest
}

fn seen(cell: &CellFinding) -> Observation {
    let depth = f64::from(cell.total_depth().max(1));
    Observation {
        depth,
        bytes: cell.bs_bytes as f64,
        time_us: cell.time_per_request_us(),
        error: cell.relative_error().unwrap_or(0.0),
        alone_us: None,
    }
}

/// Relative standard error of a cell's mean, pooled over the cells with more than one run; 0 if there are none.
pub(crate) fn noise(cells: &[&CellFinding]) -> f64 {
    let squares: Vec<f64> = cells.iter().filter_map(|cell| cell.relative_error()).map(|error| error.powi(2)).collect();
    if squares.is_empty() { 0.0 } else { (squares.iter().sum::<f64>() / squares.len() as f64).sqrt() }
}

fn base_depth(seen: &[Observation]) -> f64 {
    let depths = depths(seen);
    let sizes_differ = |depth: &f64| {
        let mut bytes = seen.iter().filter(|seen| seen.depth == *depth).map(|seen| seen.bytes);
        let first = bytes.next();
        bytes.any(|bytes| Some(bytes) != first)
    };
    depths.iter().copied().find(sizes_differ).or(depths.first().copied()).unwrap_or(1.0)
}

/// The depths that occur, in rising order.
fn depths(seen: &[Observation]) -> Vec<f64> {
    let mut depths: Vec<f64> = seen.iter().map(|seen| seen.depth).collect();
    depths.sort_by(f64::total_cmp);
    depths.dedup();
    depths
}

/// Every set of terms, with a few starting points.
fn candidates(seen: &[Observation], base_depth: f64) -> Vec<PathModel> {
    let depths: Vec<f64> = depths(seen).into_iter().filter(|depth| *depth >= base_depth).collect();
    // The deepest depth is not a limit: nothing deeper was seen to wait.
    let parallel: Vec<Option<f64>> =
        std::iter::once(None).chain(depths.iter().rev().skip(1).copied().map(Some)).collect();
    let highest = |of: &dyn Fn(&Observation) -> f64| seen.iter().map(of).reduce(f64::max);
    let bandwidth = highest(&Observation::bytes_per_us);
    let requests = highest(&Observation::requests_per_us);
    // At a single depth, a ceiling looks like a line, so there is always a line.
    let no_line = (depths.len() > 1).then_some(None);
    let mut models = Vec::new();
    for line in starting_lines(seen, base_depth).into_iter().map(Some).chain(no_line) {
        for parallelism in parallel.iter().copied().filter(|p| p.is_none() || line.is_some()) {
            for bandwidth in [None, bandwidth] {
                for requests in [None, requests] {
                    models.push(PathModel { base_depth, line, parallelism, bandwidth, requests });
                }
            }
        }
    }
    models.retain(|model| model.line.is_some() || model.bandwidth.is_some() || model.requests.is_some());
    models
}

/// Starting lines: over all sizes at the base depth, and over the smaller and the larger half of them.
fn starting_lines(seen: &[Observation], base_depth: f64) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> =
        seen.iter().filter(|seen| seen.depth == base_depth).map(|seen| (seen.bytes, seen.time_us)).collect();
    points.order_by(|one, other| one.0.total_cmp(&other.0));
    let half = points.len().div_ceil(2).max(2).min(points.len());
    let parts = [&points[..], &points[..half], &points[points.len() - half..]];
    let fits = parts.into_iter().filter_map(fit_line);
    let lines: Vec<(f64, f64)> = fits.map(|fit| (fit.intercept, fit.slope)).collect();
    match (lines.is_empty(), points.first()) {
        // With one size, its time becomes the fixed part.
        (true, Some((_, time_us))) => vec![(*time_us, 0.0)],
        _ => lines,
    }
}

#[cfg(test)]
mod tests {
    use halfpower_record::Record;
    use halfpower_spec::{Bytes, Cache, EngineName, Nanos, Pass, Run, Rw, Workload};

    use super::{is_apart, noise};
    use crate::cells::cells;
    use crate::{CellFinding, Interval};

    /// A run of a second at so many MB/s.
    fn run_at(mbps: u64, pass: Pass, repeat: u32) -> Record {
        let workload = Workload { rw: Rw::Randread, cache: Cache::Device, bs: Bytes(65_536), ..Workload::default() };
        let run = Run { experiment: None, workload, repeat, pass, runtime: Nanos(1_000_000_000), seed: 1 };
        let bytes = mbps * 1_000_000;
        let empty = Record::empty(run, EngineName::Simulated);
        Record { elapsed_ns: 1_000_000_000, bytes, ios: bytes / 65_536, ..empty }
    }

    #[test]
    fn the_noise_of_a_cell_is_that_of_the_runs_behind_its_interval() {
        let plain = (0..).zip([130, 0, 140]).map(|(repeat, mbps)| run_at(mbps, Pass::Plain, repeat));
        let confirming = (0..).zip([90, 100, 110]).map(|(repeat, mbps)| run_at(mbps, Pass::Confirm, repeat));
        let confirmed = cells(&plain.chain(confirming).collect::<Vec<Record>>()).remove(0);
        assert_eq!((confirmed.runs, confirmed.run_mbps.len()), (6, 3));
        // s / sqrt(n) of what varies by 10 of 100 over three runs, and by 15.8 over five sessions.
        let is_noise = |cell: &CellFinding, error: f64| (noise(&[cell]) - error).abs() < 1e-6;
        assert!(is_noise(&confirmed, 0.1 / 3f64.sqrt()), "{}", noise(&[&confirmed]));
        let session_mbps = vec![80.0, 90.0, 100.0, 110.0, 120.0];
        let mbps = Interval::of_means(&session_mbps);
        let over_sessions = CellFinding { mbps, run_mbps: session_mbps, ..confirmed.clone() };
        assert!(is_noise(&over_sessions, 0.005f64.sqrt()), "{}", noise(&[&over_sessions]));
        let single = CellFinding { run_mbps: vec![100.0], ..confirmed };
        assert_eq!(noise(&[&single]), 0.0);
    }

    #[test]
    fn requests_that_move_as_many_bytes_as_any_stand_on_the_limit_of_bytes() {
        // 2,836 requests of 4 KiB a second are 11.6 MB/s: a wire that gives 11.9 in large ones.
        assert!(!is_apart(2836.0 * 4096.0 / 1e6, 11.9));
        assert!(is_apart(2836.0 * 4096.0 / 1e6, 20.0), "larger ones give more, so it is the requests that are limited");
    }
}
