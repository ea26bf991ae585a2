//! Adds up the subject's operations of each place, kind, way and size class.

use std::collections::BTreeMap;

use halfpower_record::{IssuedBy, Latency, LatencyCounter, OperationKind, Operations, Wait};

use super::cut::{WholeAndCut, class_of, weights};
use super::depth::Depth;
use super::keys::{ByNumber, Numbers};
use super::operations::Op;
use super::sizes::{Sizes, class};
use super::waits::{Split, WAITS};

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
    sizes: Sizes,
    latency: LatencyCounter,
    classes: BTreeMap<u64, Class>,
    threads: Numbers<u32>,
    depth: Depth,
    shared: u64,
}

/// Operations of a group whose latencies are about the same.
#[derive(Debug, Default)]
struct Class {
    whole: u64,
    bytes: u64,
    sequential: u64,
    appends: u64,
    cached: u64,
    waits: Split,
    /// Those that were in progress when tracing stopped, by their age then, and all ages together.
    cut: u64,
    cut_ns: u64,
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
        let latency_ns = ended.at_ns.saturating_sub(op.begun.at_ns);
        group.latency.add(latency_ns, 1);
        if ended.bytes > 0 {
            group.sizes.add(ended.bytes);
        }
        let class = group.classes.entry(class_of(latency_ns)).or_default();
        class.whole += 1;
        class.bytes += ended.bytes;
        class.sequential += u64::from(op.begun.sequential);
        class.appends += u64::from(ended.grew);
        class.cached += u64::from(ended.cached);
        class.waits.merge(&ended.waits);
        group.threads.insert(op.begun.thread);
        group.depth.add(op.begun.at_ns, ended.at_ns);
        index
    }

    /// Adds an operation that was in progress when tracing stopped.
    pub(crate) fn cut(&mut self, op: &Op, at_ns: u64) {
        let index = self.group_of(op, op.begun.asked.unwrap_or(op.sent));
        let group = &mut self.groups[index];
        group.depth.add(op.begun.at_ns, at_ns);
        let age_ns = at_ns.saturating_sub(op.begun.at_ns);
        let class = group.classes.entry(class_of(age_ns)).or_default();
        class.cut += 1;
        class.cut_ns += age_ns;
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
                sizes: Sizes::default(),
                latency: LatencyCounter::default(),
                classes: BTreeMap::new(),
                threads: Numbers::default(),
                depth: Depth::default(),
                shared: 0,
            });
            self.groups.len() - 1
        })
    }

    /// What is recorded of them, over a time; most time first.
    pub(crate) fn listed(&self, traced_ns: u64) -> Vec<Operations> {
        let mut all: Vec<Operations> = self.groups.iter().filter_map(|group| group.listed(traced_ns)).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.latency.sum_ns()));
        all
    }
}

impl Group {
    /// What is recorded of it; `None` if no operation was seen whole.
    fn listed(&self, traced_ns: u64) -> Option<Operations> {
        let whole_and_cut = |class: &Class| WholeAndCut { whole: class.whole, cut: class.cut };
        let weights = weights(&self.classes.values().map(whole_and_cut).collect::<Vec<_>>());
        let whole: u64 = self.classes.values().map(|class| class.whole).sum();
        let cut: u64 = self.classes.values().map(|class| class.cut).sum();
        if whole == 0 {
            return None;
        }
        let count = whole + cut;
        let weighted = |of: fn(&Class) -> u64| -> f64 {
            self.classes.values().zip(&weights).map(|(class, weight)| of(class) as f64 * weight).sum()
        };
        // Of what was cut last, and stands for itself, nothing is known but its age.
        let of_all = count as f64 / weighted(|class| class.whole);
        let number = |of: fn(&Class) -> u64| (weighted(of) * of_all).round() as u64;
        let of_whole = count as f64 / whole as f64;
        let (latency, waits, unended) = self.time(&weights, count);
        let depth = self.depth.whole();
        Some(Operations {
            place: self.key.place,
            kind: self.key.kind,
            by: self.key.by,
            direct: self.key.direct,
            count,
            unended,
            bytes: number(|class| class.bytes),
            sizes: self.sizes.listed_as(of_whole),
            sequential: number(|class| class.sequential),
            appends: number(|class| class.appends),
            cached: number(|class| class.cached),
            latency,
            waits,
            threads: self.threads.len() as u64,
            depth_while_busy: depth.while_busy(),
            depth: depth.over(traced_ns),
            deepest: depth.deepest(),
            shared_flushes: (self.shared as f64 * of_whole).round() as u64,
        })
    }

    /// How long they took, all of this number, and by what; and of how many of them only is known how long at least.
    fn time(&self, weights: &[f64], count: u64) -> (Latency, Vec<(Wait, u64)>, u64) {
        let mut waits = Split::default();
        for wait in WAITS {
            let each = self.classes.values().zip(weights).map(|(class, weight)| class.waits.of(wait) as f64 * weight);
            waits.add(wait, each.sum::<f64>().round() as u64);
        }
        let seen = self.latency.latency();
        let weights: BTreeMap<u64, f64> = self.classes.keys().copied().zip(weights.iter().copied()).collect();
        let weight = |latency_ns: u64| weights.get(&class_of(latency_ns)).copied().unwrap_or(1.0);
        let mut latency = seen.weighted(u128::from(waits.all()), weight);
        // Their number is whole, and so are the times of few of them.
        waits.stretch_to(latency.sum_ns() as u64);
        // Of what was cut last nothing longer is known: it stands at its age.
        let left = count.saturating_sub(latency.count());
        if let Some(last) = self.classes.values().next_back().filter(|last| left > 0 && last.cut > 0) {
            let mut at_age = LatencyCounter::default();
            at_age.add(last.cut_ns / last.cut, left);
            waits.add(Wait::Other, at_age.sum_ns());
            latency.merge(&at_age.latency());
        }
        (latency, waits.listed(), left)
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
