//! Takes outcomes out of a ring, and queues transfers again that came back with EAGAIN.

use super::Ring;
use super::entry::{enqueue, reaped};
use crate::Reaped;

impl Ring {
    /// Hands every outcome that has arrived to `take`, oldest first.
    ///
    /// A transfer that the kernel could not carry out without blocking (EAGAIN) has no outcome yet. It is queued again
    /// for a kernel worker, which may block, and so are all later transfers. The kernel does this by itself if it
    /// notices at once. Behind a cgroup limit (`io.max`) it notices too late, and each returned transfer has already
    /// been counted against the limit.
    #[inline]
    pub fn reap(&mut self, mut take: impl FnMut(Reaped)) {
        let mut count = 0;
        for outcome in self.ring.completion() {
            let reaped = reaped(self.means, &outcome);
            #[cfg(test)]
            let reaped = super::tests::given_back(&mut self.give_back, reaped);
            let slot = &mut self.slots[reaped.slot as usize];
            if reaped.result == Err(libc::EAGAIN) && !slot.may_wait {
                self.again.push(reaped.slot);
                continue;
            }
            slot.in_flight = false;
            count += 1;
            take(reaped);
        }
        self.in_flight -= count;
        if !self.again.is_empty() {
            self.queue_again();
        }
    }

    #[cold]
    fn queue_again(&mut self) {
        self.by_workers = true;
        let mut queue = self.ring.submission();
        for slot in self.again.drain(..) {
            let slot = &mut self.slots[slot as usize];
            slot.may_wait = true;
            enqueue(&mut queue, self.means, slot);
            self.queued += 1;
            self.resubmitted += 1;
        }
    }

    /// Number of transfers that came back with EAGAIN and were sent again.
    pub fn resubmitted(&self) -> u64 {
        self.resubmitted
    }
}
