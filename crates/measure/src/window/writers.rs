//! Keeps which writers of a lane wait for their flush, where each slot of the lane is a writer of its own.

use halfpower_spec::Nanos;

/// Writers that flush after each of their writes, one for each slot; those from a slot on write without flushing.
pub(super) struct Writers {
    /// Slots that flush, counted from the first.
    flushers: u32,
    /// When each writer's flush went out; `None` if it waits for none.
    flushing: Vec<Option<Nanos>>,
}

impl Writers {
    /// Of so many slots the first `flushers` flush.
    pub fn new(slots: usize, flushers: u32) -> Self {
        Self { flushers, flushing: vec![None; slots] }
    }

    /// Whether this slot flushes after its writes.
    pub fn flushes(&self, slot: u32) -> bool {
        slot < self.flushers
    }

    /// The flush of this slot goes out.
    pub fn begin(&mut self, slot: u32, now: Nanos) {
        self.flushing[slot as usize] = Some(now);
    }

    pub fn is_flushing(&self, slot: u32) -> bool {
        self.flushing[slot as usize].is_some()
    }

    /// When the flush that this slot waited for went out; it waits no more. `None` if it waited for none.
    pub fn end(&mut self, slot: u32) -> Option<Nanos> {
        self.flushing[slot as usize].take()
    }
}
