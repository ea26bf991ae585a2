//! Adds up the subject's operations of each place, kind, way and size class.

use halfpower_record::{IssuedBy, LatencyCounter, OperationKind, Operations, Wait};

use super::depth::Depth;
use super::keys::{ByNumber, Numbers};
use super::operations::Op;
use super::sizes::{Sizes, class};
use super::waits::Split;

/// What operations that are added up have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    place: Option<usize>,
    kind: OperationKind,
    by: IssuedBy,
    direct: Option<bool>,
    class: u8,
}

/// An operation that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) at_ns: u64,
    pub(crate) bytes: u64,
    pub(crate) waits: Split,
    pub(crate) cached: bool,
    pub(crate) grew: bool,
}

/// Operations that have all of a key in common.
#[derive(Debug)]
struct Group {
    key: Key,
    count: u64,
    bytes: u64,
    sizes: Sizes,
    sequential: u64,
    appends: u64,
    cached: u64,
    latency: LatencyCounter,
    waits: Split,
    threads: Numbers<u32>,
    depth: Depth,
    shared: u64,
}

/// All groups of operations.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    groups: Vec<Group>,
    index: ByNumber<Key, usize>,
}

impl Totals {
    /// Adds an operation that has ended; the index of its group.
    pub(crate) fn add(&mut self, op: &Op, ended: &Ended) -> usize {
        let index = self.group_of(op, ended.bytes);
        let group = &mut self.groups[index];
        group.count += 1;
        group.bytes += ended.bytes;
        if ended.bytes > 0 {
            group.sizes.add(ended.bytes);
        }
        group.sequential += u64::from(op.begun.sequential);
        group.appends += u64::from(ended.grew);
        group.cached += u64::from(ended.cached);
        group.latency.add(ended.at_ns.saturating_sub(op.begun.at_ns), 1);
        group.waits.merge(&ended.waits);
        group.threads.insert(op.begun.thread);
        group.depth.add(op.begun.at_ns, ended.at_ns);
        index
    }

    /// Adds to the depth an operation that was in progress when tracing stopped.
    pub(crate) fn cut(&mut self, op: &Op, at_ns: u64) {
        let index = self.group_of(op, op.begun.asked.unwrap_or(op.sent));
        self.groups[index].depth.add(op.begun.at_ns, at_ns);
    }

    /// Adds operations of other threads in the same flush or commit.
    pub(crate) fn shared(&mut self, group: usize, others: u64) {
        if let Some(group) = self.groups.get_mut(group) {
            group.shared += others;
        }
    }

    /// Settles the depth before this time: no operation that is in progress began earlier.
    pub(crate) fn settle(&mut self, before_ns: u64) {
        for group in &mut self.groups {
            group.depth.settle(before_ns);
        }
    }

    fn group_of(&mut self, op: &Op, bytes: u64) -> usize {
        let begun = &op.begun;
        let moves = matches!(
            begun.kind,
            OperationKind::Read | OperationKind::Write | OperationKind::DurableWrite | OperationKind::FaultRead
        );
        let class = if moves { class(bytes) } else { 0 };
        let key = Key { place: begun.place, kind: begun.kind, by: begun.by, direct: begun.direct, class };
        *self.index.entry(key).or_insert_with(|| {
            self.groups.push(Group {
                key,
                count: 0,
                bytes: 0,
                sizes: Sizes::default(),
                sequential: 0,
                appends: 0,
                cached: 0,
                latency: LatencyCounter::default(),
                waits: Split::default(),
                threads: Numbers::default(),
                depth: Depth::default(),
                shared: 0,
            });
            self.groups.len() - 1
        })
    }

    /// What is recorded of them, over a time; most time first.
    pub(crate) fn listed(&self, traced_ns: u64) -> Vec<Operations> {
        let listed = |group: &Group| {
            let depth = group.depth.whole();
            Operations {
                place: group.key.place,
                kind: group.key.kind,
                by: group.key.by,
                direct: group.key.direct,
                count: group.count,
                bytes: group.bytes,
                sizes: group.sizes.listed(),
                sequential: group.sequential,
                appends: group.appends,
                cached: group.cached,
                latency: group.latency.latency(),
                waits: group.waits.listed(),
                threads: group.threads.len() as u64,
                depth_while_busy: depth.while_busy(),
                depth: depth.over(traced_ns),
                deepest: depth.deepest(),
                shared_flushes: group.shared,
            }
        };
        let mut all: Vec<Operations> = self.groups.iter().filter(|group| group.count > 0).map(listed).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.latency.sum_ns()));
        all
    }
}

/// Whether an operation needed no disk, given how its time was spent.
pub(crate) fn is_cached(op: &Op, waits: &Split) -> bool {
    let waited = [Wait::Device, Wait::Flush, Wait::BlockQueue].into_iter().any(|wait| waits.of(wait) > 0);
    let may_be = match op.begun.kind {
        OperationKind::Read | OperationKind::Write => op.begun.direct != Some(true),
        _ => false,
    };
    // Where nothing tells whether it is direct, one that sent nothing to a disk had its data from memory.
    may_be && !waited && (op.begun.direct.is_some() || op.parts == 0)
}
