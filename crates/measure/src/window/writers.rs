//! Keeps which writers of a lane wait for their flush, where each slot of the lane is a writer of its own.

use halfpower_spec::Nanos;

/// Writers that flush after each of their writes, one for each slot.
pub(super) struct Writers {
    /// When each writer's flush went out; `None` if it waits for none.
    flushing: Vec<Option<Nanos>>,
}

impl Writers {
    pub fn new(slots: usize) -> Self {
        Self { flushing: vec![None; slots] }
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
