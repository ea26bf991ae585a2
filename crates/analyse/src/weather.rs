//! Tells by how much the intervals of cells grow whose path wanders within a study.
//!
//! Runs that follow each other at once share what the path was just doing: a neighbour, a host, a drive that is busy
//! inside. Their scatter tells nothing of another minute. So runs are grouped by the occasion when they were made, and all
//! cells of a path show together whether occasions differ by more than runs of one occasion do: analysis of variance with
//! one random effect, for unequal groups (S. R. Searle, G. Casella, C. E. McCulloch, Variance Components, 1992, 3.6), over
//! logarithms of the figure. If they do, each occasion counts as one look at the path, however many runs it has.

use halfpower_record::Record;
use halfpower_spec::InOrder;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::t95;

/// Time without a run of a cell after which its next run is another occasion, in nanoseconds.
pub const OCCASION_NS: u64 = 5_000_000_000;
const OCCASION_MS: u64 = OCCASION_NS / 1_000_000;
/// Probability that occasions which do not differ pass as such where intervals are widened.
pub(crate) const SURE: f64 = 0.99;

/// When a run was made.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TimedRun {
    pub started_unix_ms: u64,
    pub elapsed_ns: u64,
}

impl TimedRun {
    pub fn of(record: &Record) -> Self {
        Self { started_unix_ms: record.started_unix_ms, elapsed_ns: record.elapsed_ns }
    }

    fn ended_unix_ms(&self) -> u64 {
        self.started_unix_ms.saturating_add(self.elapsed_ns / 1_000_000)
    }
}

/// Runs of a cell that followed each other at once.
#[derive(Debug, Clone, PartialEq)]
struct Occasion {
    began_unix_ms: u64,
    ended_unix_ms: u64,
    /// Logarithms of their figure.
    logs: Vec<f64>,
}

/// Logarithms of one figure of a cell's runs, such as their rate or a percentile of their latency, by occasion.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Occasions(Vec<Occasion>);

impl Occasions {
    /// The runs with their figure, by occasion. A figure of 0 has a logarithm that is not finite.
    pub fn of(runs: impl IntoIterator<Item = (TimedRun, f64)>) -> Self {
        let mut runs: Vec<(TimedRun, f64)> = runs.into_iter().collect();
        runs.order_by_key(|(run, _)| run.started_unix_ms);
        let mut occasions: Vec<Occasion> = Vec::new();
        for (run, figure) in runs {
            let follows = |last: &&mut Occasion| run.started_unix_ms < last.ended_unix_ms.saturating_add(OCCASION_MS);
            match occasions.last_mut().filter(follows) {
                Some(occasion) => {
                    occasion.logs.push(figure.ln());
                    occasion.ended_unix_ms = run.ended_unix_ms();
                }
                None => occasions.push(Occasion {
                    began_unix_ms: run.started_unix_ms,
                    ended_unix_ms: run.ended_unix_ms(),
                    logs: vec![figure.ln()],
                }),
            }
        }
        Self(occasions)
    }

    /// The logarithms of all runs.
    pub fn logs(&self) -> impl Iterator<Item = f64> {
        self.0.iter().flat_map(|occasion| &occasion.logs).copied()
    }

    pub fn runs(&self) -> usize {
        self.0.iter().map(|occasion| occasion.logs.len()).sum()
    }

    /// The mean of the logarithms; not a number without a run.
    pub fn mean(&self) -> f64 {
        self.logs().sum::<f64>() / self.runs() as f64
    }

    /// Sum of the squares of each occasion's number of runs.
    fn squared_counts(&self) -> f64 {
        self.0.iter().map(|occasion| (occasion.logs.len() as f64).powi(2)).sum()
    }

    /// Sum of squares of runs around the mean of their occasion, and of these means around the mean of all.
    pub fn squares(&self) -> [f64; 2] {
        let all = self.mean();
        let of_occasion = |Occasion { logs, .. }: &Occasion| {
            let count = logs.len() as f64;
            let mean = logs.iter().sum::<f64>() / count;
            [logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>(), count * (mean - all).powi(2)]
        };
        self.0.iter().map(of_occasion).fold([0.0; 2], |sum, next| [sum[0] + next[0], sum[1] + next[1]])
    }

    /// Degrees of freedom within occasions, and between them.
    pub fn freedom(&self) -> [usize; 2] {
        [self.runs() - self.0.len(), self.0.len().saturating_sub(1)]
    }

    /// Share of the variance from occasion to occasion that is in the mean of all runs: one through the number of
    /// occasions, if all have as many runs.
    pub fn share_between(&self) -> f64 {
        self.squared_counts() / (self.runs().max(1) as f64).powi(2)
    }

    /// Half of the relative interval of the mean if all runs tell equally much; 0 for fewer than two.
    fn reach_of_runs(&self) -> f64 {
        let [within, between] = self.squares();
        reach(within + between, self.runs().saturating_sub(1), self.runs())
    }

    /// Likewise, of the scatter within occasions alone.
    fn reach_within(&self) -> f64 {
        reach(self.squares()[0], self.freedom()[0], self.runs())
    }
}

fn reach(squares: f64, freedom: usize, runs: usize) -> f64 {
    if freedom == 0 { 0.0 } else { t95(freedom) * (squares / freedom as f64 / runs as f64).sqrt() }
}

/// How far a path wanders in one figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weather {
    /// Standard deviation from occasion to occasion, as a share of the figure.
    deviation: f64,
    /// Degrees of freedom behind it.
    freedom: usize,
}

impl Weather {
    /// The weather of a path by its cells in each of some studies; `None` if occasions differ no more than chance explains
    /// so often (`sure`).
    pub fn of(studies: &[Vec<&Occasions>], sure: f64) -> Option<Self> {
        let cells = || studies.iter().flatten().copied().filter(|cell| cell.runs() > 0);
        let total = |of: &dyn Fn(&Occasions) -> f64| -> f64 { cells().map(of).sum() };
        let [within, between] = [0, 1].map(|at| total(&|cell| cell.squares()[at]));
        let [freedom_within, freedom] = [0, 1].map(|at| cells().map(|cell| cell.freedom()[at]).sum::<usize>());
        let chance = FisherSnedecor::new(freedom as f64, freedom_within as f64).ok()?;
        let [within, between] = [within / freedom_within as f64, between / freedom as f64];
        // The mean number of runs of an occasion, as it enters the scatter between occasions.
        let counted = |cell: &Occasions| cell.runs() as f64 - cell.squared_counts() / cell.runs() as f64;
        let runs = total(&counted) / freedom as f64;
        let differ = between > within * chance.inverse_cdf(sure);
        // What cells of one time say of the weather is the same.
        let times: usize = studies.iter().map(|cells| disjoint(cells).saturating_sub(1)).sum();
        differ.then(|| Self { deviation: ((between - within) / runs).sqrt(), freedom: freedom.min(times).max(1) })
    }

    /// By how much half of a cell's interval grows, as a share of the figure.
    pub fn further_reach(self, occasions: &Occasions) -> f64 {
        let between = t95(self.freedom) * self.deviation * occasions.share_between().sqrt();
        (between.hypot(occasions.reach_within()) - occasions.reach_of_runs()).max(0.0)
    }

    /// Variance from occasion to occasion of the figure's logarithm, and its degrees of freedom.
    pub fn variance(self) -> (f64, f64) {
        (self.deviation.powi(2), self.freedom as f64)
    }
}

/// The greatest number of occasions of any of these cells that lie apart from each other.
fn disjoint(cells: &[&Occasions]) -> usize {
    let mut occasions: Vec<&Occasion> = cells.iter().flat_map(|cell| &cell.0).collect();
    occasions.order_by_key(|occasion| occasion.ended_unix_ms);
    let mut count = 0;
    let mut free_from_ms = 0;
    for occasion in occasions {
        if count == 0 || occasion.began_unix_ms >= free_from_ms {
            count += 1;
            free_from_ms = occasion.ended_unix_ms.saturating_add(OCCASION_MS);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::interval::tests::normal;

    /// Cells of a path with runs of this scatter, on occasions that have a weather of this deviation in common.
    fn path(seed: u64, scatter: f64, deviation: f64, occasions: &[usize]) -> Vec<Occasions> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let of_occasions: Vec<f64> = occasions.iter().map(|_| deviation * normal(&mut random)).collect();
        let mut cell = || {
            let runs = occasions.iter().zip(&of_occasions).enumerate().flat_map(|(at, (count, here))| {
                let start = 1_700_000_000_000 + 20_000 * at as u64;
                (0..*count as u64).map(move |run| (start + 300 * run, *here)).collect::<Vec<_>>()
            });
            let timed = |(started_unix_ms, here): (u64, f64)| {
                let figure = 100.0 * (here + scatter * normal(&mut random)).exp();
                (TimedRun { started_unix_ms, elapsed_ns: 200_000_000 }, figure)
            };
            Occasions::of(runs.map(timed).collect::<Vec<_>>())
        };
        (0..3).map(|_| cell()).collect()
    }

    fn weather(cells: &[Occasions]) -> Option<Weather> {
        Weather::of(&[cells.iter().collect()], SURE)
    }

    /// Shares of cells whose interval holds the truth: by their runs, and with the weather.
    fn coverage(deviation: f64, occasions: &[usize]) -> [f64; 2] {
        let mut held = [0usize; 2];
        for seed in 0..1000 {
            let cells = path(seed, 0.03, deviation, occasions);
            let off = (cells[0].mean() - 100f64.ln()).abs();
            let reach = cells[0].reach_of_runs();
            let further = weather(&cells).map_or(0.0, |weather| weather.further_reach(&cells[0]));
            held[0] += usize::from(off <= reach);
            held[1] += usize::from(off <= reach + further);
        }
        held.map(|held| held as f64 / 1000.0)
    }

    #[test]
    fn runs_of_one_time_are_one_look() {
        let short = |started_unix_ms| (TimedRun { started_unix_ms, elapsed_ns: 200_000_000 }, 1.0);
        let occasions = Occasions::of([0, 300, 600, 30_000, 30_300, 90_000].map(short));
        assert_eq!(occasions.0.iter().map(|occasion| occasion.logs.len()).collect::<Vec<_>>(), [3, 2, 1]);
        // However long a run is, the next one that follows at once belongs to it.
        let long = |started_unix_ms| (TimedRun { started_unix_ms, elapsed_ns: 30_000_000_000 }, 1.0);
        assert_eq!(Occasions::of([long(0), long(30_100)]).0.len(), 1);
    }

    #[test]
    fn cells_of_one_time_tell_of_one_weather() {
        let at = |starts: &[u64]| {
            Occasions::of(
                starts.iter().map(|start| (TimedRun { started_unix_ms: *start, elapsed_ns: 1_000_000_000 }, 1.0)),
            )
        };
        let [one, beside, later] = [at(&[0, 60_000]), at(&[2_000, 61_000]), at(&[30_000, 90_000])];
        assert_eq!(disjoint(&[&one, &beside]), 2);
        assert_eq!(disjoint(&[&one, &beside, &later]), 4);
    }

    #[test]
    fn a_path_that_wanders_is_as_uncertain_as_its_occasions() {
        for occasions in [&[3, 4, 2, 8][..], &[3, 3, 3], &[2; 8]] {
            let [by_runs, with_weather] = coverage(0.15, occasions);
            assert!(by_runs < 0.85, "{by_runs}");
            assert!(with_weather > 0.935, "{with_weather}");
        }
    }

    #[test]
    fn a_quiet_path_keeps_its_intervals() {
        let widened = (0..400).filter(|seed| weather(&path(*seed, 0.03, 0.0, &[3, 4, 2, 8])).is_some()).count();
        assert!(widened <= 12, "{widened} of 400");
        assert!(weather(&path(1, 0.03, 0.0, &[5])).is_none(), "one occasion tells nothing of another");
        assert!(weather(&[]).is_none());
    }
}
