//! Decides from pairs of slices whether B is faster than A: a new setting than the old one, or one target than another.
//!
//! Each pair gives the logarithm of B's rate over A's. Its mean has a t interval. The pairs are looked at a few times, and
//! each look gets an equal share of the total error of 5% (Bonferroni's inequality), so that looking early misleads no more
//! often than looking once. Cells that are judged together share that error, too. The order of the two slices alternates
//! (A B, B A, ...), so that what changes steadily meanwhile favours neither.

use halfpower_record::{Ratio, TrialVerdict};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::compare::Estimate;
use crate::mean::mean;

/// Numbers of pairs at which a trial of a setting is looked at; it ends with the last.
const TRIAL_LOOKS: &[usize] = &[4, 6, 8, 12, 16];
/// Numbers of pairs at which a cell of a duet is looked at; it ends with the last.
const DUET_LOOKS: &[usize] = &[4, 6, 8, 12, 16, 24, 32, 48, 64];
/// Probability of a wrong verdict, over all looks and all cells.
const ERROR: f64 = 0.05;
/// Ratios up to this, and down to its inverse, make no difference to a user.
const NO_DIFFERENCE: f64 = 1.02;

/// When pairs are looked at, and with how many cells they share the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looks {
    /// Numbers of pairs at which there is a look.
    at: &'static [usize],
    /// Whether there is one more look when time is over, at any number of pairs.
    ends_with_time: bool,
    /// Cells that are judged together.
    cells: usize,
}

impl Looks {
    /// Those of one trial of a setting.
    pub fn of_a_trial() -> Self {
        Self { at: TRIAL_LOOKS, ends_with_time: false, cells: 1 }
    }

    /// Those of each of so many cells of a duet.
    pub fn of_a_duet(cells: usize) -> Self {
        Self { at: DUET_LOOKS, ends_with_time: true, cells: cells.max(1) }
    }

    /// Most pairs that count.
    pub fn most_pairs(&self) -> usize {
        self.at.last().copied().unwrap_or(0)
    }

    /// Number of looks at one cell.
    fn count(&self) -> usize {
        self.at.len() + usize::from(self.ends_with_time)
    }

    /// The ratio with an interval that holds over all looks and all cells; `None` if the pairs differ beyond all measure.
    pub(crate) fn ratio(&self, estimate: Estimate) -> Option<Ratio> {
        let Estimate { log_ratio, error, freedom } = estimate;
        let reach = quantile(freedom, ERROR / (self.count() * self.cells) as f64)? * error;
        let ratio = Ratio { value: log_ratio.exp(), low: (log_ratio - reach).exp(), high: (log_ratio + reach).exp() };
        Some(ratio).filter(|ratio| ratio.high.is_finite())
    }

    /// The estimate with a larger error, so that its own 95% interval holds over all looks at this one cell.
    pub(crate) fn over_looks(&self, estimate: Estimate) -> Estimate {
        let of_all = quantile(estimate.freedom, ERROR / self.count() as f64);
        let of_one = quantile(estimate.freedom, ERROR);
        let wider = of_all.zip(of_one).map_or(f64::INFINITY, |(of_all, of_one)| of_all / of_one);
        // What never varies has no width, however often one looks.
        let error = if estimate.error == 0.0 { 0.0 } else { estimate.error * wider };
        Estimate { error, ..estimate }
    }
}

impl Default for Looks {
    fn default() -> Self {
        Self::of_a_trial()
    }
}

/// The quantile of Student's t that it exceeds in either direction with this probability.
fn quantile(freedom: f64, error: f64) -> Option<f64> {
    Some(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(1.0 - error / 2.0))
}

/// One figure in pairs of slices.
#[derive(Debug, Clone, Default)]
pub struct PairedFigure {
    /// Logarithms of A's figure and of B's in each pair.
    logs: Vec<[f64; 2]>,
}

impl PairedFigure {
    /// Number of pairs so far.
    pub fn len(&self) -> usize {
        self.logs.len()
    }

    /// Whether there is no pair yet.
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty()
    }

    /// Adds a pair. One without two figures above 0 says nothing and is left out; returns whether it counts.
    pub fn add(&mut self, a: f64, b: f64) -> bool {
        let logs = [a.ln(), b.ln()];
        let counts = logs.iter().all(|log| log.is_finite());
        if counts {
            self.logs.push(logs);
        }
        counts
    }

    /// The same in another unit.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        let log = factor.ln();
        Self { logs: self.logs.iter().map(|[a, b]| [a + log, b + log]).collect() }
    }

    /// Geometric means of A's figures and of B's; `None` without a pair.
    pub(crate) fn means(&self) -> Option<[f64; 2]> {
        let of = |side: usize| mean(&self.logs.iter().map(|logs| logs[side]).collect::<Vec<_>>()).exp();
        (!self.is_empty()).then(|| [of(0), of(1)])
    }

    /// ln(B / A) by pairs; `None` with fewer than two.
    pub(crate) fn estimate(&self) -> Option<Estimate> {
        estimate(&self.logs.iter().map(|[a, b]| b - a).collect::<Vec<_>>())
    }

    /// The logarithm of B's figure by slices; `None` with fewer than two.
    pub(crate) fn estimate_of_b(&self) -> Option<Estimate> {
        estimate(&self.logs.iter().map(|[_, b]| *b).collect::<Vec<_>>())
    }
}

/// The mean with its standard error; `None` for fewer than two values.
fn estimate(values: &[f64]) -> Option<Estimate> {
    let count = values.len();
    if count < 2 {
        return None;
    }
    let log_ratio = mean(values);
    let squares: f64 = values.iter().map(|one| (one - log_ratio) * (one - log_ratio)).sum();
    let freedom = (count - 1) as f64;
    Some(Estimate { log_ratio, error: (squares / freedom / count as f64).sqrt(), freedom })
}

/// The pairs of one trial, or of one cell of a duet.
#[derive(Debug, Clone, Default)]
pub struct TrialPairs {
    looks: Looks,
    /// The rates.
    rates: PairedFigure,
    /// The verdict; it is final.
    verdict: Option<TrialVerdict>,
}

impl TrialPairs {
    /// No pair yet; they will be looked at so.
    pub fn looked_at(looks: Looks) -> Self {
        Self { looks, ..Self::default() }
    }

    /// When they are looked at.
    pub fn looks(&self) -> Looks {
        self.looks
    }

    /// The rates of the pairs.
    pub fn rates(&self) -> &PairedFigure {
        &self.rates
    }

    /// Number of pairs so far.
    pub fn len(&self) -> usize {
        self.rates.len()
    }

    /// Whether there is no pair yet.
    pub fn is_empty(&self) -> bool {
        self.rates.is_empty()
    }

    /// Whether the next pair begins with B.
    pub fn begins_with_b(&self) -> bool {
        self.len() % 2 == 1
    }

    /// Adds the rates of a pair. One without two rates above 0 says nothing and is left out; returns whether it counts.
    pub fn add(&mut self, a: f64, b: f64) -> bool {
        let counts = !self.is_over() && self.rates.add(a, b);
        if counts && self.looks.at.contains(&self.len()) {
            self.look();
        }
        counts
    }

    /// Whether no further pair is needed.
    pub fn is_over(&self) -> bool {
        self.verdict.is_some() || self.len() >= self.looks.most_pairs()
    }

    /// Looks a last time, because there is no time for further pairs.
    pub fn end(&mut self) {
        if self.looks.ends_with_time && !self.is_over() && !self.looks.at.contains(&self.len()) {
            self.look();
        }
    }

    /// The verdict so far.
    pub fn verdict(&self) -> TrialVerdict {
        self.verdict.unwrap_or(TrialVerdict::NotDecided)
    }

    /// The mean ratio with its interval; `None` with fewer than two pairs, or if they differ beyond all measure.
    pub fn ratio(&self) -> Option<Ratio> {
        self.looks.ratio(self.rates.estimate()?)
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
        assert!(noisy.iter().all(|trial| trial.len() <= Looks::of_a_trial().most_pairs()));
    }

    #[test]
    fn the_order_alternates_and_a_pair_without_rates_does_not_count() {
        let mut pairs = TrialPairs::default();
        assert!(pairs.is_empty() && !pairs.begins_with_b());
        assert!(!pairs.add(0.0, 1.0) && !pairs.add(1.0, f64::NAN) && pairs.is_empty());
        assert!(pairs.add(1.0, 2.0) && pairs.begins_with_b() && pairs.ratio().is_none());
        assert!(pairs.add(1.0, 2.0) && !pairs.begins_with_b());
        assert!(pairs.ratio().is_some_and(|ratio| (ratio.value - 2.0).abs() < 1e-9));
        assert_eq!(pairs.verdict(), TrialVerdict::NotDecided);
    }

    /// Cells of a duet.
    const CELLS: usize = 5;

    /// Slices under weather that both targets share: what is measured next finds nearly the weather from before.
    struct Weather {
        dice: Xoshiro256PlusPlus,
        log: f64,
    }

    impl Weather {
        fn new() -> Self {
            Self { dice: Xoshiro256PlusPlus::seed_from_u64(32), log: 0.0 }
        }

        fn normal(&mut self) -> f64 {
            Normal::standard().inverse_cdf(self.dice.random_range(1e-9..1.0 - 1e-9))
        }

        /// The rate of the next slice of a target.
        fn slice(&mut self, truth: f64) -> f64 {
            self.log = 0.95 * self.log + 0.05 * self.normal();
            truth * (self.log + 0.02 * self.normal()).exp()
        }

        /// A duet in which B is so many times as fast as A; each cell ends as it would.
        fn duet(&mut self, ratio: f64) -> Vec<TrialPairs> {
            let mut cell = || {
                let mut pairs = TrialPairs::looked_at(Looks::of_a_duet(CELLS));
                while !pairs.is_over() {
                    let first = self.slice(if pairs.begins_with_b() { ratio } else { 1.0 });
                    let second = self.slice(if pairs.begins_with_b() { 1.0 } else { ratio });
                    let [a, b] = if pairs.begins_with_b() { [second, first] } else { [first, second] };
                    assert!(pairs.add(a, b));
                }
                pairs
            };
            (0..CELLS).map(|_| cell()).collect()
        }
    }

    /// 200 duets of five cells: the binomial margin of 5% is ±3%.
    #[test]
    fn equal_targets_are_told_apart_by_no_more_duets_than_said() {
        let mut weather = Weather::new();
        let mut alarms = 0;
        let mut missed = 0;
        for _ in 0..200 {
            let cells = weather.duet(1.0);
            let differs = |cell: &TrialPairs| matches!(cell.verdict(), TrialVerdict::Faster | TrialVerdict::Slower);
            let excludes = |cell: &TrialPairs| cell.ratio().is_none_or(|ratio| ratio.low > 1.0 || ratio.high < 1.0);
            alarms += usize::from(cells.iter().any(differs));
            missed += usize::from(cells.iter().any(excludes));
        }
        assert!(alarms <= 10 && missed <= 16, "{alarms} duets alarm, and intervals of {missed} miss the truth");
    }

    #[test]
    fn a_tenth_more_is_found_in_weather_that_varies_by_more() {
        let mut weather = Weather::new();
        for _ in 0..40 {
            let cells = weather.duet(1.1);
            let verdicts: Vec<TrialVerdict> = cells.iter().map(TrialPairs::verdict).collect();
            assert_eq!(verdicts, [TrialVerdict::Faster; CELLS]);
        }
    }

    #[test]
    fn a_duet_is_looked_at_once_more_when_time_is_over() {
        let mut pairs = TrialPairs::looked_at(Looks::of_a_duet(1));
        for _ in 0..3 {
            assert!(pairs.add(1.0, 1.2));
        }
        assert_eq!(pairs.verdict(), TrialVerdict::NotDecided);
        pairs.end();
        assert_eq!((pairs.verdict(), pairs.is_over()), (TrialVerdict::Faster, true));
        let mut of_a_trial = TrialPairs::default();
        assert!(of_a_trial.add(1.0, 1.2) && of_a_trial.add(1.0, 1.2));
        of_a_trial.end();
        assert_eq!(of_a_trial.verdict(), TrialVerdict::NotDecided);
    }

    #[test]
    fn the_error_that_holds_over_all_looks_is_larger() {
        let one = Estimate { log_ratio: 0.1, error: 0.01, freedom: 15.0 };
        let looks = Looks::of_a_duet(5);
        let of_all = looks.over_looks(one);
        assert!(of_all.error > one.error && of_all.error < 2.0 * one.error, "{}", of_all.error);
        assert_eq!(looks.over_looks(Estimate { error: 0.0, ..one }).error, 0.0);
        let ratio = looks.ratio(one).expect("a finite interval");
        assert!(ratio.low < (0.1 - of_all.reach()).exp(), "five cells need more than one");
    }
}
