//! Estimates a mean and its 95% interval from the means of runs, and says how well a rate is known.
//!
//! The interval of a value derived from the runs of many cells is a bootstrap over runs (B. Efron, Bootstrap methods:
//! another look at the jackknife, 1979). Cells have few runs, so each cell draws one run fewer than it has, which gives
//! its mean the right variance (J. N. K. Rao, C. F. J. Wu, Resampling inference with complex survey data, 1988); the
//! interval uses the quantiles of the normal distribution that correspond to Student's t (T. Hesterberg, What teachers
//! should know about the bootstrap, 2015).

use std::sync::OnceLock;

use halfpower_spec::JsonSchema;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::Interval;

/// Student's t for a two-sided 95% interval: the 97.5% quantile with `freedom` degrees of freedom.
///
/// Source: W. S. Gosset ("Student"), The probable error of a mean, 1908; the quantile by `statrs`.
///
/// # Panics
/// With no degree of freedom: there is no interval then, and the caller must report that.
pub fn t95(freedom: usize) -> f64 {
    assert!(freedom > 0, "an interval needs at least one degree of freedom");
    match freedom {
        // Most cells have one of these two; the general computation iterates.
        1 => 12.706_204_736_432_1,
        2 => 4.302_652_729_911_28,
        _ => KEPT.get(freedom).map_or_else(|| quantile(freedom), |kept| *kept.get_or_init(|| quantile(freedom))),
    }
}

/// Quantiles by degrees of freedom, cached: a study asks for the same few thousands of times.
static KEPT: [OnceLock<f64>; 128] = [const { OnceLock::new() }; 128];

fn quantile(freedom: usize) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(1.96, |t| t.inverse_cdf(0.975))
}

impl Interval {
    /// A value without an interval.
    pub fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// The mean of run means with its t interval: mean ± t(n-1) s / sqrt(n).
    ///
    /// One run is its own mean with no width; no run at all gives 0.
    pub fn of_means(means: &[f64]) -> Self {
        let count = means.len();
        if count == 0 {
            return Self::exact(0.0);
        }
        let mean = means.iter().sum::<f64>() / count as f64;
        if count == 1 {
            return Self::exact(mean);
        }
        let squares: f64 = means.iter().map(|x| (x - mean) * (x - mean)).sum();
        let error = (squares / (count - 1) as f64 / count as f64).sqrt();
        let reach = t95(count - 1) * error;
        Self { value: mean, low: mean - reach, high: mean + reach }
    }

    /// Whether the value exceeds another one by more than both intervals combined as independent errors: the difference
    /// is then above 0 at 95%.
    pub fn is_above(&self, other: &Self) -> bool {
        let reach = |one: &Self| (one.high - one.low) / 2.0;
        self.value - other.value > reach(self).hypot(reach(other))
    }

    /// The interval, reaching at least this share of its value to either side.
    pub(crate) fn widened_to(self, share: f64) -> Self {
        let Self { value, low, high } = self;
        let reach = share * value.abs();
        Self { value, low: low.min(value - reach), high: high.max(value + reach) }
    }

    /// Half its width as a share of the value; 0 if the value is 0.
    pub fn relative_reach(&self) -> f64 {
        if self.value == 0.0 { 0.0 } else { (self.high - self.low) / 2.0 / self.value.abs() }
    }
}

/// Half of a 95% interval, as a share of its value, from which the value counts as not known.
const MOST_REACH: f64 = 0.5;

/// How well a rate is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Sureness {
    /// Half of its 95% interval is this share of it.
    Within {
        /// From 0 to a half; of few sessions that differ, it may be more.
        share: f64,
    },
    /// A single run gave it, so its error is unknown.
    SingleRun,
    /// Its runs differ so much that the figure means nothing.
    Unknown {
        /// Further seconds of measuring that would make it known within 5%; `None` if that cannot be estimated.
        more_seconds: Option<f64>,
    },
}

impl Sureness {
    /// How well the mean of `runs` runs is known.
    pub fn of(mean: &Interval, runs: usize, more_seconds: Option<f64>) -> Self {
        let share = mean.relative_reach();
        match runs {
            0 => Self::Unknown { more_seconds },
            1 => Self::SingleRun,
            _ if share > MOST_REACH || !share.is_finite() => Self::Unknown { more_seconds },
            _ => Self::Within { share },
        }
    }

    /// Whether the figure may be shown.
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown { .. })
    }
}

/// Fewest runs of each cell: fewer give too few different draws.
const FEWEST_RUNS: usize = 5;
/// Number of draws.
const DRAWS: usize = 2000;
/// Seed of the draws: the same records always give the same interval.
const SEED: u64 = 1998;

/// The 95% interval of `value(means)`, where `means` are the means of `cells`, given by their runs.
///
/// `None` if a cell has fewer than five runs, or if more than one draw in twenty gives no value.
pub(crate) fn resampled(cells: &[&[f64]], value: impl Fn(&[f64]) -> Option<f64>) -> Option<(f64, f64)> {
    let fewest = cells.iter().map(|runs| runs.len()).min().filter(|fewest| *fewest >= FEWEST_RUNS)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut means = vec![0.0; cells.len()];
    let mut values = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        for (mean, runs) in means.iter_mut().zip(cells) {
            let drawn = runs.len() - 1;
            *mean = (0..drawn).map(|_| runs[random.random_range(0..runs.len())]).sum::<f64>() / drawn as f64;
        }
        values.extend(value(&means).filter(|value| value.is_finite()));
    }
    if values.len() < DRAWS - DRAWS / 20 {
        return None;
    }
    values.sort_by(f64::total_cmp);
    // The value depends on some cells more than on others: use half of all degrees of freedom, but at least those of
    // one cell.
    let freedom = (fewest - 1).max((fewest - 1) * cells.len() / 2);
    let tail = Normal::standard().cdf(-t95(freedom));
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    Some((at(tail), at(1.0 - tail)))
}

#[cfg(test)]
pub(crate) mod tests {
    use rand::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn the_quantiles_are_those_of_the_tables() {
        for (freedom, quantile) in [(1, 12.7062), (2, 4.3027), (4, 2.7764), (10, 2.2281), (100, 1.9840)] {
            assert!((t95(freedom) - quantile).abs() < 1e-4, "{freedom}: {}", t95(freedom));
        }
    }

    #[test]
    fn few_runs_have_the_width_that_they_can_bear() {
        assert_eq!(Interval::of_means(&[]), Interval::exact(0.0));
        assert_eq!(Interval::of_means(&[7.0]), Interval::exact(7.0));
        let three = Interval::of_means(&[9.0, 10.0, 11.0]);
        assert!((three.value - 10.0).abs() < 1e-12 && (three.high - 10.0 - 4.302_65 / 3f64.sqrt()).abs() < 1e-4);
    }

    /// 4,000 trials of three runs with 3% between runs: the binomial margin at 95% is ±0.7%.
    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let trials = 4000;
        let mut covered = 0;
        for _ in 0..trials {
            let means: Vec<f64> = (0..3).map(|_| 1000.0 * (1.0 + 0.03 * normal(&mut random))).collect();
            let interval = Interval::of_means(&means);
            covered += usize::from(interval.low <= 1000.0 && 1000.0 <= interval.high);
        }
        let share = covered as f64 / trials as f64;
        assert!((0.94..=0.96).contains(&share), "{share}");
    }

    /// The sum of twelve uniform draws is nearly normal (Irwin-Hall).
    pub(crate) fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
        (0..12).map(|_| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0
    }

    #[test]
    fn runs_that_differ_by_more_than_half_make_no_figure() {
        let of = |runs: &[f64]| Sureness::of(&Interval::of_means(runs), runs.len(), Some(480.0));
        assert!(matches!(of(&[990.0, 1000.0, 1010.0]), Sureness::Within { share } if share < 0.03));
        assert_eq!(of(&[1000.0]), Sureness::SingleRun);
        assert_eq!(of(&[100.0, 4000.0]), Sureness::Unknown { more_seconds: Some(480.0) });
        assert_eq!(of(&[]), Sureness::Unknown { more_seconds: Some(480.0) });
    }
}
