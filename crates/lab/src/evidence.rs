//! Decides from observations whether a figure is within its bound.
//!
//! The t interval of the mean of its observations decides a number. It is checked after each try from the third on, and
//! each check gets a part of the total error of 5% (Bonferroni's inequality). Wald's sequential probability ratio test
//! (1945) decides a sentence: right in 90% of all tries against right in 40%, with 10% error either way.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::{Figure, Truth};

/// Most tries, disturbed ones included.
pub const MOST_TRIES: usize = 8;
/// Fewest tries for a number.
const LEAST_TRIES: usize = 3;
/// Probability of a wrong verdict on a number, over all checks.
const ERROR: f64 = 0.05;
/// How often a sentence is right if it holds, and if it does not.
const RIGHT: f64 = 0.9;
const WRONG: f64 = 0.4;
/// Likelihood ratio above which a sentence holds, and below the inverse of which it does not.
const SURE: f64 = 9.0;

/// The verdict on a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Held,
    Missed,
    NotDecided,
}

impl Verdict {
    /// Its word in the results.
    pub fn word(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Missed => "missed",
            Self::NotDecided => "not decided",
        }
    }
}

/// A figure and its observations.
pub(crate) struct Evidence {
    pub figure: Figure,
    pub seen: Vec<f64>,
    /// Tries before the verdict that told nothing of the figure, and those that others disturbed.
    pub unseen: usize,
    pub disturbed: usize,
    verdict: Verdict,
}

impl Evidence {
    pub fn new(figure: Figure) -> Self {
        Self { figure, seen: Vec::new(), unseen: 0, disturbed: 0, verdict: Verdict::NotDecided }
    }

    /// Adds one observation, unless it is NaN. A verdict is final, and later observations are ignored.
    pub fn add(&mut self, found: f64) {
        match self.verdict {
            Verdict::NotDecided if found.is_nan() => self.unseen += 1,
            Verdict::NotDecided => {
                self.seen.push(found);
                self.verdict = self.look();
            }
            Verdict::Held | Verdict::Missed => {}
        }
    }

    /// Counts a try that others disturbed, if the figure was not decided before it.
    pub fn disturb(&mut self) {
        self.disturbed += usize::from(self.verdict == Verdict::NotDecided);
    }

    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Mean of the observations, and half the width of its interval; `None` with too few observations.
    pub fn mean(&self) -> Option<(f64, f64)> {
        if self.seen.len() < LEAST_TRIES {
            return None;
        }
        let count = self.seen.len() as f64;
        let mean = self.seen.iter().sum::<f64>() / count;
        let variance = self.seen.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let of_a_look = ERROR / (MOST_TRIES - LEAST_TRIES + 1) as f64;
        let students = StudentsT::new(0.0, 1.0, count - 1.0).expect("at least one degree of freedom");
        Some((mean, students.inverse_cdf(1.0 - of_a_look / 2.0) * (variance / count).sqrt()))
    }

    fn look(&self) -> Verdict {
        match &self.figure.truth {
            Truth::Number { truth, bound, .. } => {
                let Some((mean, half)) = self.mean() else { return Verdict::NotDecided };
                let (low, high) = ((mean - half) / truth, (mean + half) / truth);
                if bound.contains(&low) && bound.contains(&high) {
                    Verdict::Held
                } else if high < *bound.start() || low > *bound.end() {
                    Verdict::Missed
                } else {
                    Verdict::NotDecided
                }
            }
            Truth::Saying => {
                let of = |found: &f64| if *found > 0.5 { RIGHT / WRONG } else { (1.0 - RIGHT) / (1.0 - WRONG) };
                let ratio: f64 = self.seen.iter().map(of).product();
                match ratio {
                    ratio if ratio >= SURE => Verdict::Held,
                    ratio if ratio <= 1.0 / SURE => Verdict::Missed,
                    _ => Verdict::NotDecided,
                }
            }
        }
    }

    /// One observation, with its unit.
    pub fn shown(&self, found: f64) -> String {
        match &self.figure.truth {
            _ if found.is_nan() => format!("{} not seen", self.figure.name),
            Truth::Number { unit, .. } => format!("{} {found:.4} {unit}", self.figure.name),
            Truth::Saying if found > 0.5 => format!("{} right", self.figure.name),
            Truth::Saying => format!("{} WRONG", self.figure.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Distribution, Normal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// How many of 400 figures are held, missed and not decided, if a try finds `mean` of the truth with an error of
    /// `noise`.
    fn verdicts(mean: f64, noise: f64) -> [usize; 3] {
        let normal = Normal::new(mean * 100.0, noise * 100.0).unwrap();
        counted(|dice| {
            let mut evidence = Evidence::new(Figure::near("rate", 100.0, "MB/s", 0.03));
            while evidence.verdict() == Verdict::NotDecided && evidence.seen.len() < MOST_TRIES {
                evidence.add(normal.sample(dice));
            }
            evidence.verdict()
        })
    }

    /// The same for a sentence that is right in a share `right` of the tries.
    fn sayings(right: f64) -> [usize; 3] {
        counted(|dice| {
            let mut evidence = Evidence::new(Figure::saying("its name"));
            while evidence.verdict() == Verdict::NotDecided && evidence.seen.len() < MOST_TRIES {
                evidence.add(f64::from(u8::from(dice.random_bool(right))));
            }
            evidence.verdict()
        })
    }

    fn counted(mut trial: impl FnMut(&mut Xoshiro256PlusPlus) -> Verdict) -> [usize; 3] {
        let mut dice = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut counts = [0; 3];
        for _ in 0..400 {
            counts[trial(&mut dice) as usize] += 1;
        }
        counts
    }

    #[test]
    fn what_is_right_is_held_and_what_is_wrong_is_missed() {
        assert_eq!(verdicts(1.0, 0.003), [400, 0, 0]);
        assert_eq!(verdicts(0.9, 0.003), [0, 400, 0]);
        assert_eq!(verdicts(1.1, 0.003), [0, 400, 0]);
        assert!(sayings(1.0)[0] == 400 && sayings(0.0)[1] == 400);
    }

    /// At the edge of the bound, either verdict is an error.
    #[test]
    fn wrong_verdicts_are_as_rare_as_promised() {
        let [held, missed, _] = verdicts(0.97, 0.01);
        assert!(held <= 20 && missed <= 20, "{held} held and {missed} missed of 400");
        let [_, missed, _] = sayings(RIGHT);
        let [held, ..] = sayings(WRONG);
        assert!(missed <= 60 && held <= 60, "{missed} missed, {held} held of 400");
    }

    #[test]
    fn noise_leaves_it_undecided_and_two_tries_decide_no_number() {
        assert!(verdicts(1.0, 0.2)[2] > 300);
        let mut evidence = Evidence::new(Figure::near("rate", 100.0, "MB/s", 0.03));
        evidence.add(100.0);
        evidence.add(100.0);
        assert_eq!(evidence.verdict(), Verdict::NotDecided);
        evidence.add(100.0);
        assert_eq!(evidence.verdict(), Verdict::Held);
    }

    /// No share is above 1 or below 0, but its interval is.
    #[test]
    fn a_share_near_its_end_is_held_and_one_that_is_far_off_is_not() {
        let after = |figure: Figure, seen: [f64; 3]| {
            let mut evidence = Evidence::new(figure);
            seen.iter().for_each(|found| evidence.add(*found));
            evidence.verdict()
        };
        assert_eq!(after(Figure::share("intervals that hold", 0.95), [1.0, 0.99, 1.0]), Verdict::Held);
        assert_eq!(after(Figure::share("intervals that hold", 0.95), [0.8, 0.81, 0.8]), Verdict::Missed);
        assert_eq!(after(Figure::rare("alarms", 0.05), [0.0, 0.01, 0.0]), Verdict::Held);
        assert_eq!(after(Figure::rare("alarms", 0.05), [0.2, 0.21, 0.2]), Verdict::Missed);
    }

    #[test]
    fn a_try_without_an_observation_is_no_evidence() {
        let mut evidence = Evidence::new(Figure::saying("its name"));
        [1.0, f64::NAN, 1.0].into_iter().for_each(|found| evidence.add(found));
        evidence.disturb();
        assert_eq!((evidence.seen.len(), evidence.verdict()), (2, Verdict::NotDecided));
        [1.0, 0.0].into_iter().for_each(|found| evidence.add(found));
        assert_eq!((evidence.seen.len(), evidence.verdict()), (3, Verdict::Held), "it rests on what decided it");
        evidence.add(f64::NAN);
        evidence.disturb();
        assert_eq!((evidence.unseen, evidence.disturbed), (1, 1), "what comes after the verdict is no try of it");
    }

    #[test]
    fn three_of_three_decide_a_saying_and_a_wrong_one_takes_more() {
        let after = |seen: &[f64]| {
            let mut evidence = Evidence::new(Figure::saying("its name"));
            seen.iter().for_each(|found| evidence.add(*found));
            evidence.verdict()
        };
        assert_eq!(after(&[1.0, 1.0]), Verdict::NotDecided);
        assert_eq!(after(&[1.0, 1.0, 1.0]), Verdict::Held);
        assert_eq!(after(&[0.0, 1.0, 1.0, 1.0]), Verdict::NotDecided);
        assert_eq!(after(&[0.0, 0.0]), Verdict::Missed);
    }
}
