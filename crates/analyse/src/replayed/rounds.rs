//! Counts what a round of a replay, a draw of a prediction, or a capture itself gives, with intervals.

use std::collections::BTreeMap;

use halfpower_record::{Captured, CapturedOperation, OperationKind};
use halfpower_spec::InOrder;

use super::findings::ReplaySide;
use crate::Interval;

/// Fewest rounds whose spread is taken for the error. With fewer, the operations of a round are.
const FEWEST_ROUNDS: usize = 3;
/// Most consecutive parts of a round whose means tell how far their mean may be off, and the fewest.
const BATCHES: usize = 12;
const FEWEST_BATCHES: usize = 3;
/// Share of a capture's operations that a lane must have done for its round to be whole: some may have failed.
const WHOLE: f64 = 0.99;
/// Quantile of the normal distribution for a two-sided 95% interval.
const NORMAL: f64 = 1.96;

/// Operations that are counted together: what they do, and whether they pass the page cache by.
pub(super) type KindAndWay = (OperationKind, bool);

/// The operations of a capture, or of a part of one.
pub(super) struct Round<'a> {
    captured: &'a Captured,
    operations: Vec<&'a CapturedOperation>,
    /// The time in which each lane did its operations, in nanoseconds.
    lane_ns: Vec<f64>,
}

/// What one round gives for a group of operations.
struct Figures {
    operations: u64,
    per_second: f64,
    bytes_per_second: f64,
    depth: f64,
    /// Shortest first.
    latency_ns: Vec<u64>,
}

/// Whether each lane of a round did as many operations as it has in the capture.
pub(super) fn is_whole(before: &Captured, round: &Captured) -> bool {
    let counted = lane_counts(before);
    let done = lane_counts(round);
    let of = |lane: usize| done.get(lane).copied().unwrap_or(0) as f64;
    counted.iter().enumerate().all(|(lane, count)| of(lane) >= WHOLE * *count as f64)
}

fn lane_counts(captured: &Captured) -> Vec<usize> {
    let mut counts = vec![0; captured.lanes as usize];
    captured.operations.iter().for_each(|operation| counts[operation.lane as usize] += 1);
    counts
}

impl<'a> Round<'a> {
    /// All of a capture.
    pub(super) fn of(captured: &'a Captured) -> Self {
        let span_ns = (captured.span_ns() as f64).max(1.0);
        let lane_ns = vec![span_ns; captured.lanes as usize];
        Self { captured, operations: captured.operations.iter().collect(), lane_ns }
    }

    /// What the lanes of a capture had done when they were where those of `part` ended: as many operations of each. Their
    /// time is that until the next would have been due.
    pub(super) fn until(captured: &'a Captured, part: &Captured) -> Self {
        let done = lane_counts(part);
        let span_ns = captured.span_ns();
        let mut lane_ns = Vec::with_capacity(captured.lanes as usize);
        let mut kept = vec![false; captured.operations.len()];
        for (lane, script) in captured.scripts().iter().enumerate() {
            let count = done.get(lane).copied().unwrap_or(0);
            script.steps.iter().take(count).for_each(|step| kept[step.operation] = true);
            let ended_ns = script.steps.get(count).map_or(span_ns, |step| step.due_ns);
            lane_ns.push((ended_ns as f64).max(1.0));
        }
        let operations = captured.operations.iter().zip(kept).filter(|(_, kept)| *kept).map(|(one, _)| one).collect();
        Self { captured, operations, lane_ns }
    }

    fn group_of(&self, operation: &CapturedOperation) -> KindAndWay {
        let file = self.captured.files.get(operation.file as usize);
        (operation.kind, file.is_some_and(|file| file.direct))
    }

    /// The operations of a group, or all, in order of time.
    fn within(&self, group: Option<KindAndWay>) -> impl Iterator<Item = &'a CapturedOperation> {
        self.operations
            .iter()
            .copied()
            .filter(move |operation| group.is_none_or(|group| group == self.group_of(operation)))
    }

    /// Groups with this share of the operations or of their time, most time first.
    pub(super) fn groups(&self, least_share: f64) -> Vec<KindAndWay> {
        let mut sums: BTreeMap<KindAndWay, (f64, f64)> = BTreeMap::new();
        for operation in &self.operations {
            let (count, took_ns) = sums.entry(self.group_of(operation)).or_default();
            *count += 1.0;
            *took_ns += operation.took_ns as f64;
        }
        let all: f64 = sums.values().map(|(count, _)| count).sum();
        let all_ns: f64 = sums.values().map(|(_, took_ns)| took_ns).sum();
        let counts = |(count, took_ns): &(f64, f64)| *count >= least_share * all || *took_ns >= least_share * all_ns;
        let mut groups: Vec<(KindAndWay, f64)> =
            sums.iter().filter(|(_, sum)| counts(sum)).map(|(group, sum)| (*group, sum.1)).collect();
        groups.order_by(|a, b| b.1.total_cmp(&a.1));
        groups.into_iter().map(|(group, _)| group).collect()
    }

    /// Latencies of a group, or of all, in nanoseconds, shortest first.
    pub(super) fn rising_ns(&self, group: Option<KindAndWay>) -> Vec<u64> {
        let mut took_ns: Vec<u64> = self.within(group).map(|operation| operation.took_ns).collect();
        took_ns.sort_unstable();
        took_ns
    }

    /// Median of the sizes of a group; 0 if there is none.
    pub(super) fn median_bytes(&self, group: Option<KindAndWay>) -> u64 {
        let mut sizes: Vec<u64> = self.within(group).map(|operation| operation.bytes).collect();
        sizes.sort_unstable();
        sizes.get(sizes.len() / 2).copied().unwrap_or(0)
    }

    fn figures(&self, group: Option<KindAndWay>) -> Figures {
        let mut figures =
            Figures { operations: 0, per_second: 0.0, bytes_per_second: 0.0, depth: 0.0, latency_ns: Vec::new() };
        for operation in self.within(group) {
            let lane_ns = self.lane_ns[operation.lane as usize];
            figures.operations += 1;
            figures.per_second += 1e9 / lane_ns;
            figures.bytes_per_second += operation.bytes as f64 * 1e9 / lane_ns;
            figures.depth += operation.took_ns as f64 / lane_ns;
            figures.latency_ns.push(operation.took_ns);
        }
        figures.latency_ns.sort_unstable();
        figures
    }

    /// How far the time that a group's operations take together may be off, in nanoseconds: half of the 95% interval of
    /// batch means. 0 if there are too few to tell.
    fn reach_ns(&self, group: KindAndWay) -> f64 {
        let took_ns: Vec<f64> = self.within(Some(group)).map(|operation| operation.took_ns as f64).collect();
        let batches = (took_ns.len() / 2).min(BATCHES);
        if batches < FEWEST_BATCHES {
            return 0.0;
        }
        let means: Vec<f64> = took_ns
            .chunks(took_ns.len().div_ceil(batches))
            .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
            .collect();
        let mean = Interval::of_means(&means);
        (mean.high - mean.value) * took_ns.len() as f64
    }

    /// The same for several groups together, as independent ones.
    fn reach_of_ns(&self, group: Option<KindAndWay>) -> f64 {
        let groups = group.map_or_else(|| self.groups(0.0), |group| vec![group]);
        groups.into_iter().map(|group| self.reach_ns(group).powi(2)).sum::<f64>().sqrt()
    }

    /// How far rates may be off, as a share. What is asked is the same in each round, and so is the thinking: only the time
    /// that operations take differs, and with it the time of the lanes.
    fn rate_reach(&self) -> f64 {
        let mut busy = vec![false; self.lane_ns.len()];
        self.operations.iter().for_each(|operation| busy[operation.lane as usize] = true);
        let lanes_ns: f64 = self.lane_ns.iter().zip(&busy).filter(|(_, busy)| **busy).map(|(ns, _)| ns).sum();
        if lanes_ns > 0.0 { self.reach_of_ns(None) / lanes_ns } else { 0.0 }
    }

    /// How far the depth of a group may be off, as a share.
    fn depth_reach(&self, group: Option<KindAndWay>) -> f64 {
        let whole_ns: f64 = self.within(group).map(|operation| operation.took_ns as f64).sum();
        if whole_ns > 0.0 { self.reach_of_ns(group) / whole_ns } else { 0.0 }
    }
}

/// A side from rounds: the mean and its t interval over three and more; from fewer, what the operations themselves tell.
pub(super) fn over_rounds(rounds: &[Round<'_>], group: Option<KindAndWay>) -> ReplaySide {
    let figures: Vec<Figures> = rounds.iter().map(|round| round.figures(group)).collect();
    if rounds.len() >= FEWEST_ROUNDS {
        return side(&figures, Interval::of_means);
    }
    let count = rounds.len().max(1) as f64;
    let mean_reach = |reach: &dyn Fn(&Round<'_>) -> f64| rounds.iter().map(reach).sum::<f64>() / count / count.sqrt();
    let rate_reach = mean_reach(&|round| round.rate_reach());
    let depth_reach = mean_reach(&|round| round.depth_reach(group));
    let mut latency_ns: Vec<u64> = figures.iter().flat_map(|one| one.latency_ns.iter().copied()).collect();
    latency_ns.sort_unstable();
    let mean = |of: fn(&Figures) -> f64, reach: f64| {
        let value = figures.iter().map(of).sum::<f64>() / count;
        Interval { value, low: value * (1.0 - reach).max(0.0), high: value * (1.0 + reach) }
    };
    ReplaySide {
        operations: figures.iter().map(|one| one.operations).sum(),
        per_second: mean(|one| one.per_second, rate_reach),
        bytes_per_second: mean(|one| one.bytes_per_second, rate_reach),
        depth: mean(|one| one.depth, depth_reach),
        p50_ns: order_statistic(&latency_ns, 0.5),
        p99_ns: order_statistic(&latency_ns, 0.99),
    }
}

/// A side from draws of a model: the median, and the quantiles that hold 95% of the draws.
pub(super) fn over_draws(draws: &[Round<'_>], group: Option<KindAndWay>) -> ReplaySide {
    let figures: Vec<Figures> = draws.iter().map(|draw| draw.figures(group)).collect();
    side(&figures, |values| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = values.len().saturating_sub(1);
            values.get((share * last as f64).round() as usize).copied().unwrap_or(0.0)
        };
        Interval { value: at(0.5), low: at(0.025), high: at(0.975) }
    })
}

fn side(figures: &[Figures], interval: impl Fn(&[f64]) -> Interval) -> ReplaySide {
    let over = |of: &dyn Fn(&Figures) -> f64| interval(&figures.iter().map(of).collect::<Vec<f64>>());
    let quantile = |share: f64| {
        let all: Vec<f64> = figures
            .iter()
            .filter(|one| !one.latency_ns.is_empty())
            .map(|one| one.latency_ns[rank(one.latency_ns.len(), share)] as f64)
            .collect();
        interval(&all)
    };
    ReplaySide {
        operations: figures.iter().map(|one| one.operations).sum(),
        per_second: over(&|one| one.per_second),
        bytes_per_second: over(&|one| one.bytes_per_second),
        depth: over(&|one| one.depth),
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
    }
}

/// Index of a quantile among `count` values, by nearest rank.
fn rank(count: usize, share: f64) -> usize {
    ((share * count as f64).ceil() as usize).clamp(1, count.max(1)) - 1
}

/// A quantile with its interval from the values themselves: the ranks between which it lies in 95% (binomial distribution).
///
/// Source: H. A. David, H. N. Nagaraja, Order Statistics, 2003, 7.1.
fn order_statistic(rising: &[u64], share: f64) -> Interval {
    if rising.is_empty() {
        return Interval::exact(0.0);
    }
    let count = rising.len() as f64;
    let reach = NORMAL * (count * share * (1.0 - share)).sqrt();
    let at = |rank: f64| rising[(rank.max(1.0) as usize).min(rising.len()) - 1] as f64;
    let value = rising[rank(rising.len(), share)] as f64;
    let low = at((count * share - reach).floor());
    let high = at((count * share + reach).ceil() + 1.0);
    Interval { value, low, high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_lies_between_its_ranks() {
        let rising: Vec<u64> = (1..=1000).collect();
        let median = order_statistic(&rising, 0.5);
        // 1.96 times the root of 250 is 30.99.
        assert_eq!(median, Interval { value: 500.0, low: 469.0, high: 532.0 });
        assert_eq!(order_statistic(&rising, 0.99).value, 990.0);
        assert_eq!(order_statistic(&[7], 0.99), Interval::exact(7.0));
        assert_eq!(order_statistic(&[], 0.5), Interval::exact(0.0));
    }

    #[test]
    fn draws_give_their_quantiles() {
        let draws: Vec<Captured> = (1..=101)
            .map(|index| Captured {
                slices: vec![1_000_000_000],
                lanes: 1,
                operations: (0..index).map(|at| operation(at * 1000)).collect(),
                ..Captured::default()
            })
            .collect();
        let rounds: Vec<Round<'_>> = draws.iter().map(Round::of).collect();
        let side = over_draws(&rounds, None);
        let near = |found: f64, truth: f64| (found - truth).abs() < 1e-6;
        assert!(
            near(side.per_second.value, 51.0) && near(side.per_second.low, 4.0) && near(side.per_second.high, 99.0)
        );
        assert_eq!(side.operations, 101 * 102 / 2);
    }

    fn operation(at_ns: u64) -> CapturedOperation {
        CapturedOperation {
            slice: 0,
            lane: 0,
            at_ns,
            took_ns: 100,
            kind: OperationKind::Read,
            file: 0,
            offset: 0,
            bytes: 4096,
            cached: false,
        }
    }
}
