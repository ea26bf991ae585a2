//! Gathers the operations of an application into those that it waits for in the same way, and describes each kind.

use halfpower_record::{Latency, OperationKind, Operations, Wait, Watched, WatchedSecond};
use halfpower_spec::{InOrder, Pattern};

use super::parts::{OperationGroup, WaitPart, WatchActivity};
use crate::mean::quotient;

/// Share of operations that continue the one before, from which they are sequential; below its complement, random.
const SEQUENTIAL: f64 = 0.8;
/// Share of operations of one size, from which it stands for all.
const ONE_SIZE: f64 = 0.5;
/// Share of writes that make their file longer, from which they append.
const APPENDS: f64 = 0.8;

/// The operations of one group.
#[derive(Debug, Clone)]
pub(super) struct Gathered<'a> {
    pub group: OperationGroup,
    pub members: Vec<&'a Operations>,
    pub count: u64,
    pub latency: Latency,
    /// Time of all of them by what it was spent on, in nanoseconds.
    pub waits: Vec<(Wait, u64)>,
    /// Share of the time with at least one in progress; members count as if they never overlapped.
    pub busy_share: f64,
    /// Mean number in progress while at least one was.
    pub depth_while_busy: f64,
}

/// The group of an operation.
pub(super) fn group_of(kind: OperationKind) -> OperationGroup {
    match kind {
        OperationKind::Read | OperationKind::FaultRead => OperationGroup::Reads,
        OperationKind::Write => OperationGroup::Writes,
        OperationKind::DurableWrite | OperationKind::Fdatasync | OperationKind::Fsync | OperationKind::OtherSync => {
            OperationGroup::Commits
        }
    }
}

/// The latencies of a group in one second.
pub(super) fn latency_of(group: OperationGroup) -> fn(&WatchedSecond) -> &Latency {
    match group {
        OperationGroup::Writes => writes_of,
        OperationGroup::Commits => syncs_of,
        OperationGroup::Reads | OperationGroup::All => reads_of,
    }
}

fn reads_of(second: &WatchedSecond) -> &Latency {
    &second.reads
}

fn writes_of(second: &WatchedSecond) -> &Latency {
    &second.writes
}

fn syncs_of(second: &WatchedSecond) -> &Latency {
    &second.syncs
}

/// The groups that have operations, most time first.
pub(super) fn gathered(watched: &Watched) -> Vec<Gathered<'_>> {
    let groups = [OperationGroup::Reads, OperationGroup::Writes, OperationGroup::Commits];
    let mut found: Vec<Gathered<'_>> =
        groups.into_iter().filter_map(|group| Gathered::of(group, &watched.operations)).collect();
    found.order_by(|one, other| other.latency.sum_ns().cmp(&one.latency.sum_ns()));
    found
}

/// Share of the time with at least one of these in progress, at most.
pub(super) fn busy_share<'a>(operations: impl Iterator<Item = &'a Operations>) -> f64 {
    operations.map(|one| quotient(one.depth, one.depth_while_busy)).sum::<f64>().min(1.0)
}

impl<'a> Gathered<'a> {
    /// The operations of this group; `None` if there are none.
    fn of(group: OperationGroup, all: &'a [Operations]) -> Option<Self> {
        let members: Vec<&Operations> = all.iter().filter(|one| group_of(one.kind) == group && one.count > 0).collect();
        let count = members.iter().fold(0_u64, |sum, one| sum.saturating_add(one.count));
        let mut latency = Latency::default();
        let mut waits: Vec<(Wait, u64)> = Vec::new();
        for one in &members {
            latency.merge(&one.latency);
            for (wait, ns) in &one.waits {
                match waits.iter_mut().find(|(known, _)| known == wait) {
                    Some((_, sum)) => *sum = sum.saturating_add(*ns),
                    None => waits.push((*wait, *ns)),
                }
            }
        }
        let busy_share = busy_share(members.iter().copied());
        let depth: f64 = members.iter().map(|one| one.depth).sum();
        let depth_while_busy = if busy_share > 0.0 { (depth / busy_share).max(1.0) } else { 1.0 };
        (count > 0).then_some(Self { group, members, count, latency, waits, busy_share, depth_while_busy })
    }

    /// Share of its time that was spent on any of these.
    pub fn share(&self, of: &[Wait]) -> f64 {
        let sum = |of: &dyn Fn(Wait) -> bool| -> f64 {
            self.waits.iter().filter(|(wait, _)| of(*wait)).map(|(_, ns)| *ns as f64).sum()
        };
        let all = sum(&|_| true);
        if all > 0.0 { sum(&|wait| of.contains(&wait)) / all } else { 0.0 }
    }

    /// Mean time that an operation spends on this, in nanoseconds.
    pub fn mean_ns(&self, of: Wait) -> f64 {
        self.share(&[of]) * self.latency.mean_ns()
    }

    /// What the time of an operation was spent on, most first.
    pub fn parts(&self) -> Vec<WaitPart> {
        let part = |wait: Wait| WaitPart { wait, share: self.share(&[wait]), mean_ns: self.mean_ns(wait) };
        let mut parts: Vec<WaitPart> =
            self.waits.iter().filter(|(_, ns)| *ns > 0).map(|(wait, _)| part(*wait)).collect();
        parts.order_by(|one, other| other.share.total_cmp(&one.share));
        parts
    }

    /// Share of operations that needed no disk.
    pub fn cached_share(&self) -> f64 {
        let cached = self.members.iter().fold(0_u64, |sum, one| sum.saturating_add(one.cached));
        cached as f64 / self.count.max(1) as f64
    }

    /// Operations made durable together, on average: each with those that share its flush.
    pub fn together(&self) -> f64 {
        let shared = self.members.iter().fold(0_u64, |sum, one| sum.saturating_add(one.shared_flushes));
        1.0 + shared as f64 / self.count.max(1) as f64
    }

    /// The member with most time.
    pub fn largest(&self) -> Option<&'a Operations> {
        self.members.iter().copied().max_by_key(|one| one.latency.sum_ns())
    }
}

/// The size that stands for these operations in bytes, and whether most have it; `None` if they move no bytes.
pub(super) fn size(one: &Operations) -> Option<(f64, bool)> {
    let frequent = one.sizes.iter().filter(|(size, _)| *size > 0).max_by_key(|(_, count)| *count);
    if let Some((size, _)) = frequent.filter(|(_, count)| *count as f64 >= ONE_SIZE * one.count as f64) {
        return Some((*size as f64, true));
    }
    (one.count > 0 && one.bytes > 0).then(|| (one.bytes as f64 / one.count as f64, false))
}

/// Order of offsets; `None` if both are mixed.
pub(super) fn pattern(one: &Operations) -> Option<Pattern> {
    let share = one.sequential as f64 / one.count.max(1) as f64;
    if share >= SEQUENTIAL {
        Some(Pattern::Sequential)
    } else if share <= 1.0 - SEQUENTIAL {
        Some(Pattern::Random)
    } else {
        None
    }
}

/// A row for each kind of operation.
pub(super) fn activities(watched: &Watched) -> Vec<WatchActivity> {
    watched.operations.iter().filter(|one| one.count > 0).map(|one| activity(one, watched.traced_ns)).collect()
}

fn activity(one: &Operations, traced_ns: u64) -> WatchActivity {
    let share = |part: u64| part as f64 / one.count.max(1) as f64;
    let size = size(one);
    WatchActivity {
        place: one.place,
        kind: one.kind,
        by: one.by,
        direct: one.direct,
        pattern: size.and_then(|_| pattern(one)),
        appends: share(one.appends) >= APPENDS,
        size_bytes: size.map(|(bytes, _)| bytes),
        one_size: size.is_some_and(|(_, is_one)| is_one),
        count: one.count,
        rate: if traced_ns > 0 { one.count as f64 / traced_ns as f64 * 1e9 } else { 0.0 },
        depth_while_busy: one.depth_while_busy,
        deepest: one.deepest,
        cached_share: share(one.cached),
        latency_ns_p50: one.latency.quantile_ns(0.5),
        latency_ns_p99: one.latency.quantile_ns(0.99),
        unended: one.unended,
    }
}
