//! What do pread and pwrite give? Requests enter a queue and are carried out one after the other.

use std::collections::VecDeque;

use os::{Buffers, Clock, RunFile};
use spec::Nanos;

use crate::carry::carry_out;
use crate::{Completion, Engine, EngineError, Request};

/// Carries out requests on the calling thread, the oldest first, one at a time whatever the depth.
// Cache lines of its own, and the neighbour that processors fetch along: lanes run side by side.
#[repr(align(128))]
pub(crate) struct Sync {
    clock: Clock,
    file: RunFile,
    buffers: Buffers,
    serial: u64,
    waiting: VecDeque<Request>,
}

impl Sync {
    pub(crate) fn new(file: RunFile, buffers: Buffers) -> Self {
        let waiting = VecDeque::with_capacity(buffers.count() as usize);
        Self { clock: Clock::new(), file, buffers, serial: 0, waiting }
    }
}

impl Engine for Sync {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.clock.now_ns())
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        self.waiting.extend(batch);
        Ok(())
    }

    /// Carries out one request even where none is wanted: they make no progress otherwise.
    #[inline]
    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        for _ in 0..least.max(1) {
            let Some(request) = self.waiting.pop_front() else { break };
            self.serial += 1;
            let result = carry_out(&self.file, &mut self.buffers, request.slot, &request, self.serial);
            done.push(Completion { slot: request.slot, result });
        }
        Ok(())
    }
}
