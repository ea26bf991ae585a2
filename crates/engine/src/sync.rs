//! What do pread and pwrite give? Requests enter a queue and are carried out one after the other.

use std::collections::VecDeque;
use std::sync::Arc;

use os::{Buffers, Clock, RunFile};
use spec::Nanos;

use crate::carry::carry_out;
use crate::check::Check;
use crate::outfit::Outfit;
use crate::{Completion, Engine, EngineError, Request, unavailable};

/// Carries out requests on the calling thread, the oldest first, one at a time whatever the depth.
// Cache lines of its own, and the neighbour that processors fetch along: lanes run side by side.
#[repr(align(128))]
pub(crate) struct Sync {
    clock: Clock,
    files: Vec<RunFile>,
    /// Which of them each slot reaches.
    file_of_slot: Vec<u32>,
    buffers: Buffers,
    check: Option<Arc<Check>>,
    serial: u64,
    waiting: VecDeque<Request>,
}

impl Sync {
    pub(crate) fn new(outfit: Outfit) -> Result<Self, EngineError> {
        let buffers = outfit.buffers().map_err(unavailable("sync"))?;
        let file_of_slot = outfit.file_of_slot();
        let waiting = VecDeque::with_capacity(buffers.count() as usize);
        let Outfit { files, check, .. } = outfit;
        Ok(Self { clock: Clock::new(), files, file_of_slot, buffers, check, serial: 0, waiting })
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
            let file = &self.files[self.file_of_slot[request.slot as usize] as usize];
            let buffer = (&mut self.buffers, request.slot);
            let result = carry_out(file, buffer, self.check.as_deref(), &request, self.serial);
            done.push(Completion { slot: request.slot, result });
        }
        Ok(())
    }
}
