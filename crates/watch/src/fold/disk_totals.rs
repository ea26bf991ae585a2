//! Adds up the requests that the disks completed, by cause and owner.

use halfpower_record::{Cause, DiskRequests, LatencyCounter};

use super::requests::Done;

/// What the requests of one cause to one disk come to.
#[derive(Debug)]
struct Total {
    disk: usize,
    cause: Cause,
    own: Option<bool>,
    writes: bool,
    count: u64,
    bytes: u64,
    sequential: u64,
    queue: LatencyCounter,
    device: LatencyCounter,
}

/// All requests of all disks.
#[derive(Debug, Default)]
pub(crate) struct DiskTotals {
    all: Vec<Total>,
}

impl DiskTotals {
    /// Adds a part that is done, for a cause that may be known better by now.
    pub(crate) fn add(&mut self, done: &Done, cause: Cause) {
        let Done { disk, origin, .. } = *done;
        let is_same = |total: &Total| {
            total.disk == disk && total.cause == cause && total.own == origin.own && total.writes == origin.writes
        };
        let index = self.all.iter().position(is_same).unwrap_or_else(|| {
            self.all.push(Total {
                disk,
                cause,
                own: origin.own,
                writes: origin.writes,
                count: 0,
                bytes: 0,
                sequential: 0,
                queue: LatencyCounter::default(),
                device: LatencyCounter::default(),
            });
            self.all.len() - 1
        });
        let total = &mut self.all[index];
        total.bytes += done.bytes;
        if done.is_head {
            total.count += 1;
            total.sequential += u64::from(done.sequential);
            total.queue.add(done.issued_ns.saturating_sub(done.queued_ns), 1);
            total.device.add(done.at_ns.saturating_sub(done.issued_ns), 1);
        }
    }

    /// What is recorded of them, over a time; most bytes first.
    pub(crate) fn listed(&self, disks: &[String], traced_ns: u64) -> Vec<DiskRequests> {
        let listed = |total: &Total| DiskRequests {
            disk: disks.get(total.disk).cloned().unwrap_or_default(),
            cause: total.cause,
            own: total.own,
            writes: total.writes,
            count: total.count,
            bytes: total.bytes,
            sequential: total.sequential,
            queue: total.queue.latency(),
            device: total.device.latency(),
            depth: total.device.sum_ns() as f64 / traced_ns.max(1) as f64,
        };
        let mut all: Vec<DiskRequests> = self.all.iter().filter(|total| total.count > 0).map(listed).collect();
        all.sort_by_key(|one| std::cmp::Reverse((one.bytes, one.count)));
        all
    }
}
