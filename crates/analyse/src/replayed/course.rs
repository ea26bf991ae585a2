//! Makes what is drawn of a comparison: how latencies are spread on both sides, and what happened over time.

use halfpower_record::{Captured, OperationKind};

use super::rounds::{KindAndWay, Round};
use crate::percentiles::Percentiles;

/// Most steps of the longer side.
const MOST_STEPS: u64 = 120;
/// Shortest step, in nanoseconds.
const LEAST_STEP_NS: u64 = 1000;

/// What is drawn of a capture beside what came of it when it was asked again.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayCourse {
    /// How latencies are spread: one entry for each kind of operation that has a row, in the order of the rows.
    pub latencies: Vec<ReplayLatencies>,
    /// Length of a step, in nanoseconds.
    pub step_ns: u64,
    /// What was captured, its slices one after the other.
    pub before: Vec<ReplayStep>,
    /// What was asked again, all rounds one after the other.
    pub after: Vec<ReplayStep>,
}

/// How the latencies of one kind of operation are spread.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayLatencies {
    /// What they do.
    pub kind: OperationKind,
    /// Whether they pass the page cache by (`O_DIRECT`).
    pub direct: bool,
    /// When they were captured.
    pub before: Percentiles,
    /// When they were asked again.
    pub after: Percentiles,
}

/// What happened in one step; operations belong to the step in which they began.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplayStep {
    /// When it begins, in nanoseconds.
    pub from_ns: u64,
    /// Operations a second.
    pub per_second: f64,
    /// Mean number in progress.
    pub depth: f64,
    /// Median latency in nanoseconds; `None` without operations.
    pub p50_ns: Option<u64>,
    /// 99th percentile of latency in nanoseconds; `None` without operations.
    pub p99_ns: Option<u64>,
}

/// What is drawn of the two sides that were compared, and of all that was seen of each.
pub(super) fn course(
    groups: &[KindAndWay],
    (before, compared): (&Round<'_>, &[Round<'_>]),
    (captured, after): (&Captured, &[Captured]),
) -> ReplayCourse {
    let of_group = |group: &KindAndWay| {
        let mut again: Vec<u64> = compared.iter().flat_map(|round| round.rising_ns(Some(*group))).collect();
        again.sort_unstable();
        ReplayLatencies {
            kind: group.0,
            direct: group.1,
            before: Percentiles::of_rising(&before.rising_ns(Some(*group))),
            after: Percentiles::of_rising(&again),
        }
    };
    let again_ns = after.iter().map(Captured::span_ns).fold(0_u64, u64::saturating_add);
    let step_ns = step_ns(captured.span_ns().max(again_ns));
    ReplayCourse {
        latencies: groups.iter().map(of_group).collect(),
        step_ns,
        before: steps(std::slice::from_ref(captured), step_ns),
        after: steps(after, step_ns),
    }
}

/// A round length of which the span has at most [`MOST_STEPS`]: 1, 2 or 5 times a power of ten.
fn step_ns(span_ns: u64) -> u64 {
    let least = span_ns.div_ceil(MOST_STEPS).max(LEAST_STEP_NS);
    let mut power = LEAST_STEP_NS;
    loop {
        if let Some(found) = [1, 2, 5].map(|times: u64| times.saturating_mul(power)).into_iter().find(|ns| *ns >= least)
        {
            return found;
        }
        power = power.saturating_mul(10);
    }
}

/// Captures one after the other, in steps.
fn steps(captures: &[Captured], step_ns: u64) -> Vec<ReplayStep> {
    let slices = captures.iter().flat_map(|captured| &captured.slices);
    let span_ns = slices.fold(0_u64, |sum, slice| sum.saturating_add(*slice));
    let count = span_ns.div_ceil(step_ns) as usize;
    let mut began: Vec<Vec<u64>> = vec![Vec::new(); count];
    let mut busy_ns = vec![0_u64; count];
    let mut from_ns = 0_u64;
    for captured in captures {
        let mut slice_from_ns = Vec::with_capacity(captured.slices.len());
        for slice in &captured.slices {
            slice_from_ns.push(from_ns);
            from_ns = from_ns.saturating_add(*slice);
        }
        for operation in &captured.operations {
            let begin_ns = slice_from_ns[operation.slice as usize] + operation.at_ns;
            let end_ns = begin_ns + operation.took_ns;
            let first = (begin_ns / step_ns) as usize;
            if let Some(first) = began.get_mut(first) {
                first.push(operation.took_ns);
            }
            let last = (end_ns / step_ns) as usize;
            for (step, busy_ns) in busy_ns.iter_mut().enumerate().take(last + 1).skip(first) {
                let step_from_ns = step as u64 * step_ns;
                *busy_ns += end_ns.min(step_from_ns + step_ns).saturating_sub(begin_ns.max(step_from_ns));
            }
        }
    }
    let all = began.into_iter().zip(busy_ns).enumerate();
    all.map(|(at, (took_ns, busy_ns))| step(at as u64 * step_ns, step_ns, span_ns, took_ns, busy_ns)).collect()
}

/// One step; the last one may be shorter.
fn step(from_ns: u64, step_ns: u64, span_ns: u64, mut took_ns: Vec<u64>, busy_ns: u64) -> ReplayStep {
    took_ns.sort_unstable();
    let length_ns = step_ns.min(span_ns - from_ns) as f64;
    let at = |share: f64| {
        let rank = (share * took_ns.len() as f64).ceil() as usize;
        took_ns.get(rank.max(1) - 1).copied()
    };
    ReplayStep {
        from_ns,
        per_second: took_ns.len() as f64 * 1e9 / length_ns,
        depth: busy_ns as f64 / length_ns,
        p50_ns: at(0.5),
        p99_ns: at(0.99),
    }
}

#[cfg(test)]
mod tests {
    use halfpower_record::CapturedOperation;

    use super::*;

    #[test]
    fn steps_are_round_and_not_too_many() {
        assert_eq!([0, 119_000, 121_000, 60_000_000_000].map(step_ns), [1000, 1000, 2000, 500_000_000]);
        assert_eq!(step_ns(u64::MAX) % 1_000_000_000, 0);
    }

    #[test]
    fn a_long_operation_is_in_progress_in_each_step_that_it_covers() {
        let operation = |slice, at_ns, took_ns| CapturedOperation {
            slice,
            lane: 0,
            at_ns,
            took_ns,
            kind: OperationKind::Read,
            file: 0,
            offset: 0,
            bytes: 4096,
            cached: false,
        };
        let captured = Captured {
            slices: vec![2000, 500],
            lanes: 1,
            operations: vec![operation(0, 500, 1000), operation(1, 250, 250)],
            ..Captured::default()
        };
        let found = steps(&[captured], 1000);
        let of = |step: &ReplayStep| (step.from_ns, step.per_second, step.depth, step.p50_ns);
        assert_eq!(
            found.iter().map(of).collect::<Vec<_>>(),
            [(0, 1e6, 0.5, Some(1000)), (1000, 0.0, 0.5, None), (2000, 2e6, 0.5, Some(250))]
        );
        assert!(steps(&[], 1000).is_empty());
    }
}
