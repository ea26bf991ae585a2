//! What bounds each cell of a path? Cells enter, a regime for each and the constants behind them leave.
//!
//! The time between two completions at depth d and size s is modelled as
//! `max((a + b s) / min(d, p), s / C, 1 / I)`: a request's own latency, divided by as many requests as are
//! side by side (p of them at most), a ceiling of C bytes a microsecond, a ceiling of I requests a microsecond.
//! p, C and I are each there or not; the set is chosen by BIC (G. Schwarz, Estimating the dimension of a model,
//! 1978) and the constants are found by turns: each cell goes to the term that is largest for it, each constant
//! becomes the mean over its cells. A ceiling is believed only where the cells on it are flat.

use crate::fit::{LineFit, fit_line};
use crate::interval::t95;
use crate::{CellFinding, Interval};

/// Misfit that any cell may have before it speaks for one more term of the model.
const FLOOR: f64 = 0.01;
/// Flatness that a ceiling needs, where noise does not ask for more.
const FLAT: f64 = 0.03;
/// One cell in so many may stray from a ceiling that the others agree on.
const STRAY: usize = 10;
/// Turns of assigning and averaging; the cells settle in a handful.
const TURNS: usize = 20;

/// Which term of the model is the largest for a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Regime {
    /// A request's own latency: more depth still helps.
    Latency,
    /// As many requests are side by side as can be: more depth only waits.
    Parallelism,
    /// A throughput that neither larger blocks nor more depth get past.
    Bandwidth,
    /// A rate of requests that neither smaller blocks nor more depth get past.
    Requests,
}

/// A path's constants, and which of them bounds each of its usable cells.
#[derive(Debug, Clone)]
pub(crate) struct Regimes<'a> {
    pub cells: Vec<(&'a CellFinding, Regime)>,
    /// Total depth that `line` was fitted at: the smallest with more than one size, 1 in most studies.
    pub base_depth: u32,
    /// Time between completions against bytes at `base_depth`, in microseconds, over the cells below any ceiling.
    pub line: Option<LineFit>,
    pub parallelism: Option<f64>,
    /// MB/s, over the cells that stand on the ceiling.
    pub ceiling_mbps: Option<Interval>,
    /// Requests a second, over the cells that stand on the ceiling.
    pub ceiling_iops: Option<Interval>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    depth: f64,
    bytes: f64,
    time_us: f64,
}

/// The model's constants; `line` is (a, b) at the base depth.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shape {
    base_depth: f64,
    line: Option<(f64, f64)>,
    parallelism: Option<f64>,
    bandwidth: Option<f64>,
    requests: Option<f64>,
}

/// Fits the model to the usable ones of `cells`, all of one path.
pub(crate) fn regimes<'a>(cells: impl Iterator<Item = &'a CellFinding>) -> Regimes<'a> {
    let cells: Vec<&CellFinding> = cells.filter(|cell| cell.usable()).collect();
    let seen: Vec<Seen> = cells.iter().map(|cell| Seen::of(cell)).collect();
    let noise = noise(&cells);
    let base_depth = base_depth(&seen);
    let chosen = candidates(&seen, base_depth)
        .into_iter()
        .map(|shape| settle(shape, &seen))
        .filter(|shape| shape.is_believable(&seen, noise))
        .map(|shape| (shape.score(&seen, noise), shape))
        .reduce(|best, next| if next.0 < best.0 { next } else { best });
    let Some((_, shape)) = chosen else {
        return Regimes::none(cells, base_depth);
    };
    let bounds: Vec<Regime> = seen.iter().map(|seen| shape.time(seen).1).collect();
    let cells: Vec<(&CellFinding, Regime)> = cells.into_iter().zip(bounds).collect();
    let on = |regime, of: &dyn Fn(&CellFinding) -> f64| -> Option<Interval> {
        let values: Vec<f64> = cells.iter().filter(|(_, r)| *r == regime).map(|(cell, _)| of(cell)).collect();
        (!values.is_empty()).then(|| Interval::of_means(&values))
    };
    Regimes {
        base_depth: base_depth as u32,
        line: fit_line(&line_points(&seen, &shape)),
        parallelism: shape.parallelism.filter(|_| cells.iter().any(|(_, r)| *r == Regime::Parallelism)),
        ceiling_mbps: on(Regime::Bandwidth, &|cell| cell.mbps.value),
        ceiling_iops: on(Regime::Requests, &|cell| 1e6 / cell.time_per_request_us()),
        cells,
    }
}

impl<'a> Regimes<'a> {
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

/// Relative standard error of a cell's mean, pooled over the cells with more than one run.
fn noise(cells: &[&CellFinding]) -> f64 {
    let repeated = cells.iter().filter(|cell| cell.runs > 1);
    let squares: Vec<f64> = repeated.map(|c| (c.mbps.relative_reach() / t95(c.runs - 1)).powi(2)).collect();
    if squares.is_empty() { 0.0 } else { (squares.iter().sum::<f64>() / squares.len() as f64).sqrt() }
}

fn base_depth(seen: &[Seen]) -> f64 {
    let mut depths: Vec<f64> = seen.iter().map(|seen| seen.depth).collect();
    depths.sort_by(f64::total_cmp);
    let sizes_differ = |depth: &f64| {
        let mut bytes = seen.iter().filter(|seen| seen.depth == *depth).map(|seen| seen.bytes);
        let first = bytes.next();
        bytes.any(|bytes| Some(bytes) != first)
    };
    depths.iter().copied().find(sizes_differ).or(depths.first().copied()).unwrap_or(1.0)
}

/// Every set of terms with a few places to start from.
fn candidates(seen: &[Seen], base_depth: f64) -> Vec<Shape> {
    let mut depths: Vec<f64> = seen.iter().map(|seen| seen.depth).collect();
    depths.sort_by(f64::total_cmp);
    depths.dedup();
    let deeper = depths.iter().any(|depth| *depth > base_depth);
    let parallel = depths.iter().filter(|depth| **depth >= base_depth).rev().skip(1).copied().map(Some);
    let parallel: Vec<Option<f64>> = std::iter::once(None).chain(parallel).collect();
    let highest = |of: &dyn Fn(&Seen) -> f64| seen.iter().map(of).reduce(f64::max);
    let bandwidth = highest(&|seen| seen.bytes / seen.time_us);
    let requests = highest(&|seen| 1.0 / seen.time_us);
    let lines = starting_lines(seen, base_depth);
    let mut shapes = Vec::new();
    for line in lines.into_iter().map(Some).chain(deeper.then_some(None)) {
        for parallelism in parallel.iter().copied().filter(|p| p.is_none() || line.is_some()) {
            for bandwidth in [None, bandwidth] {
                for requests in [None, requests] {
                    shapes.push(Shape { base_depth, line, parallelism, bandwidth, requests });
                }
            }
        }
    }
    shapes.retain(|shape| shape.line.is_some() || shape.bandwidth.is_some() || shape.requests.is_some());
    shapes
}

/// Lines to begin with: over all sizes at the base depth, over the smaller and over the larger half of them.
fn starting_lines(seen: &[Seen], base_depth: f64) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> =
        seen.iter().filter(|seen| seen.depth == base_depth).map(|seen| (seen.bytes, seen.time_us)).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    let half = points.len().div_ceil(2).max(2).min(points.len());
    let parts = [&points[..], &points[..half], &points[points.len() - half..]];
    let lines: Vec<(f64, f64)> = parts.into_iter().filter_map(fit_line).map(|fit| (fit.intercept, fit.slope)).collect();
    match (lines.is_empty(), points.first()) {
        // One size alone: its time stands for the fixed part.
        (true, Some((_, time_us))) => vec![(*time_us, 0.0)],
        _ => lines,
    }
}

/// The cells at the base depth that no ceiling bounds.
fn line_points(seen: &[Seen], shape: &Shape) -> Vec<(f64, f64)> {
    let own = |seen: &&Seen| seen.depth == shape.base_depth && shape.time(seen).1.is_own();
    seen.iter().filter(own).map(|seen| (seen.bytes, seen.time_us)).collect()
}

fn settle(mut shape: Shape, seen: &[Seen]) -> Shape {
    for _ in 0..TURNS {
        let next = shape.averaged(seen);
        if next == shape {
            break;
        }
        shape = next;
    }
    shape
}

impl Regime {
    /// Whether the request's own time bounds it, rather than a ceiling.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Latency | Self::Parallelism)
    }
}

impl Seen {
    fn of(cell: &CellFinding) -> Self {
        let depth = f64::from(cell.total_depth().max(1));
        Self { depth, bytes: cell.bs_bytes as f64, time_us: cell.time_per_request_us() }
    }
}

impl Shape {
    /// The model's time between completions in microseconds, and the term that sets it.
    fn time(&self, seen: &Seen) -> (f64, Regime) {
        let own = self.line.map(|(fixed, per_byte)| {
            let limit = self.parallelism.unwrap_or(f64::INFINITY);
            let regime = if seen.depth > limit { Regime::Parallelism } else { Regime::Latency };
            ((fixed + per_byte * seen.bytes) * self.base_depth / seen.depth.min(limit), regime)
        });
        let bandwidth = self.bandwidth.map(|rate| (seen.bytes / rate, Regime::Bandwidth));
        let requests = self.requests.map(|rate| (1.0 / rate, Regime::Requests));
        let terms = [own, bandwidth, requests].into_iter().flatten();
        terms.reduce(|most, term| if term.0 > most.0 { term } else { most }).expect("a shape has a term")
    }

    /// Each constant again, as the geometric mean over the cells that it bounds.
    fn averaged(&self, seen: &[Seen]) -> Self {
        let bounds: Vec<(Seen, Regime)> = seen.iter().map(|seen| (*seen, self.time(seen).1)).collect();
        let mean = |regime, of: &dyn Fn(&Seen) -> f64| -> Option<f64> {
            let logs: Vec<f64> = bounds.iter().filter(|(_, r)| *r == regime).map(|(s, _)| of(s).ln()).collect();
            (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
        };
        let line =
            self.line.map(|line| fit_line(&line_points(seen, self)).map_or(line, |fit| (fit.intercept, fit.slope)));
        let parallelism = self.parallelism.map(|before| {
            let (fixed, per_byte) = line.expect("parallelism is of a line");
            let speedup = |s: &Seen| (fixed + per_byte * s.bytes) * self.base_depth / s.time_us;
            mean(Regime::Parallelism, &speedup).unwrap_or(before).max(self.base_depth)
        });
        Self {
            base_depth: self.base_depth,
            line,
            parallelism,
            bandwidth: self.bandwidth.map(|old| mean(Regime::Bandwidth, &|s| s.bytes / s.time_us).unwrap_or(old)),
            requests: self.requests.map(|old| mean(Regime::Requests, &|s| 1.0 / s.time_us).unwrap_or(old)),
        }
    }

    /// Whether each ceiling has two cells on it, all but a few of them flat, and all but a few others below it.
    fn is_believable(&self, seen: &[Seen], noise: f64) -> bool {
        let reach = FLAT.max(3.0 * noise);
        let flat = |ceiling: Option<f64>, regime, of: &dyn Fn(&Seen) -> f64| {
            ceiling.is_none_or(|ceiling| {
                let on: Vec<f64> = seen.iter().filter(|s| self.time(s).1 == regime).map(of).collect();
                let above = seen.iter().filter(|s| of(s) > ceiling * (1.0 + reach)).count();
                let below = on.iter().filter(|rate| **rate < ceiling * (1.0 - reach)).count();
                on.len() >= 2 && above + below <= on.len() / STRAY
            })
        };
        flat(self.bandwidth, Regime::Bandwidth, &|s| s.bytes / s.time_us)
            && flat(self.requests, Regime::Requests, &|s| 1.0 / s.time_us)
    }

    /// Schwarz's criterion; lower is better.
    fn score(&self, seen: &[Seen], noise: f64) -> f64 {
        let count = seen.len() as f64;
        let squares: f64 = seen.iter().map(|seen| (self.time(seen).0 / seen.time_us).ln().powi(2)).sum();
        let terms = [self.parallelism, self.bandwidth, self.requests].iter().flatten().count();
        let constants = terms + if self.line.is_some() { 2 } else { 0 };
        let allowed = FLOOR.max(noise).powi(2);
        count * (squares / count + allowed).ln() + constants as f64 * count.max(2.0).ln()
    }
}
