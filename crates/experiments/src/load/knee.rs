//! Finds the highest rate at which a percentile of latency stays below a bound, and the rate to try next.
//!
//! A rate's excess is the logarithm of its percentile over the bound, the mean over its runs. A run that cannot keep up
//! with its rate counts as twice the bound at least, and so does one that is too short to tell: at a rate above what the
//! target takes in a closed loop, the queue grows without end, but slowly where the rate is near. The knee is where the
//! excess crosses 0, between two rates that were tried: a line between their excesses over the logarithm of the rate.
//!
//! The ends of its interval are rates whose repeated runs are surely below the bound, or surely above it: Student's
//! interval of the excess leaves out 0, with the deviation of all rates near the bound together. The steps between rates
//! that are tried for that grow, so the interval may be wider than the noise requires, but not narrower.

use std::collections::BTreeMap;

use halfpower_analyse::{Interval, mean, run_mbps, t95};
use halfpower_record::Record;
use halfpower_spec::{JsonSchema, LatencyBound, Percentile};
use serde::Serialize;

/// The first rate, as a share of what the target gives at full depth.
const START: f64 = 0.7;
/// Factors to the next rate while all were below the bound, or all above it.
const UP: f64 = 1.25;
const DOWN: f64 = 0.25;
/// Rates above this multiple of what the target gives at full depth are not tried.
const TOP: f64 = 2.0;
/// Ratio of two neighbouring rates around the knee, and the first step from there to rates that decide.
const STEP: f64 = 1.05;
/// Most such steps on either side; each is the square of the one before.
const STEPS: usize = 5;
/// Excess from which a run's distance from the bound tells nothing of its noise: a factor of two.
const FAR: f64 = std::f64::consts::LN_2;
/// Requests that may be overdue at the end of a run that keeps up, whatever its depth.
const LEAST_BEHIND: u64 = 64;
/// A rate that the target does not take shows it where its last requests wait for so many times the bound.
const TELLS: f64 = 2.0;
/// Share of what the target takes from which it is measured again: there it decides where the knee is.
const NEAR: f64 = 0.9;
/// Runs of what it takes, then: where a limiter hands out slices, a short window is wrong by up to one of them.
const CLOSED_RUNS: usize = 2;
/// Most runs of one search.
const MOST_RUNS: usize = 60;

/// What a run of an open loop showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadSeen {
    /// The percentile of latency; of reads, if the run mixed reads and writes.
    pub latency_ns: u64,
    /// Whether it kept up with its rate: no more requests were overdue at its end than it keeps in flight.
    pub keeps_up: bool,
    /// Length of its window.
    pub window_ns: u64,
}

impl LoadSeen {
    /// What `record` shows of a percentile.
    pub fn of(record: &Record, percentile: Percentile) -> Self {
        let workload = &record.run.workload;
        let of_reads = record.by_direction.as_ref().filter(|_| workload.rw.direction().is_none());
        let latency = of_reads.map_or(&record.latency, |both| &both.read_latency);
        Self {
            latency_ns: latency.quantile_ns(percentile.share()),
            keeps_up: record.overdue_ios <= u64::from(workload.total_depth()).max(LEAST_BEHIND),
            window_ns: record.elapsed_ns,
        }
    }
}

/// Where the percentile of a rate lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateVerdict {
    /// Surely below the bound.
    Below,
    /// Surely above it, or the target does not keep up.
    Above,
    /// Its runs do not tell.
    Undecided,
}

/// The highest rate below the bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundKnee {
    /// Requests a second. The ends are the nearest rates that are surely below the bound, and surely above it.
    pub iops: Interval,
    /// Whether there are such rates on both sides; otherwise the ends are the nearest rates that were tried.
    pub decided: bool,
}

/// What a run of a search asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadRate {
    /// All that the target gives at full depth.
    Closed,
    /// So many requests a second, whether or not earlier ones are done.
    Open(u64),
}

/// What limits a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchTerms {
    /// The lowest rate of which a run holds enough requests.
    pub least_iops: u64,
    /// Runs of each rate that decides.
    pub repeats: usize,
}

/// The rates that were tried for one kind of request, with their runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Knee {
    bound: LatencyBound,
    tried: BTreeMap<u64, Vec<LoadSeen>>,
    /// Runs in a closed loop at full depth: requests a second, and the length of the window.
    closed: Vec<(f64, u64)>,
}

impl Knee {
    /// Nothing tried yet.
    pub fn new(bound: LatencyBound) -> Self {
        Self { bound, tried: BTreeMap::new(), closed: Vec::new() }
    }

    /// Adds a run at this rate.
    pub fn add(&mut self, iops: u64, seen: LoadSeen) {
        self.tried.entry(iops).or_default().push(seen);
    }

    /// Adds a run in a closed loop at full depth. Where a limiter hands out slices, whole slices count.
    pub fn add_closed(&mut self, record: &Record) {
        let iops = run_mbps(record) * 1e6 / record.run.workload.bs.0.max(1) as f64;
        self.closed.push((iops, record.elapsed_ns));
    }

    /// Number of runs in a closed loop.
    pub fn closed_runs(&self) -> usize {
        self.closed.len()
    }

    /// Requests a second that the target takes in a closed loop, the mean over the time of all runs; `None` before one.
    pub fn takes_iops(&self) -> Option<f64> {
        let lasted_ns: f64 = self.closed.iter().map(|(_, ns)| *ns as f64).sum();
        let ios: f64 = self.closed.iter().map(|(iops, ns)| iops * *ns as f64).sum();
        (lasted_ns > 0.0).then_some(ios / lasted_ns)
    }

    /// Number of runs at this rate.
    pub fn runs(&self, iops: u64) -> usize {
        self.tried.get(&iops).map_or(0, Vec::len)
    }

    /// The rates that were tried, rising.
    pub fn rates(&self) -> impl Iterator<Item = u64> + '_ {
        self.tried.keys().copied()
    }

    fn excess(&self, iops: u64, seen: &LoadSeen) -> f64 {
        let excess = (seen.latency_ns.max(1) as f64 / self.bound_ns()).ln();
        if seen.keeps_up && self.tells(iops, seen) { excess } else { excess.max(FAR) }
    }

    fn bound_ns(&self) -> f64 {
        self.bound.most.0.max(1) as f64
    }

    /// Whether a run at this rate was long enough to show that the target does not take it: behind a target that takes
    /// `takes_iops`, requests wait for (`iops` / `takes_iops` - 1) of its window by its end.
    fn tells(&self, iops: u64, seen: &LoadSeen) -> bool {
        let Some(takes_iops) = self.takes_iops() else { return true };
        let behind_ns = (iops as f64 / takes_iops.max(1.0) - 1.0) * seen.window_ns as f64;
        behind_ns <= 0.0 || behind_ns >= TELLS * self.bound_ns()
    }

    fn excesses(&self, iops: u64) -> Vec<f64> {
        self.tried.get(&iops).into_iter().flatten().map(|seen| self.excess(iops, seen)).collect()
    }

    /// The mean excess of a rate that was tried; 0 for another.
    fn level(&self, iops: u64) -> f64 {
        let excesses = self.excesses(iops);
        if excesses.is_empty() { 0.0 } else { mean(&excesses) }
    }

    /// Half of the 95% interval of a mean of so many runs, from the deviation within the rates near the bound; `None`
    /// before any of them was repeated.
    fn reach(&self, runs: usize) -> Option<f64> {
        let mut squares = 0.0;
        let mut freedom = 0;
        for iops in self.rates() {
            let excesses = self.excesses(iops);
            if excesses.len() > 1 && excesses.iter().all(|excess| excess.abs() < FAR) {
                let of_rate = mean(&excesses);
                squares += excesses.iter().map(|excess| (excess - of_rate).powi(2)).sum::<f64>();
                freedom += excesses.len() - 1;
            }
        }
        (freedom > 0).then(|| t95(freedom) * (squares / freedom as f64 / runs.max(1) as f64).sqrt())
    }

    /// Where the percentile of a rate lies; a single run does not tell.
    pub fn verdict(&self, iops: u64) -> RateVerdict {
        let excesses = self.excesses(iops);
        if excesses.len() < 2 {
            return RateVerdict::Undecided;
        }
        if excesses.iter().all(|excess| *excess >= FAR) {
            return RateVerdict::Above;
        }
        if excesses.iter().all(|excess| *excess <= -FAR) {
            return RateVerdict::Below;
        }
        let level = mean(&excesses);
        match self.reach(excesses.len()) {
            Some(reach) if level + reach < 0.0 => RateVerdict::Below,
            Some(reach) if level - reach > 0.0 => RateVerdict::Above,
            _ => RateVerdict::Undecided,
        }
    }

    /// The highest rate below the bound under the lowest one above it, and that one.
    fn bracket(&self) -> (Option<u64>, Option<u64>) {
        let high = self.rates().find(|iops| self.level(*iops) >= 0.0);
        let low = match high {
            Some(high) => self.tried.range(..high).next_back().map(|(iops, _)| *iops),
            None => self.rates().last(),
        };
        (low, high)
    }

    /// The knee; `None` before a rate below the bound and one above it were tried.
    pub fn found(&self) -> Option<FoundKnee> {
        let (Some(low), Some(high)) = self.bracket() else { return None };
        let below = -self.level(low);
        let above = self.level(high);
        let share = below / (below + above);
        let iops = low as f64 * (high as f64 / low as f64).powf(share);
        let is_below = |iops: &u64| self.verdict(*iops) == RateVerdict::Below;
        let is_above = |iops: &u64| self.verdict(*iops) == RateVerdict::Above;
        let sure_low = self.tried.range(..=low).rev().map(|(iops, _)| *iops).find(is_below);
        let sure_high = self.tried.range(high..).map(|(iops, _)| *iops).find(is_above);
        let interval =
            Interval { value: iops, low: sure_low.unwrap_or(low) as f64, high: sure_high.unwrap_or(high) as f64 };
        Some(FoundKnee { iops: interval, decided: sure_low.is_some() && sure_high.is_some() })
    }

    /// Half of the knee's rate.
    pub fn half(&self) -> Option<u64> {
        self.found().map(|knee| ((knee.iops.value / 2.0).round() as u64).max(1))
    }

    /// Whether the knee is so near to what the target takes that this is to be measured again.
    fn wants_closed(&self) -> bool {
        let Some(takes_iops) = self.takes_iops() else { return true };
        let is_near = self.found().is_some_and(|knee| knee.iops.value >= NEAR * takes_iops);
        is_near && self.closed_runs() < CLOSED_RUNS
    }

    /// The run that should be next; `None` if the knee is known, or if there is none.
    pub fn wanted(&self, terms: &SearchTerms) -> Option<LoadRate> {
        if self.wants_closed() { Some(LoadRate::Closed) } else { self.wanted_rate(terms).map(LoadRate::Open) }
    }

    fn wanted_rate(&self, terms: &SearchTerms) -> Option<u64> {
        let takes_iops = self.takes_iops()?;
        if self.tried.values().map(Vec::len).sum::<usize>() >= MOST_RUNS {
            return None;
        }
        let least = terms.least_iops.max(1);
        let (low, high) = match self.bracket() {
            (None, None) => return Some(((START * takes_iops) as u64).max(least)),
            (Some(low), None) => {
                let is_top = low as f64 >= TOP * takes_iops;
                return if is_top { self.unrepeated(low, terms) } else { Some((low as f64 * UP).ceil() as u64) };
            }
            (None, Some(high)) => {
                let is_least = high <= least;
                return if is_least {
                    self.unrepeated(high, terms)
                } else {
                    Some(((high as f64 * DOWN) as u64).max(least))
                };
            }
            (Some(low), Some(high)) => (low, high),
        };
        let middle = (low as f64 * high as f64).sqrt().round() as u64;
        if high as f64 > STEP * low as f64 && low < middle && middle < high {
            return Some(middle);
        }
        let ends = [self.undecided(low, RateVerdict::Below, terms), self.undecided(high, RateVerdict::Above, terms)];
        ends.into_iter().flatten().min_by_key(|iops| self.runs(*iops))
    }

    /// The rate, if it has not all its runs yet.
    fn unrepeated(&self, iops: u64, terms: &SearchTerms) -> Option<u64> {
        (self.runs(iops) < terms.repeats).then_some(iops)
    }

    /// The rate on one side of the knee, from `from` on, that needs a run before that side has its end; `None` if it has
    /// one, or if none was found within some steps.
    fn undecided(&self, from: u64, side: RateVerdict, terms: &SearchTerms) -> Option<u64> {
        let mut iops = from;
        let mut step = STEP;
        for _ in 0..STEPS {
            if self.runs(iops) < terms.repeats.max(2) {
                return Some(iops);
            }
            if self.verdict(iops) == side {
                return None;
            }
            let next = match side {
                RateVerdict::Below => ((iops as f64 / step).floor() as u64).max(terms.least_iops.max(1)),
                RateVerdict::Above | RateVerdict::Undecided => (iops as f64 * step).ceil() as u64,
            };
            let next = self.tried_near(next, iops);
            if next == iops {
                return None;
            }
            iops = next;
            step *= step;
        }
        None
    }

    /// A rate that was tried within 2% of this one and on its side of `from`; the rate itself if there is none.
    fn tried_near(&self, iops: u64, from: u64) -> u64 {
        let near = self.tried.range((iops as f64 / 1.02) as u64..=(iops as f64 * 1.02) as u64);
        let mut on_its_side =
            near.map(|(near, _)| *near).filter(|near| (*near < from) == (iops < from) && *near != from);
        on_its_side.next().unwrap_or(iops)
    }
}

#[cfg(test)]
mod tests {
    use halfpower_spec::Nanos;

    use super::*;

    const BOUND: LatencyBound = LatencyBound { percentile: Percentile::P99, most: Nanos(1_000_000) };
    const TERMS: SearchTerms = SearchTerms { least_iops: 20, repeats: 3 };
    const WINDOW_NS: u64 = 1_000_000_000;

    /// Searches a target that takes 10,000 a second, of which runs show the percentile and whether they keep up, by rate
    /// and run.
    fn searched_by(of: impl Fn(u64, usize) -> (f64, bool)) -> Knee {
        let mut knee = Knee::new(BOUND);
        while let Some(rate) = knee.wanted(&TERMS) {
            match rate {
                LoadRate::Closed => knee.closed.push((10_000.0, WINDOW_NS)),
                LoadRate::Open(iops) => {
                    let (latency_ns, keeps_up) = of(iops, knee.tried.values().map(Vec::len).sum());
                    knee.add(iops, LoadSeen { latency_ns: latency_ns as u64, keeps_up, window_ns: WINDOW_NS });
                }
            }
        }
        knee
    }

    /// The same, of runs that keep up below 10,000 a second.
    fn searched(of: impl Fn(u64, usize) -> f64) -> Knee {
        searched_by(|iops, run| (of(iops, run), iops < 10_000))
    }

    /// A percentile of `idle` that grows as the rate nears 10,000, with noise of so much from run to run.
    fn growing(idle: f64, noise: f64) -> impl Fn(u64, usize) -> f64 {
        move |iops, run| {
            let free = (1.0 - iops as f64 / 10_000.0).max(1e-3);
            idle / free * (1.0 + noise * [0.7, -1.0, 0.3, -0.2, 1.0, -0.8][run % 6])
        }
    }

    #[test]
    fn the_knee_is_found_with_an_interval_that_holds_it() {
        for noise in [0.0, 0.05, 0.2] {
            // 200 us / (1 - x) is 1 ms at 8,000 a second.
            let knee = searched(growing(200_000.0, noise));
            let found = knee.found().unwrap();
            let Interval { value, low, high } = found.iops;
            assert!(found.decided && low <= 8_000.0 && 8_000.0 <= high, "{noise}: {found:?}");
            assert!((value / 8_000.0 - 1.0).abs() < 0.06 && high / low < 1.6, "{noise}: {found:?}");
            assert_eq!((knee.verdict(low as u64), knee.verdict(high as u64)), (RateVerdict::Below, RateVerdict::Above));
        }
        let exact = searched(growing(200_000.0, 0.0)).found().unwrap().iops;
        assert!(exact.high / exact.low < 1.06, "{exact:?}");
    }

    #[test]
    fn without_a_knee_the_search_ends_at_the_least_rate_or_beyond_what_the_target_gives() {
        let never = searched(growing(1_200_000.0, 0.0));
        assert_eq!((never.found(), never.rates().next(), never.runs(20)), (None, Some(20), 3));
        assert_eq!(never.verdict(20), RateVerdict::Above);
        let always = searched_by(|_, _| (400_000.0, true));
        assert!(always.found().is_none() && always.rates().last() >= Some(20_000));
    }

    #[test]
    fn a_run_that_cannot_keep_up_counts_as_above() {
        let knee = searched(|_, _| 400_000.0);
        let found = knee.found().unwrap();
        assert!(found.decided && found.iops.low <= 10_000.0 && 10_000.0 <= found.iops.high, "{found:?}");
    }

    /// At 10,010 a second its last requests wait for 1 ms after a second, which no percentile shows: the bound is 1 ms. At
    /// 10,100 they wait for 10 ms. What stays below it there shows that the target takes more than it did before.
    #[test]
    fn a_rate_above_what_the_target_takes_is_above_unless_its_run_is_long_enough_to_tell() {
        let seen = LoadSeen { latency_ns: 400_000, keeps_up: true, window_ns: WINDOW_NS };
        let mut knee = Knee::new(BOUND);
        (0..2).for_each(|_| knee.add(10_010, seen));
        assert_eq!(knee.verdict(10_010), RateVerdict::Below, "nothing is known of what it takes");
        knee.closed.push((10_000.0, WINDOW_NS));
        (0..2).for_each(|_| knee.add(10_100, seen));
        assert_eq!([10_010, 10_100].map(|iops| knee.verdict(iops)), [RateVerdict::Above, RateVerdict::Below]);
    }

    /// A knee next to all that the target takes hangs on how well that is known.
    #[test]
    fn what_the_target_takes_is_measured_again_where_it_decides() {
        let at_the_end = searched(|_, _| 400_000.0);
        assert_eq!(at_the_end.closed_runs(), CLOSED_RUNS);
        assert_eq!(searched(growing(500_000.0, 0.0)).closed_runs(), 1, "its knee is at 5,000");
    }

    #[test]
    fn the_same_runs_in_another_order_of_rates_give_the_same_knee() {
        let knee = searched(growing(200_000.0, 0.05));
        let mut other = Knee::new(BOUND);
        for iops in knee.rates().collect::<Vec<_>>().into_iter().rev() {
            knee.tried[&iops].iter().for_each(|seen| other.add(iops, *seen));
        }
        assert_eq!((other.found(), other.half()), (knee.found(), knee.half()));
    }
}
