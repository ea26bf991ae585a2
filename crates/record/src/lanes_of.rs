//! Finds the lane of each operation: whoever has one operation in progress at a time.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

/// The lanes of all threads. A thread that waits for each of its calls has one; a thread with several operations in progress
/// at once has as many.
///
/// Operations are handed in order of their beginning: whoever sees them end collects them first, and sorts them. So no more
/// lanes are made than operations were in progress at once.
#[derive(Debug, Clone, Default)]
pub struct Lanes {
    threads: HashMap<u64, OfThread>,
    count: u32,
}

/// The lanes of one thread.
#[derive(Debug, Clone, Default)]
struct OfThread {
    /// Those with an operation in progress, with its end; the earliest end first.
    busy: BinaryHeap<Reverse<(u64, u32)>>,
    free: BTreeSet<u32>,
}

impl Lanes {
    /// No lane yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The lane of an operation of the thread `who` that begins and ends at these times: the first lane of that thread that is
    /// free at its beginning, or a new one.
    pub fn lane(&mut self, who: u64, begin_ns: u64, end_ns: u64) -> u32 {
        let thread = self.threads.entry(who).or_default();
        while let Some(Reverse((until_ns, lane))) = thread.busy.peek().copied() {
            if until_ns > begin_ns {
                break;
            }
            thread.busy.pop();
            thread.free.insert(lane);
        }
        let lane = thread.free.pop_first().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        thread.busy.push(Reverse((end_ns, lane)));
        lane
    }

    /// Begins another slice, whose times begin again at 0: each lane is free.
    pub fn begin_slice(&mut self) {
        for thread in self.threads.values_mut() {
            thread.free.extend(thread.busy.drain().map(|Reverse((_, lane))| lane));
        }
    }

    /// Number of lanes so far; lanes are counted from 0 over all threads.
    pub fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_has_one_lane_and_one_that_does_not_has_as_many_as_it_has_at_once() {
        let mut lanes = Lanes::new();
        assert_eq!([(0, 10), (10, 20), (25, 30)].map(|(begin, end)| lanes.lane(7, begin, end)), [0, 0, 0]);
        // Another thread never shares a lane, even if it is free.
        assert_eq!(
            [(40, 90), (50, 60), (55, 70), (60, 65)].map(|(begin, end)| lanes.lane(8, begin, end)),
            [1, 2, 3, 2]
        );
        assert_eq!(lanes.lane(7, 100, 110), 0);
        assert_eq!(lanes.count(), 4);
    }

    #[test]
    fn lanes_are_free_when_a_slice_begins() {
        let mut lanes = Lanes::new();
        assert_eq!((lanes.lane(1, 0, 1000), lanes.lane(1, 10, 900)), (0, 1));
        lanes.begin_slice();
        assert_eq!((lanes.lane(1, 0, 5), lanes.lane(1, 2, 4), lanes.count()), (0, 1, 2));
    }
}
