//! Decides in virtual time which requests the threads of a load issue beside a workload, and when.
//!
//! Each thread does what a lane of its own does in real time (`window.rs`): it keeps its requests outstanding, flushes after
//! so many writes with nothing else in flight, and thinks after completions.

use std::ops::Range;

use halfpower_engine::{Operation, Request};
use halfpower_spec::{Bytes, Nanos, Pattern, Workload};

use crate::offsets::Offsets;

/// The threads of a load.
pub(crate) struct LoadThreads {
    threads: Vec<LoadThread>,
    /// The first slot of the first thread, and the slots of each.
    first_slot: u32,
    depth: u32,
    bs: Bytes,
}

struct LoadThread {
    offsets: Offsets,
    /// Slots that are not in flight.
    free: Vec<u32>,
    depth: usize,
    /// Writes after which it flushes; 0 is never.
    fdatasync: usize,
    /// Writes that may still go out before the next flush.
    quota: usize,
    is_flushing: bool,
    thinktime: Nanos,
    /// Until when it thinks; `None` if it does not.
    wakes: Option<Nanos>,
}

impl LoadThreads {
    /// The threads of `load`, which reach the bytes `used` and have the slots from `first_slot` on.
    pub(crate) fn new(load: &Workload, used: &Range<u64>, first_slot: u32, seed: u64) -> Self {
        let depth = load.iodepth;
        let thread = |nth: u32| {
            let slots = first_slot + nth * depth..first_slot + (nth + 1) * depth;
            // Another seed than that of the workload, and another for each thread.
            let seed = (seed ^ 0x6265_7369_6465_0000).wrapping_add(u64::from(nth));
            LoadThread {
                offsets: Offsets::new(load, &part(load, used, nth), false, seed),
                free: slots.collect(),
                depth: depth as usize,
                fdatasync: load.options.fdatasync as usize,
                quota: quota(load.options.fdatasync as usize),
                is_flushing: false,
                thinktime: load.options.thinktime,
                wakes: None,
            }
        };
        Self { threads: (0..load.threads).map(thread).collect(), first_slot, depth, bs: load.bs }
    }

    /// Adds to `batch` what goes out now.
    pub(crate) fn issue(&mut self, now: Nanos, batch: &mut Vec<Request>) {
        self.threads.iter_mut().for_each(|thread| thread.issue(now, batch));
    }

    /// Takes in that the request of this slot is done; gives what it asked for, or `None` if it was a flush.
    pub(crate) fn take(&mut self, slot: u32, now: Nanos) -> Option<Bytes> {
        let thread = &mut self.threads[((slot - self.first_slot) / self.depth) as usize];
        thread.take(slot, now).then_some(self.bs)
    }

    /// When a thread next wakes up; `None` if none thinks.
    pub(crate) fn next_wake(&self) -> Option<Nanos> {
        self.threads.iter().filter_map(|thread| thread.wakes).min()
    }
}

impl LoadThread {
    fn issue(&mut self, now: Nanos, batch: &mut Vec<Request>) {
        if self.is_flushing || self.wakes.is_some_and(|wake| wake > now) {
            return;
        }
        self.wakes = None;
        if self.quota == 0 && self.free.len() == self.depth {
            let Some(slot) = self.free.pop() else { return };
            self.is_flushing = true;
            batch.push(Request { slot, operation: Operation::Flush, offset: 0, length: 0 });
            return;
        }
        let before = batch.len();
        self.offsets.fill_at_most(self.quota, &mut self.free, batch);
        if self.fdatasync > 0 {
            let is_write = |request: &&Request| request.operation == Operation::Write;
            self.quota -= batch[before..].iter().filter(is_write).count();
        }
    }

    /// Whether what is done was a request and no flush.
    fn take(&mut self, slot: u32, now: Nanos) -> bool {
        self.free.push(slot);
        let was_flush = std::mem::replace(&mut self.is_flushing, false);
        if was_flush {
            self.quota = quota(self.fdatasync);
        }
        let flushes_next = self.fdatasync > 0 && self.quota == 0;
        if self.thinktime > Nanos(0) && self.wakes.is_none() && !flushes_next {
            self.wakes = Some(Nanos(now.0.saturating_add(self.thinktime.0)));
        }
        !was_flush
    }
}

/// Writes until the next flush.
fn quota(fdatasync: usize) -> usize {
    if fdatasync == 0 { usize::MAX } else { fdatasync }
}

/// The part of `used` that a thread reaches: its own part if sequential, all of it if random.
fn part(load: &Workload, used: &Range<u64>, thread: u32) -> Range<u64> {
    let share = (used.end - used.start) / u64::from(load.threads);
    let share = share - share % load.bs.0;
    match load.rw.pattern() {
        Pattern::Sequential => used.start + share * u64::from(thread)..used.start + share * u64::from(thread + 1),
        Pattern::Random | Pattern::Unknown => used.clone(),
    }
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Rw, WorkloadOptions};

    use super::*;

    #[test]
    fn a_thread_flushes_after_its_writes_and_thinks_after_the_flush() {
        let options = WorkloadOptions { fdatasync: 2, thinktime: Nanos(500), ..WorkloadOptions::default() };
        let load = Workload { rw: Rw::Write, bs: Bytes(4096), iodepth: 2, options, ..Workload::default() };
        let mut threads = LoadThreads::new(&load, &(0..1 << 20), 3, 1);
        let mut batch = Vec::new();
        let issued = |threads: &mut LoadThreads, now: u64, batch: &mut Vec<Request>| {
            batch.clear();
            threads.issue(Nanos(now), batch);
            batch.iter().map(|request| request.operation).collect::<Vec<_>>()
        };
        assert_eq!(issued(&mut threads, 0, &mut batch), [Operation::Write; 2]);
        let slots: Vec<u32> = batch.iter().map(|request| request.slot).collect();
        assert_eq!(threads.take(slots[0], Nanos(10)), Some(Bytes(4096)));
        assert!(issued(&mut threads, 10, &mut batch).is_empty(), "a write is still in flight");
        threads.take(slots[1], Nanos(20));
        assert_eq!(issued(&mut threads, 20, &mut batch), [Operation::Flush]);
        assert_eq!((threads.take(batch[0].slot, Nanos(30)), threads.next_wake()), (None, Some(Nanos(530))));
        assert!(issued(&mut threads, 529, &mut batch).is_empty());
        assert_eq!(issued(&mut threads, 530, &mut batch), [Operation::Write; 2]);
        assert_eq!(threads.next_wake(), None);
    }
}
