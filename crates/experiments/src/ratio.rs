//! Estimates how many times as fast some cells are as others, and whether the runs support the difference.
//!
//! The estimate is the ratio of the cells' geometric means. Its 95% interval comes from the scatter of the logarithms
//! of run means. A change of speed that a round has in all cells does not count as scatter (`rounds.rs`). The remaining
//! scatter is pooled over all cells of the experiment, as in a comparison of two studies.

use halfpower_analyse::{Estimate, ExperimentCell, Interval, Prior, mean};
use halfpower_spec::JsonSchema;
use serde::Serialize;

use crate::rounds::{Rounds, Run};

/// Largest factor between two figures that count as equal.
pub(crate) const ALIKE: f64 = 1.1;

/// Factor between the ends of an interval from which its figure is not decided.
const UNDECIDED: f64 = 4.0;

/// Whether an interval is so wide that its figure tells nothing: another study may find a fourth of it.
pub(crate) fn is_undecided(interval: &Interval) -> bool {
    interval.high > interval.low && interval.high >= UNDECIDED * interval.low
}

/// How runs scatter, estimated from all cells of one experiment.
pub(crate) struct Scale {
    rounds: Rounds,
    prior: Option<Prior>,
}

/// One rate over another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    estimate: Estimate,
    /// Whether any cell was measured more than once, so that chance and effect can be told apart.
    known: bool,
}

/// Ratio of one figure to another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RatioFinding {
    /// The ratio with its 95% interval; the interval has zero width if nothing was measured twice.
    #[serde(flatten)]
    pub interval: Interval,
    /// What the ratio shows.
    pub verdict: RatioVerdict,
}

/// What a ratio shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RatioVerdict {
    /// The whole interval is within 10% of one: no value in it makes a practical difference.
    Alike,
    /// The whole interval is above one.
    More,
    /// The whole interval is below one.
    Less,
    /// The interval contains one and extends more than 10% from it.
    Unclear,
    /// Nothing was measured twice, so chance and effect cannot be told apart.
    SingleRuns,
}

impl Scale {
    /// Estimates the scatter that these cells have in common.
    pub fn of<'a>(cells: impl Iterator<Item = &'a ExperimentCell<'a>>) -> Self {
        Self::of_runs(&cells.map(ExperimentCell::log_rates_by_round).collect::<Vec<_>>())
    }

    fn of_runs(cells: &[Vec<Run>]) -> Self {
        let rounds = Rounds::of(cells);
        let spread = |runs: &Vec<Run>| {
            let (variance, freedom) = spread(&rounds.without(runs));
            (variance * rounds.cost, freedom)
        };
        let prior = Prior::of(&cells.iter().map(spread).collect::<Vec<_>>());
        Self { rounds, prior }
    }

    /// As [`Self::of`], for any figure that each run has once: one slice per cell, without rounds.
    pub fn of_means<'a>(cells: impl Iterator<Item = &'a [f64]>) -> Self {
        let alone = |means: &[f64]| logs(means).into_iter().map(|log| (0, log)).collect();
        Self::of_runs(&cells.map(alone).collect::<Vec<_>>())
    }

    /// Ratio of one cell's figure to another's, from the figures of their runs.
    pub fn times_means(&self, over: &[f64], under: &[f64]) -> Option<RatioFinding> {
        self.ratio(self.of_logs(&logs(over)), self.of_logs(&logs(under))).map(|ratio| ratio.finding())
    }

    /// How many times as fast `over` is as `under`; `None` if either is empty.
    pub fn times(&self, over: &[&ExperimentCell], under: &[&ExperimentCell]) -> Option<RatioFinding> {
        self.ratio_of(over, under).map(|ratio| ratio.finding())
    }

    /// As [`Self::times`], in a form that can be compared with other ratios.
    pub fn ratio_of(&self, over: &[&ExperimentCell], under: &[&ExperimentCell]) -> Option<Ratio> {
        let [over, under] =
            [over, under].map(|cells| cells.iter().map(|cell| cell.log_rates_by_round()).collect::<Vec<_>>());
        self.ratio(self.level(&over), self.level(&under))
    }

    /// A cell's rate in MB/s: the geometric mean of its runs, after removing what each round has in common.
    pub fn mbps(&self, cell: &ExperimentCell) -> f64 {
        mean(&self.rounds.without(&cell.log_rates_by_round())).exp()
    }

    /// Standard deviation of a run as a share of its rate, pooled over all cells; `None` if no cell was repeated.
    pub fn deviation(&self) -> Option<f64> {
        self.prior.map(|prior| prior.pooled().0.sqrt())
    }

    fn ratio(&self, over: Option<Estimate>, under: Option<Estimate>) -> Option<Ratio> {
        let known = self.prior.is_some();
        Some(Ratio { estimate: over?, known }.over(&Ratio { estimate: under?, known }))
    }

    /// The mean logarithm of these cells' rates.
    fn level(&self, cells: &[Vec<Run>]) -> Option<Estimate> {
        let levels: Vec<Estimate> = cells.iter().filter_map(|runs| self.of_logs(&self.rounds.without(runs))).collect();
        (!levels.is_empty()).then(|| Estimate::mean(&levels, &[]))
    }

    fn of_logs(&self, logs: &[f64]) -> Option<Estimate> {
        let count = logs.len() as f64;
        let (variance, freedom) = spread(logs);
        let (variance, freedom) = match &self.prior {
            None => (0.0, f64::INFINITY),
            // A single run has no scatter, so it takes the pooled one.
            Some(prior) if freedom == 0 => prior.pooled(),
            Some(prior) => prior.moderated(variance * self.rounds.cost, freedom),
        };
        let error = (variance / count).sqrt();
        (count > 0.0).then(|| Estimate { log_ratio: logs.iter().sum::<f64>() / count, error, freedom })
    }
}

impl Ratio {
    /// This ratio divided by another one that rests on other runs.
    pub fn over(&self, other: &Self) -> Self {
        let inverse = Estimate { log_ratio: -other.estimate.log_ratio, ..other.estimate };
        let mean = Estimate::mean(&[self.estimate, inverse], &[]);
        let estimate = Estimate { log_ratio: 2.0 * mean.log_ratio, error: 2.0 * mean.error, ..mean };
        Self { estimate, known: self.known && other.known }
    }

    /// The ratio in the form that the findings use.
    pub fn finding(&self) -> RatioFinding {
        let Estimate { log_ratio, .. } = self.estimate;
        let reach = if self.known { self.estimate.reach() } else { 0.0 };
        let interval =
            Interval { value: log_ratio.exp(), low: (log_ratio - reach).exp(), high: (log_ratio + reach).exp() };
        RatioFinding::of(interval, self.known)
    }
}

fn logs(means: &[f64]) -> Vec<f64> {
    means.iter().filter(|mean| **mean > 0.0).map(|mean| mean.ln()).collect()
}

/// The variance, and its degrees of freedom.
fn spread(values: &[f64]) -> (f64, usize) {
    let freedom = values.len().saturating_sub(1);
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / freedom.max(1) as f64, freedom)
}

impl RatioFinding {
    /// Makes a finding from an interval, which is meaningful only if runs were repeated.
    pub(crate) fn of(interval: Interval, repeated: bool) -> Self {
        let verdict = match interval {
            _ if !repeated => RatioVerdict::SingleRuns,
            Interval { low, high, .. } if low >= 1.0 / ALIKE && high <= ALIKE => RatioVerdict::Alike,
            Interval { low, .. } if low > 1.0 => RatioVerdict::More,
            Interval { high, .. } if high < 1.0 => RatioVerdict::Less,
            _ => RatioVerdict::Unclear,
        };
        Self { interval, verdict }
    }

    /// Whether runs were repeated, so that the interval is meaningful.
    pub fn is_known(&self) -> bool {
        self.verdict != RatioVerdict::SingleRuns
    }

    /// Whether the ratio is above one beyond chance, however little.
    pub fn is_more(&self) -> bool {
        self.is_known() && self.interval.low > 1.0
    }

    /// Whether the ratio is below one beyond chance, however little.
    pub fn is_less(&self) -> bool {
        self.is_known() && self.interval.high < 1.0
    }

    /// Whether the interval is meaningful, and so wide that the ratio tells nothing.
    pub fn is_undecided(&self) -> bool {
        self.is_known() && is_undecided(&self.interval)
    }

    /// Whether the whole interval is so close to one that the difference does not matter.
    pub fn is_alike(&self) -> bool {
        self.verdict == RatioVerdict::Alike
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::built::normal;
    use crate::words::times;

    /// Log rates of twelve cells in rounds of these levels; with `some_miss`, a quarter of the cells lack the last
    /// round.
    fn runs(levels: [f64; 3], some_miss: bool, random: &mut Xoshiro256PlusPlus) -> Vec<Vec<Run>> {
        let mut cell = |reached: usize| -> Vec<Run> {
            (0..).zip(&levels[..reached]).map(|(round, level)| (round, level + 0.05 * normal(random))).collect()
        };
        (0..12).map(|number| cell(if some_miss && number % 4 == 0 { 2 } else { 3 })).collect()
    }

    /// Ratio of the first cell's level to the mean level of the next four.
    fn ratio(cells: &[Vec<Run>]) -> Ratio {
        let scale = Scale::of_runs(cells);
        scale.ratio(scale.level(&cells[..1]), scale.level(&cells[1..cells.len().min(5)])).unwrap()
    }

    /// 2,000 ratios of equal cells: the binomial margin at 95% is ±1%, and the pooled scatter is itself estimated from
    /// only twelve cells.
    #[test]
    fn a_ratio_covers_the_truth_as_often_as_it_says() {
        for (levels, some_miss, least) in [
            ([0.0; 3], false, 0.93),
            ([0.0; 3], true, 0.92),
            ([0.0, -0.7, 0.4], false, 0.93),
            ([0.0, -0.7, 0.4], true, 0.92),
        ] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
            let ratios: Vec<Ratio> = (0..2000).map(|_| ratio(&runs(levels, some_miss, &mut random))).collect();
            let covers = |ratio: &&Ratio| !ratio.finding().is_more() && !ratio.finding().is_less();
            let share = ratios.iter().filter(covers).count() as f64 / 2000.0;
            println!("rounds {levels:?}, some missing {some_miss}: {share}");
            assert!((least..=0.97).contains(&share), "{levels:?}: {share}");
            // Rounds at half or one and a half times the speed must not widen the interval.
            let reach = ratios.iter().map(|ratio| ratio.estimate.reach()).sum::<f64>() / 2000.0;
            assert!(reach < 0.1, "{levels:?}: {reach}");
        }
    }

    #[test]
    fn what_was_measured_once_carries_no_difference() {
        let cells = [vec![(0, 2f64.ln())], vec![(0, 0.0)]];
        let ratio = ratio(&cells).finding();
        assert!((ratio.interval.value - 2.0).abs() < 1e-9 && !ratio.is_more() && !ratio.is_alike());
        assert_eq!(ratio.verdict, RatioVerdict::SingleRuns);
        assert_eq!(times(&ratio), "2.00 times (by one run each)");
    }
}
