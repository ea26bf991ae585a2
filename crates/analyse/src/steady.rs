//! Judges whether a run was steady from its time series.
//!
//! The start is trimmed by MSER-5 if it is slower than the rest, or if it was a short burst. The remainder passes four
//! guards. Each guard objects to a difference only if it is large enough to matter and exceeds what the run's own
//! scatter explains, so that few requests in a step do not look like unsteadiness. `docs/method/validation.md` says how
//! often the guards are wrong, and `tests/steadiness.rs` measures it.
//!
//! The step from which a run had settled is found by MSER-5: of all starts that could be cut off, it chooses the one
//! that leaves the mean of the rest best known (K. P. White, An effective truncation heuristic for bias reduction in
//! simulation output, 1997; in batches of five, K. P. White, M. J. Cobb, S. C. Spratt, A comparison of five
//! steady-state truncation heuristics for simulation, 2000). At most half of the run is cut off: a run that has not
//! settled by then counts as not settled.
//!
//! How much a rate varies from step to step is the long-run variance of the series. The variance of a mean of L
//! correlated steps is noise / L, with noise = variance x (1 + r) / (1 - r) for steps of lag-1 correlation r (an AR(1)
//! series). Both are computed within fifths of the window, around the mean of each, so that a change of level or a
//! slope does not count as scatter; the fifth that varies most is left out.

use halfpower_record::Series;
use halfpower_spec::InOrder;

use crate::change::change_point;
use crate::mean::mean;
use crate::{Interval, UnsteadyReason};

/// Fewest steps for any judgement.
const FEWEST_STEPS: usize = 25;
/// A step with a larger share of all bytes makes the series too coarse: it shows single waves of requests.
const COARSEST_STEP: f64 = 0.1;
/// Fewest steps that a long series is grouped into.
const STEPS: usize = 100;
/// Relative difference from which the start does not belong to the rest.
const START_DIFFERS: f64 = 0.2;
/// Longest burst, as a share of the run, that is trimmed as a start; a longer one is part of the result.
const LONGEST_BURST: f64 = 0.25;
/// Share of a run that a rate must last to count as sustained.
const SUSTAINED: f64 = 0.25;
/// Slope over the window from which a run is not steady: SNIA's 10% (Solid State Storage Performance Test
/// Specification, steady state).
const SLOPE: f64 = 0.1;
/// The same limit for the last third against the middle third.
const THIRDS: f64 = 0.1;
/// The same for the spread of five parts: SNIA's excursion of 20%.
const EXCURSION: f64 = 0.2;
/// The same limit for two levels at a change point.
const STEP: f64 = 0.1;
/// Standard errors that a difference must exceed; and the same for the spread of five parts.
const ERRORS: f64 = 4.0;
const SPREAD_ERRORS: f64 = 7.0;

/// What a run's time series says about the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Steadiness {
    /// Whether nothing speaks against it; true also if the series is too short or too coarse to tell.
    pub steady: bool,
    /// Whether the series was long and fine enough to tell.
    pub conclusive: bool,
    /// What speaks against it; `None` if it is steady.
    pub objection: Option<UnsteadyReason>,
    /// Steps at the start that are not part of the steady state: a warm-up, or a burst.
    pub trimmed_steps: usize,
    /// The same as a share of the series.
    pub trimmed_share: f64,
    /// Rate at the start and rate sustained after it in MB/s, if the start was a burst.
    pub burst: Option<Burst>,
    /// Mean rate of five equal parts of the remainder, in MB/s, with its t interval. The parts share the peculiarities
    /// of one run, so the interval only warns and never replaces that of a cell.
    pub within: Interval,
}

/// A run that began faster than it continued.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burst {
    /// Rate before it ended, in MB/s.
    pub burst_mbps: f64,
    /// Rate after it, in MB/s.
    pub sustained_mbps: f64,
    /// How long it lasted, in nanoseconds.
    pub lasted_ns: u64,
}

/// What speaks against a run's steadiness, and the step at which the level changed.
struct Found {
    objection: UnsteadyReason,
    changed_at: Option<usize>,
}

/// Judges a run by its time series.
///
/// A run judged not steady may only be too short: a longer run may settle.
pub fn judge(series: &Series) -> Steadiness {
    let grouped = series.bytes.len() / STEPS;
    let group = grouped.max(1);
    let step_ns = series.step_ns.saturating_mul(group as u64);
    let rates: Vec<f64> = series
        .bytes
        .chunks_exact(group)
        .map(|steps| steps.iter().map(|bytes| *bytes as f64).sum::<f64>() * 1e3 / step_ns.max(1) as f64)
        .collect();
    let conclusive = rates.len() >= FEWEST_STEPS && is_fine(&rates);
    if !conclusive {
        return Steadiness { conclusive, ..steady(&rates, 0, None) };
    }
    let mut found = judge_rates(&rates, step_ns);
    found.trimmed_share = found.trimmed_steps as f64 / rates.len() as f64;
    found.trimmed_steps *= group;
    found
}

/// Whether something moved, and no step has a large share of it.
fn is_fine(rates: &[f64]) -> bool {
    let total: f64 = rates.iter().sum();
    let largest = rates.iter().copied().fold(0.0, f64::max);
    total > 0.0 && largest <= COARSEST_STEP * total
}

fn steady(rates: &[f64], trimmed_steps: usize, burst: Option<Burst>) -> Steadiness {
    let within = Interval::of_means(&parts(&rates[trimmed_steps..]));
    Steadiness { steady: true, conclusive: true, objection: None, trimmed_steps, trimmed_share: 0.0, burst, within }
}

fn judge_rates(rates: &[f64], step_ns: u64) -> Steadiness {
    let start = start(rates, step_ns);
    let (trimmed, burst) = start.map_or((0, None), |(steps, burst)| (steps, burst));
    let cut = burst.is_none() || trimmed as f64 <= LONGEST_BURST * rates.len() as f64;
    let from = if cut { trimmed } else { 0 };
    let found = steady(rates, from, burst);
    let Some(Found { objection, changed_at }) = objection(&rates[from..], step_ns, from) else {
        return found;
    };
    let burst = burst.or_else(|| late_burst(&rates[from..], changed_at?, step_ns));
    Steadiness { steady: false, objection: Some(objection), burst, ..found }
}

/// Steps at the start that do not belong to the rest, with the burst if they were faster.
///
/// After a start, the rest must show a rate of its own: a stall that follows nearly all requests is no steady state.
fn start(rates: &[f64], step_ns: u64) -> Option<(usize, Option<Burst>)> {
    let settled = settled_at(rates).filter(|steps| *steps > 0)?;
    let (before, after) = rates.split_at(settled);
    if !is_fine(after) {
        return None;
    }
    let scatter = Scatter::of(after);
    let early = mean(before);
    let late = mean(after);
    let allowed = (START_DIFFERS * late).max(ERRORS * scatter.error_of_difference(before.len(), after.len()));
    let allowed = allowed + scatter.margin(before.len());
    if (early - late).abs() <= allowed {
        return None;
    }
    Some((settled, (early > late).then(|| burst(before, after, step_ns))))
}

/// The burst at the start: up to where two levels fit best, by least squares with the later level given. A start is
/// trimmed in whole batches, so it may hold steps after the burst.
fn burst(before: &[f64], after: &[f64], step_ns: u64) -> Burst {
    let sustained_mbps = mean(after);
    let mut sum = 0.0;
    let fits = before.iter().zip(1_u32..).map(|(rate, steps)| {
        sum += rate;
        let burst_mbps = sum / f64::from(steps);
        // Reduction of the squared error if these steps have their own mean instead of the later level.
        let gain = f64::from(steps) * (burst_mbps - sustained_mbps).max(0.0).powi(2);
        (gain, burst_mbps, u64::from(steps))
    });
    let best = fits.max_by(|one, other| one.0.total_cmp(&other.0));
    let (_, burst_mbps, steps) = best.unwrap_or((0.0, sustained_mbps, 0));
    Burst { burst_mbps, sustained_mbps, lasted_ns: steps * step_ns }
}

/// A drop of level is the end of a burst, if what follows is long enough to count as sustained.
fn late_burst(rates: &[f64], changed_at: usize, step_ns: u64) -> Option<Burst> {
    let (before, after) = rates.split_at(changed_at);
    let lasts = after.len() as f64 >= SUSTAINED * rates.len() as f64;
    (lasts && mean(before) > mean(after)).then(|| burst(before, after, step_ns))
}

/// The first guard that objects: a change of level, a slope, the last third, a spread of five parts.
fn objection(rates: &[f64], step_ns: u64, trimmed: usize) -> Option<Found> {
    let scatter = Scatter::of(rates);
    change(rates, &scatter, step_ns, trimmed)
        .or_else(|| slope(rates, &scatter))
        .or_else(|| last_third(rates, &scatter))
        .or_else(|| spread(rates, &scatter))
}

fn change(rates: &[f64], scatter: &Scatter, step_ns: u64, trimmed: usize) -> Option<Found> {
    let at = change_point(rates)?;
    let (before, after) = rates.split_at(at);
    let from = mean(before);
    let to = mean(after);
    let shorter = before.len().min(after.len());
    if (from - to).abs() <= STEP * mean(rates) + scatter.margin(shorter) {
        return None;
    }
    let after_s = (trimmed + at) as f64 * step_ns as f64 / 1e9;
    let objection = UnsteadyReason::LevelChanged { from_mbps: from, to_mbps: to, after_s };
    Some(Found { objection, changed_at: Some(at) })
}

/// Gain of the least-squares line over the window, against the mean.
fn slope(rates: &[f64], scatter: &Scatter) -> Option<Found> {
    let count = rates.len() as f64;
    let level = mean(rates);
    let middle = (count - 1.0) / 2.0;
    let mut products = 0.0;
    let mut squares = 0.0;
    for (step, rate) in rates.iter().enumerate() {
        products += (step as f64 - middle) * (rate - level);
        squares += (step as f64 - middle).powi(2);
    }
    let gain = products / squares * count;
    // The slope's variance is noise / (n^3 / 12), so that of the gain over n steps is 12 noise / n.
    let error = (12.0 * scatter.noise / count).sqrt();
    let over = gain.abs() > (SLOPE * level).max(ERRORS * error) + scatter.margin(rates.len() / 2);
    over.then(|| Found { objection: UnsteadyReason::Slope { gain: gain / level }, changed_at: None })
}

fn last_third(rates: &[f64], scatter: &Scatter) -> Option<Found> {
    let third = rates.len() / 3;
    let middle = mean(&rates[rates.len() - 2 * third..rates.len() - third]);
    let last = mean(&rates[rates.len() - third..]);
    let allowed = (THIRDS * mean(rates)).max(ERRORS * scatter.error_of_difference(third, third));
    let over = (last - middle).abs() > allowed + scatter.margin(third) && middle > 0.0;
    over.then(|| Found { objection: UnsteadyReason::LastThird { gain: last / middle - 1.0 }, changed_at: None })
}

fn spread(rates: &[f64], scatter: &Scatter) -> Option<Found> {
    let parts = parts(rates);
    let high = parts.iter().copied().fold(f64::MIN, f64::max);
    let low = parts.iter().copied().fold(f64::MAX, f64::min);
    let length = rates.len() / parts.len();
    let allowed = (EXCURSION * mean(rates)).max(SPREAD_ERRORS * (scatter.noise / length as f64).sqrt());
    let over = high - low > allowed + scatter.margin(length);
    over.then_some(Found { objection: UnsteadyReason::Spread { low_mbps: low, high_mbps: high }, changed_at: None })
}

/// Mean rates of five equal parts, or of single steps if there are fewer than five.
fn parts(rates: &[f64]) -> Vec<f64> {
    rates.chunks_exact((rates.len() / 5).max(1)).take(5).map(mean).collect()
}

impl Steadiness {
    /// Half the width of [`Self::within`] as a share of the mean.
    pub fn within_reach(&self) -> f64 {
        self.within.relative_reach()
    }
}

/// Steps in a batch.
const BATCH: usize = 5;

/// The step at which the series had settled: 0 if its start is like the rest, `None` if it had not settled by half of
/// its length.
fn settled_at(rates: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = rates.chunks_exact(BATCH).map(mean).collect();
    let last = batches.len() / 2;
    let errors = (0..=last).map(|cut| (cut, squared_error(&batches[cut..])));
    let least = errors.reduce(|least, next| if next.1 < least.1 { next } else { least });
    least.map(|(cut, _)| cut).filter(|cut| *cut == 0 || *cut < last).map(|cut| cut * BATCH)
}

/// Squared standard error of the mean, as MSER takes it: squares over count squared.
fn squared_error(batches: &[f64]) -> f64 {
    let level = mean(batches);
    batches.iter().map(|batch| (batch - level).powi(2)).sum::<f64>() / (batches.len() as f64).powi(2).max(1.0)
}

/// Parts into which the series is divided.
const PARTS: usize = 5;
/// Largest correlation that is accepted: beyond it, too few independent steps remain.
const MOST_CORRELATED: f64 = 0.9;

/// The scatter of a series.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scatter {
    /// Long-run variance: that of a mean over L steps, times L.
    pub noise: f64,
    /// Largest rate of which all steps are multiples: one request in a step, or a wave of them.
    grain: f64,
}

impl Scatter {
    pub fn of(rates: &[f64]) -> Self {
        let length = (rates.len() / PARTS).max(2);
        let mut parts: Vec<Part> = rates.chunks_exact(length).map(Part::of).collect();
        parts.order_by(|one, other| one.squares.total_cmp(&other.squares));
        parts.truncate(parts.len().saturating_sub(1).max(1));
        let all = parts.iter().fold(Part::default(), |sum, part| Part {
            squares: sum.squares + part.squares,
            products: sum.products + part.products,
            bridge_squares: sum.bridge_squares + part.bridge_squares,
        });
        Self { noise: all.noise(parts.len() as f64, length as f64), grain: grain(rates) }
    }

    /// Standard error of the difference of two means over this many steps.
    pub fn error_of_difference(&self, one: usize, other: usize) -> f64 {
        (self.noise / one.max(1) as f64 + self.noise / other.max(1) as f64).sqrt()
    }

    /// Possible error of the difference of two means over this many steps because requests complete whole: one request
    /// at either end of each.
    pub fn margin(&self, steps: usize) -> f64 {
        2.0 * self.grain / steps.max(1) as f64
    }
}

/// The greatest common divisor, to a millionth of the largest rate; 0 if all are 0.
fn grain(rates: &[f64]) -> f64 {
    let rounding = rates.iter().copied().fold(0.0, f64::max) * 1e-6;
    let divisor = |mut one: f64, mut other: f64| {
        while other > rounding {
            (one, other) = (other, one % other);
        }
        one
    };
    rates.iter().copied().fold(0.0, |grain, rate| divisor(rate, grain))
}

/// A part of the window around its own mean: squares, products of neighbours, squares of the partial sums.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    squares: f64,
    products: f64,
    bridge_squares: f64,
}

impl Part {
    fn of(rates: &[f64]) -> Self {
        let level = mean(rates);
        let mut sum = 0.0;
        let mut before = 0.0;
        let mut part = Self::default();
        for rate in rates {
            let off = rate - level;
            sum += off;
            part.squares += off * off;
            part.products += off * before;
            part.bridge_squares += sum * sum;
            before = off;
        }
        part
    }

    /// The long-run variance from the sums over `parts` parts of `length` steps.
    ///
    /// The squared partial sums of L steps around their mean average noise x L / 6, whatever the correlation, but they
    /// miss a correlation that reaches over much of the part. If neighbours are correlated, the AR(1) form is used too,
    /// corrected for what L steps around their own mean hide: the correlation appears (1 + 4 r) / L too small (M. G.
    /// Kendall, Note on bias in the estimation of autocorrelation, 1954), the variance too small by that of the mean.
    /// The correlation is also raised by one standard error.
    fn noise(&self, parts: f64, length: f64) -> f64 {
        if self.squares <= 0.0 {
            return 0.0;
        }
        let of_sums = 6.0 * self.bridge_squares / (parts * length * length);
        let seen = self.products / self.squares;
        if seen <= 0.0 {
            return of_sums;
        }
        let unbiased = (seen + 1.0 / length) / (1.0 - 4.0 / length).max(0.2);
        let correlation = (unbiased + 1.0 / (parts * length).sqrt()).clamp(0.0, MOST_CORRELATED);
        let inflation = (1.0 + correlation) / (1.0 - correlation);
        let hidden = (inflation / length).min(0.7);
        of_sums.max(self.squares / (parts * length) / (1.0 - hidden) * inflation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_cut_where_it_ends() {
        let wave = |step: usize| 100.0 + [3.0, -2.0, 0.0, 1.0, -2.0, 2.0, -1.0][step % 7];
        let slow_start: Vec<f64> = (0..100).map(|step| if step < 20 { 10.0 } else { wave(step) }).collect();
        assert_eq!(settled_at(&slow_start), Some(20));
        let exponential: Vec<f64> = (0..100).map(|step| wave(step) - 80.0 * (-(step as f64) / 8.0).exp()).collect();
        assert!(settled_at(&exponential).is_some_and(|at| (20..=45).contains(&at)), "{:?}", settled_at(&exponential));
    }

    #[test]
    fn what_has_not_settled_by_half_has_not_settled() {
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(settled_at(&ramp), None);
        assert_eq!((settled_at(&[]), settled_at(&[1.0; 100])), (Some(0), Some(0)));
    }
}
