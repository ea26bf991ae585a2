//! Estimates a mean and its 95% interval from the means of runs.

use std::sync::OnceLock;

use statrs::distribution::{ContinuousCDF, StudentsT};

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

    /// Half its width as a share of the value; 0 if the value is 0.
    pub fn relative_reach(&self) -> f64 {
        if self.value == 0.0 { 0.0 } else { (self.high - self.low) / 2.0 / self.value.abs() }
    }
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
}
