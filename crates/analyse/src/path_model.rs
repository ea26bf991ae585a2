//! Models how depth and size determine the time of a request, and estimates the error of observations.
//!
//! The time between two completions at depth d and size s is `max((a + b s) / min(d, p), s / C, 1 / I)`: a request's
//! own latency over the number of requests in parallel (at most p), a ceiling of C bytes a microsecond, a ceiling of I
//! requests a microsecond. Each of p, C and I is optional.

use crate::fit::fit_line;
use halfpower_spec::InOrder;

/// Misfit that any cell may have before it supports one more term of the model.
const FLOOR: f64 = 0.01;
/// Relative flatness that a ceiling needs, unless noise requires more.
const FLAT: f64 = 0.03;
/// The same for the number of requests in parallel: devices approach it more gradually.
const FLAT_PARALLELISM: f64 = 0.1;
/// One cell in this many may stray from a plateau that the others agree on.
const STRAY: usize = 10;
/// A cell whose own time is below this share of a ceiling's time lies deep under the ceiling, past any rounded knee.
const DEEP: f64 = 0.25;
/// Most rounds of assigning and averaging; the cells settle in a few.
const TURNS: usize = 20;

/// Which term of the model is the largest for a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Regime {
    /// A request's own latency: more depth still helps.
    Latency,
    /// The most requests run in parallel: further requests only wait.
    Parallelism,
    /// A throughput that neither larger blocks nor more depth exceed.
    Bandwidth,
    /// A rate of requests that neither smaller blocks nor more depth exceed.
    Requests,
}

impl Regime {
    /// Whether the request's own time bounds it, rather than a ceiling.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Latency | Self::Parallelism)
    }
}

/// One cell as the model sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observation {
    pub depth: f64,
    pub bytes: f64,
    pub time_us: f64,
    /// Relative standard error of its mean by its own runs; 0 for a single run.
    pub error: f64,
    /// Time of a single request that no limit of rate held back, in microseconds, if the cell tells it apart from `time_us`.
    pub alone_us: Option<f64>,
}

impl Observation {
    pub fn bytes_per_us(&self) -> f64 {
        self.bytes / self.time_us
    }

    pub fn requests_per_us(&self) -> f64 {
        1.0 / self.time_us
    }
}

/// The cells of a path, and the noise of their means (a relative standard error).
#[derive(Debug, Clone)]
pub(crate) struct Observations {
    pub seen: Vec<Observation>,
    pub noise: f64,
}

/// The model's constants; `line` is (a, b) at the base depth, in microseconds and microseconds a byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PathModel {
    pub base_depth: f64,
    pub line: Option<(f64, f64)>,
    pub parallelism: Option<f64>,
    pub bandwidth: Option<f64>,
    pub requests: Option<f64>,
}

impl PathModel {
    /// The model's time between completions in microseconds, and the term that determines it.
    pub fn time(&self, seen: &Observation) -> (f64, Regime) {
        let own = self.own_time(seen).map(|time| {
            let waits = self.parallelism.is_some_and(|most| seen.depth > most);
            (time, if waits { Regime::Parallelism } else { Regime::Latency })
        });
        let bandwidth = self.bandwidth.map(|rate| (seen.bytes / rate, Regime::Bandwidth));
        let requests = self.requests.map(|rate| (1.0 / rate, Regime::Requests));
        let terms = [own, bandwidth, requests].into_iter().flatten();
        terms.reduce(|most, term| if term.0 > most.0 { term } else { most }).expect("a model has a term")
    }

    /// The time that the line alone would give.
    fn own_time(&self, seen: &Observation) -> Option<f64> {
        let side_by_side = seen.depth.min(self.parallelism.unwrap_or(f64::INFINITY));
        self.line.map(|(fixed, per_byte)| (fixed + per_byte * seen.bytes) * self.base_depth / side_by_side)
    }

    /// The cells at the base depth that no ceiling limits, as the points of its line.
    pub fn line_points(&self, seen: &[Observation]) -> Vec<(f64, f64)> {
        let own = |seen: &&Observation| seen.depth == self.base_depth && self.time(seen).1.is_own();
        seen.iter().filter(own).map(|seen| (seen.bytes, seen.time_us)).collect()
    }
}

impl Observations {
    /// Settles the constants iteratively: each cell goes to the term that is largest for it, and each constant becomes
    /// the mean over its cells.
    pub fn settle(&self, mut model: PathModel) -> PathModel {
        for _ in 0..TURNS {
            let next = self.averaged(&model);
            if next == model {
                break;
            }
            model = next;
        }
        model
    }

    fn averaged(&self, model: &PathModel) -> PathModel {
        let bounds: Vec<(&Observation, Regime)> = self.seen.iter().map(|seen| (seen, model.time(seen).1)).collect();
        let over = |regime, of: &dyn Fn(&Observation) -> f64| -> Vec<f64> {
            bounds.iter().filter(|(_, bound)| *bound == regime).map(|(seen, _)| of(seen)).collect()
        };
        let ceiling = |before: Option<f64>, regime, of: &dyn Fn(&Observation) -> f64| {
            let on: Vec<&Observation> =
                bounds.iter().filter(|(_, bound)| *bound == regime).map(|(seen, _)| *seen).collect();
            before.map(|before| self.plateau(&on, of).unwrap_or(before))
        };
        let line = model
            .line
            .map(|line| fit_line(&model.line_points(&self.seen)).map_or(line, |fit| (fit.intercept, fit.slope)));
        let parallelism = model.parallelism.map(|before| {
            let speedup = |seen: &Observation| line.map_or(1.0, |line| speedup(model.base_depth, line, seen));
            geometric_mean(&over(Regime::Parallelism, &speedup)).unwrap_or(before).max(model.base_depth)
        });
        PathModel {
            base_depth: model.base_depth,
            line,
            parallelism,
            bandwidth: ceiling(model.bandwidth, Regime::Bandwidth, &Observation::bytes_per_us),
            requests: ceiling(model.requests, Regime::Requests, &Observation::requests_per_us),
        }
    }

    /// Whether a cell that is `off` (a share) from the model's prediction contradicts the model: not if its own runs
    /// disagree as much.
    fn objects(&self, seen: &Observation, off: f64, flat: f64) -> bool {
        off > flat.max(3.0 * self.noise.max(seen.error))
    }

    /// The plateau of the highest rates that agree: the mean of those that stand on it, starting from the highest that
    /// a cell reaches for certain.
    fn plateau(&self, cells: &[&Observation], of: &dyn Fn(&Observation) -> f64) -> Option<f64> {
        let certain = |seen: &Observation| of(seen) * (1.0 - 3.0 * seen.error);
        let mut sorted = cells.to_vec();
        sorted.order_by(|one, other| certain(other).total_cmp(&certain(one)));
        let mut level = of(sorted.get(sorted.len() / STRAY)?);
        for _ in 0..TURNS {
            let within: Vec<f64> =
                sorted.iter().map(|seen| of(seen)).filter(|rate| self.stands_on(*rate, level)).collect();
            let next = geometric_mean(&within)?;
            if next == level {
                break;
            }
            level = next;
        }
        Some(level)
    }

    /// Whether a rate is as high as a ceiling, within the noise of all cells: such cells give the ceiling its value.
    pub fn stands_on(&self, rate: f64, ceiling: f64) -> bool {
        (rate / ceiling - 1.0).abs() <= FLAT.max(3.0 * self.noise)
    }

    /// Whether the cells support each plateau of the model.
    pub fn believes(&self, model: &PathModel) -> bool {
        self.believes_parallelism(model)
            && self.believes_ceiling(model, model.bandwidth, Regime::Bandwidth, &Observation::bytes_per_us)
            && self.believes_ceiling(model, model.requests, Regime::Requests, &Observation::requests_per_us)
    }

    /// A ceiling needs at least two cells on it and few above. Its cells are all flat, except a few; or, if they
    /// approach it gradually, those deep under it are flat, at more than one depth.
    fn believes_ceiling(
        &self,
        model: &PathModel,
        ceiling: Option<f64>,
        regime: Regime,
        of: &dyn Fn(&Observation) -> f64,
    ) -> bool {
        let Some(ceiling) = ceiling else { return true };
        let on: Vec<&Observation> = self.seen.iter().filter(|seen| model.time(seen).1 == regime).collect();
        let off = |seen: &Observation| of(seen) / ceiling - 1.0;
        let above = self.seen.iter().filter(|seen| self.objects(seen, off(seen), FLAT)).count();
        let strays =
            |cells: &[&Observation]| cells.iter().filter(|seen| self.objects(seen, off(seen).abs(), FLAT)).count();
        let standing = on.iter().filter(|seen| !self.objects(seen, off(seen).abs(), FLAT)).count();
        if standing < 2 || above > on.len() / STRAY {
            return false;
        }
        let is_deep = |seen: &&&Observation| model.own_time(seen).is_none_or(|own| own < DEEP * model.time(seen).0);
        let deep: Vec<&Observation> = on.iter().filter(is_deep).copied().collect();
        let depths_differ = deep.iter().any(|seen| seen.depth != deep[0].depth);
        strays(&on) <= on.len() / STRAY || (depths_differ && strays(&deep) <= deep.len() / STRAY)
    }

    fn believes_parallelism(&self, model: &PathModel) -> bool {
        let (Some(most), Some(line)) = (model.parallelism, model.line) else { return true };
        let off = |seen: &Observation| (speedup(model.base_depth, line, seen) / most - 1.0).abs();
        let waiting: Vec<&Observation> =
            self.seen.iter().filter(|seen| model.time(seen).1 == Regime::Parallelism).collect();
        let strays = waiting.iter().filter(|seen| self.objects(seen, off(seen), FLAT_PARALLELISM)).count();
        strays <= waiting.len() / STRAY
    }

    /// Schwarz's criterion: misfit plus a penalty for each constant; lower is better. What a cell whose own runs disagree
    /// is off counts less.
    pub fn score(&self, model: &PathModel) -> f64 {
        let count = self.seen.len() as f64;
        let allowed = FLOOR.max(self.noise);
        let misfit = |seen: &Observation| (model.time(seen).0 / seen.time_us).ln() * allowed / allowed.max(seen.error);
        let squares: f64 = self.seen.iter().map(|seen| misfit(seen).powi(2)).sum();
        let terms = [model.parallelism, model.bandwidth, model.requests].iter().flatten().count();
        let constants = terms + if model.line.is_some() { 2 } else { 0 };
        count * (squares / count + allowed.powi(2)).ln() + constants as f64 * count.max(2.0).ln()
    }
}

/// Number of requests at the base depth's time that would have to run in parallel to give the observed rate.
fn speedup(base_depth: f64, (fixed, per_byte): (f64, f64), seen: &Observation) -> f64 {
    (fixed + per_byte * seen.bytes) * base_depth / seen.time_us
}

fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logs: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logs / values.len() as f64).exp())
}
