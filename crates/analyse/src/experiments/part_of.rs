//! How many times the one is the other? The run means of two cells enter, their ratio with its interval leaves.
//!
//! Welch's t test on logarithms (B. L. Welch, The generalization of Student's problem when several different population
//! variances are involved, 1947): runs vary by a share of their rate.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::ExperimentCell;
use crate::Interval;

/// Throughput of `one` over that of `other` with its 95% interval; `None` where either has fewer than two runs, so that
/// nothing is known of how they vary.
pub(super) fn ratio(one: &ExperimentCell, other: &ExperimentCell) -> Option<Interval> {
    of_runs(&one.finding.run_mbps, &other.finding.run_mbps)
}

/// Whether the interval is on one side of 1: the two differ by more than chance.
pub(super) fn differs(ratio: &Interval) -> bool {
    ratio.low > 1.0 || ratio.high < 1.0
}

fn of_runs(one: &[f64], other: &[f64]) -> Option<Interval> {
    let (one_mean, one_square, one_freedom) = of_logs(one)?;
    let (other_mean, other_square, other_freedom) = of_logs(other)?;
    let square = one_square + other_square;
    let log = one_mean - other_mean;
    if square <= 0.0 {
        return Some(Interval::exact(log.exp()));
    }
    let freedom = square.powi(2) / (one_square.powi(2) / one_freedom + other_square.powi(2) / other_freedom);
    let quantile = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975);
    let reach = quantile * square.sqrt();
    Some(Interval { value: log.exp(), low: (log - reach).exp(), high: (log + reach).exp() })
}

/// Mean of the logarithms, its squared standard error, and the degrees of freedom of that.
fn of_logs(runs: &[f64]) -> Option<(f64, f64, f64)> {
    if runs.len() < 2 || runs.iter().any(|run| *run <= 0.0) {
        return None;
    }
    let (count, logs) = (runs.len() as f64, runs.iter().map(|run| run.ln()));
    let mean = logs.clone().sum::<f64>() / count;
    let squares: f64 = logs.map(|log| (log - mean).powi(2)).sum();
    Some((mean, squares / (count - 1.0) / count, count - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::tests::normal;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// The binomial margin of 4,000 trials is 0.7%; Welch's interval of three runs each errs to the safe side.
    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut covered = 0;
        for _ in 0..4000 {
            let mut runs = |mean: f64, share: f64| -> Vec<f64> {
                (0..3).map(|_| mean * (share * normal(&mut random)).exp()).collect()
            };
            let ratio = of_runs(&runs(300.0, 0.05), &runs(100.0, 0.02)).unwrap();
            covered += usize::from(ratio.low <= 3.0 && 3.0 <= ratio.high);
        }
        assert!((0.94..=0.985).contains(&(f64::from(covered as u32) / 4000.0)), "{covered}");
    }

    #[test]
    fn one_run_tells_no_difference() {
        assert_eq!(of_runs(&[1.0], &[2.0, 2.1]), None);
        let same = of_runs(&[100.0, 100.0], &[100.0, 100.0]).unwrap();
        assert!(!differs(&same));
        assert!(differs(&of_runs(&[100.0, 101.0, 99.0], &[50.0, 51.0, 49.0]).unwrap()));
    }
}
