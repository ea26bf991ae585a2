//! Tells by how much the intervals of cells grow whose path wanders within a study.
//!
//! Runs that follow each other at once share what the path was just doing: a neighbour, a host, a drive that is busy
//! inside. Their scatter tells nothing of another minute. So runs are grouped by the occasion when they were made, and all
//! cells of a path show together whether occasions differ by more than runs of one occasion do: analysis of variance with
//! one random effect, for unequal groups (S. R. Searle, G. Casella, C. E. McCulloch, Variance Components, 1992, 3.6), over
//! logarithms of rates. If they do, each occasion counts as one look at the path, however many runs it has.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::t95;

/// Time without a run of a cell after which its next run is another occasion, in nanoseconds.
pub const OCCASION_NS: u64 = 5_000_000_000;
/// Probability that occasions which do not differ pass as such.
const SURE: f64 = 0.99;

/// One reported run of a cell: when it was made, and its rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimedRun {
    pub started_unix_ms: u64,
    pub elapsed_ns: u64,
    pub mbps: f64,
}

/// Logarithms of the rates of a cell's runs, by occasion.
pub(crate) struct Occasions(Vec<Vec<f64>>);

impl Occasions {
    /// The runs of a cell that moved bytes, by occasion.
    pub fn of(runs: &[TimedRun]) -> Self {
        let mut runs: Vec<&TimedRun> = runs.iter().filter(|run| run.mbps > 0.0).collect();
        runs.sort_by_key(|run| run.started_unix_ms);
        let mut occasions: Vec<Vec<f64>> = Vec::new();
        let mut ended_ms = None;
        for run in runs {
            let is_another = ended_ms.is_none_or(|ended_ms| run.started_unix_ms >= ended_ms + OCCASION_NS / 1_000_000);
            match occasions.last_mut().filter(|_| !is_another) {
                Some(occasion) => occasion.push(run.mbps.ln()),
                None => occasions.push(vec![run.mbps.ln()]),
            }
            ended_ms = Some(run.started_unix_ms + run.elapsed_ns / 1_000_000);
        }
        Self(occasions)
    }

    fn runs(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    fn mean(&self) -> f64 {
        self.0.iter().flatten().sum::<f64>() / self.runs().max(1) as f64
    }

    /// Sum of the squares of each occasion's number of runs.
    fn squared_counts(&self) -> f64 {
        self.0.iter().map(|runs| (runs.len() as f64).powi(2)).sum()
    }

    /// Sum of squares of runs around the mean of their occasion, and of these means around the mean of all.
    fn squares(&self) -> [f64; 2] {
        let all = self.mean();
        let of_occasion = |runs: &Vec<f64>| {
            let count = runs.len() as f64;
            let mean = runs.iter().sum::<f64>() / count;
            [runs.iter().map(|run| (run - mean).powi(2)).sum::<f64>(), count * (mean - all).powi(2)]
        };
        self.0.iter().map(of_occasion).fold([0.0; 2], |sum, next| [sum[0] + next[0], sum[1] + next[1]])
    }

    /// Degrees of freedom within occasions, and between them.
    fn freedom(&self) -> [usize; 2] {
        [self.runs() - self.0.len(), self.0.len().saturating_sub(1)]
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

/// How far a path wanders.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weather {
    /// Standard deviation from occasion to occasion, as a share of the rate.
    deviation: f64,
    /// Degrees of freedom behind it.
    freedom: usize,
}

impl Weather {
    /// The weather of a path by its cells; `None` if its occasions differ no more than chance explains.
    pub fn of(cells: &[Occasions]) -> Option<Self> {
        let total = |of: &dyn Fn(&Occasions) -> f64| -> f64 { cells.iter().map(of).sum() };
        let [within, between] = [0, 1].map(|at| total(&|cell| cell.squares()[at]));
        let [freedom_within, freedom] = [0, 1].map(|at| cells.iter().map(|cell| cell.freedom()[at]).sum::<usize>());
        let chance = FisherSnedecor::new(freedom as f64, freedom_within as f64).ok()?;
        let [within, between] = [within / freedom_within as f64, between / freedom as f64];
        // The mean number of runs of an occasion, as it enters the scatter between occasions.
        let counted = |cell: &Occasions| cell.runs() as f64 - cell.squared_counts() / cell.runs().max(1) as f64;
        let runs = total(&counted) / freedom as f64;
        let differ = between > within * chance.inverse_cdf(SURE);
        differ.then(|| Self { deviation: ((between - within) / runs).sqrt(), freedom })
    }

    /// By how much half of a cell's interval grows, as a share of the rate.
    pub fn further_reach(self, occasions: &Occasions) -> f64 {
        let share = occasions.squared_counts().sqrt() / occasions.runs().max(1) as f64;
        let between = t95(self.freedom) * self.deviation * share;
        (between.hypot(occasions.reach_within()) - occasions.reach_of_runs()).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::interval::tests::normal;

    /// Cells of a path with runs of 3% scatter, on occasions that have a weather of this deviation in common.
    fn path(seed: u64, deviation: f64, occasions: &[usize]) -> Vec<Occasions> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let of_occasions: Vec<f64> = occasions.iter().map(|_| deviation * normal(&mut random)).collect();
        let mut cell = || {
            let runs = occasions.iter().zip(&of_occasions).enumerate().flat_map(|(at, (count, here))| {
                let start = 1_700_000_000_000 + 20_000 * at as u64;
                (0..*count as u64).map(move |run| (start + 300 * run, *here)).collect::<Vec<_>>()
            });
            let timed = |(started_unix_ms, here): (u64, f64)| {
                let mbps = 100.0 * (here + 0.03 * normal(&mut random)).exp();
                TimedRun { started_unix_ms, elapsed_ns: 200_000_000, mbps }
            };
            Occasions::of(&runs.map(timed).collect::<Vec<_>>())
        };
        (0..3).map(|_| cell()).collect()
    }

    /// Shares of cells whose interval holds the truth: by their runs, and with the weather.
    fn coverage(deviation: f64, occasions: &[usize]) -> [f64; 2] {
        let mut held = [0usize; 2];
        for seed in 0..400 {
            let cells = path(seed, deviation, occasions);
            let weather = Weather::of(&cells);
            let off = (cells[0].mean() - 100f64.ln()).abs();
            let reach = cells[0].reach_of_runs();
            let further = weather.map_or(0.0, |weather| weather.further_reach(&cells[0]));
            held[0] += usize::from(off <= reach);
            held[1] += usize::from(off <= reach + further);
        }
        held.map(|held| held as f64 / 400.0)
    }

    #[test]
    fn runs_of_one_time_are_one_look() {
        let occasions = Occasions::of(&path_runs(&[0, 300, 600, 30_000, 30_300, 90_000]));
        assert_eq!(occasions.0.iter().map(Vec::len).collect::<Vec<_>>(), [3, 2, 1]);
        // However long a run is, the next one that follows at once belongs to it.
        let long = |started_unix_ms| TimedRun { started_unix_ms, elapsed_ns: 30_000_000_000, mbps: 1.0 };
        assert_eq!(Occasions::of(&[long(0), long(30_100)]).0.len(), 1);
    }

    fn path_runs(starts: &[u64]) -> Vec<TimedRun> {
        starts.iter().map(|start| TimedRun { started_unix_ms: *start, elapsed_ns: 200_000_000, mbps: 1.0 }).collect()
    }

    #[test]
    fn a_path_that_wanders_is_as_uncertain_as_its_occasions() {
        let [by_runs, with_weather] = coverage(0.15, &[3, 4, 2, 8]);
        assert!(by_runs < 0.75, "{by_runs}");
        assert!(with_weather > 0.9, "{with_weather}");
    }

    #[test]
    fn a_quiet_path_keeps_its_intervals() {
        let widened = (0..400).filter(|seed| Weather::of(&path(*seed, 0.0, &[3, 4, 2, 8])).is_some()).count();
        assert!(widened <= 12, "{widened} of 400");
        assert!(Weather::of(&path(1, 0.0, &[5])).is_none(), "one occasion tells nothing of another");
        assert!(Weather::of(&[]).is_none());
    }
}
