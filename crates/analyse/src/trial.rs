//! Decides from pairs of slices whether a new setting is faster than the old one.
//!
//! Each pair gives the logarithm of the rate under the new setting over the rate under the old one. Its mean has a t
//! interval. The pairs are looked at five times at most, and each look gets a fifth of the total error of 5%
//! (Bonferroni's inequality), so that looking early misleads no more often than looking once. The order of the two slices
//! alternates (A B, B A, ...), so that what changes steadily meanwhile favours neither.

use halfpower_record::{Ratio, TrialVerdict};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Numbers of pairs at which a trial is looked at; it ends with the last.
const LOOKS: [usize; 5] = [4, 6, 8, 12, 16];
/// Probability of a wrong verdict, over all looks.
const ERROR: f64 = 0.05;
/// Ratios up to this, and down to its inverse, make no difference to a user.
const NO_DIFFERENCE: f64 = 1.02;

/// The pairs of one trial.
#[derive(Debug, Clone, Default)]
pub struct TrialPairs {
    /// Logarithm of each pair's ratio.
    logarithms: Vec<f64>,
    /// The verdict; it is final.
    verdict: Option<TrialVerdict>,
}

impl TrialPairs {
    /// Most pairs that count.
    pub const MOST: usize = LOOKS[LOOKS.len() - 1];

    /// Number of pairs so far.
    pub fn len(&self) -> usize {
        self.logarithms.len()
    }

    /// Whether there is no pair yet.
    pub fn is_empty(&self) -> bool {
        self.logarithms.is_empty()
    }

    /// Whether the next pair begins with the new setting.
    pub fn begins_with_new(&self) -> bool {
        self.len() % 2 == 1
    }

    /// Adds the rates of a pair. One without two rates above 0 says nothing and is left out; returns whether it counts.
    pub fn add(&mut self, old: f64, new: f64) -> bool {
        let logarithm = (new / old).ln();
        let counts = logarithm.is_finite() && !self.is_over();
        if counts {
            self.logarithms.push(logarithm);
            if LOOKS.contains(&self.len()) {
                self.look();
            }
        }
        counts
    }

    /// Whether no further pair is needed.
    pub fn is_over(&self) -> bool {
        self.verdict.is_some() || self.len() >= Self::MOST
    }

    /// The verdict so far.
    pub fn verdict(&self) -> TrialVerdict {
        self.verdict.unwrap_or(TrialVerdict::NotDecided)
    }

    /// The mean ratio with its interval; `None` with fewer than two pairs, or if they differ beyond all measure.
    pub fn ratio(&self) -> Option<Ratio> {
        let count = self.len();
        if count < 2 {
            return None;
        }
        let mean = self.logarithms.iter().sum::<f64>() / count as f64;
        let squares: f64 = self.logarithms.iter().map(|one| (one - mean) * (one - mean)).sum();
        let error = (squares / (count - 1) as f64 / count as f64).sqrt();
        let of_a_look = ERROR / LOOKS.len() as f64;
        let students = StudentsT::new(0.0, 1.0, (count - 1) as f64).ok()?;
        let reach = students.inverse_cdf(1.0 - of_a_look / 2.0) * error;
        let ratio = Ratio { value: mean.exp(), low: (mean - reach).exp(), high: (mean + reach).exp() };
        Some(ratio).filter(|ratio| ratio.high.is_finite())
    }

    fn look(&mut self) {
        let Some(Ratio { low, high, .. }) = self.ratio() else { return };
        let same = 1.0 / NO_DIFFERENCE..=NO_DIFFERENCE;
        self.verdict = if low > *same.end() {
            Some(TrialVerdict::Faster)
        } else if high < *same.start() {
            Some(TrialVerdict::Slower)
        } else if same.contains(&low) && same.contains(&high) {
            Some(TrialVerdict::Same)
        } else {
            None
        };
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use statrs::distribution::Normal;

    use super::*;

    const TRIALS: usize = 400;

    /// Trials of a setting whose true ratio this is, with slices that differ by this share; each ends as it would.
    fn trials(ratio: f64, noise: f64) -> Vec<TrialPairs> {
        let mut dice = Xoshiro256PlusPlus::seed_from_u64(31);
        let normal = Normal::new(0.0, noise).unwrap();
        let mut factor = || normal.inverse_cdf(dice.random_range(1e-9..1.0 - 1e-9)).exp();
        let mut trial = || {
            let mut pairs = TrialPairs::default();
            while !pairs.is_over() {
                assert!(pairs.add(100.0 * factor(), 100.0 * ratio * factor()));
            }
            pairs
        };
        (0..TRIALS).map(|_| trial()).collect()
    }

    fn count(trials: &[TrialPairs], verdict: TrialVerdict) -> usize {
        trials.iter().filter(|trial| trial.verdict() == verdict).count()
    }

    #[test]
    fn a_clear_difference_is_decided_at_the_first_looks() {
        let faster = trials(1.16, 0.01);
        assert_eq!(count(&faster, TrialVerdict::Faster), TRIALS);
        assert!(faster.iter().map(TrialPairs::len).sum::<usize>() <= 5 * TRIALS);
        assert_eq!(count(&trials(0.9, 0.01), TrialVerdict::Slower), TRIALS);
        assert_eq!(count(&trials(1.0, 0.003), TrialVerdict::Same), TRIALS);
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_promised() {
        for (ratio, noise) in [(1.0, 0.03), (1.1, 0.05), (0.97, 0.02), (1.5, 0.2)] {
            let within = |trial: &&TrialPairs| {
                let seen = trial.ratio().expect("several pairs");
                seen.low <= ratio && ratio <= seen.high
            };
            let held = trials(ratio, noise).iter().filter(within).count();
            // 95%, less the binomial margin of 400 trials.
            assert!(held >= TRIALS * 93 / 100, "{held} of {TRIALS} at {ratio} and {noise}");
        }
    }

    /// At the edge of what makes no difference, either verdict is an error.
    #[test]
    fn wrong_verdicts_are_rare() {
        let at_the_edge = trials(NO_DIFFERENCE, 0.01);
        let wrong = count(&at_the_edge, TrialVerdict::Slower) + count(&at_the_edge, TrialVerdict::Faster);
        assert!(wrong <= TRIALS / 20, "{wrong}");
        assert!(count(&at_the_edge, TrialVerdict::Same) <= TRIALS / 20);
    }

    #[test]
    fn noise_leaves_it_undecided_and_ends_at_the_last_look() {
        let noisy = trials(1.02, 0.3);
        assert!(count(&noisy, TrialVerdict::NotDecided) > TRIALS * 9 / 10);
        assert!(noisy.iter().all(|trial| trial.len() <= TrialPairs::MOST));
    }

    #[test]
    fn the_order_alternates_and_a_pair_without_rates_does_not_count() {
        let mut pairs = TrialPairs::default();
        assert!(pairs.is_empty() && !pairs.begins_with_new());
        assert!(!pairs.add(0.0, 1.0) && !pairs.add(1.0, f64::NAN) && pairs.is_empty());
        assert!(pairs.add(1.0, 2.0) && pairs.begins_with_new() && pairs.ratio().is_none());
        assert!(pairs.add(1.0, 2.0) && !pairs.begins_with_new());
        assert!(pairs.ratio().is_some_and(|ratio| (ratio.value - 2.0).abs() < 1e-9));
        assert_eq!(pairs.verdict(), TrialVerdict::NotDecided);
    }
}
