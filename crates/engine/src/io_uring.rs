//! What does the kernel's asynchronous interface give? Requests are queued, and one call sends and waits.

use std::sync::Arc;

use os::{Clock, Ring, RingOperation, Transfer};
use spec::Nanos;

use crate::check::Check;
use crate::outfit::Outfit;
use crate::{Completion, Engine, EngineError, Errno, Operation, Request, unavailable};

/// For each so many requests in flight one outcome more is waited for than asked: at a depth of 32 two at a time go out
/// and come back, at 128 five. It spares calls and wake-ups, and on average one slot in 64 waits for its turn, so that
/// neither depth nor latency changes by more than that.
const IN_FLIGHT_FOR_ONE_MORE: usize = 32;

/// Requests over an io_uring with registered buffers and file; without a file each is the kernel's no-op.
// Cache lines of its own, and the neighbour that processors fetch along: lanes run side by side.
#[repr(align(128))]
pub(crate) struct IoUring {
    clock: Clock,
    ring: Ring,
    /// Whether there is a file that may be written to.
    writes: bool,
    check: Option<Arc<Check>>,
    serial: u64,
}

impl IoUring {
    pub(crate) fn new(outfit: Outfit) -> Result<Self, EngineError> {
        let buffers = outfit.buffers().map_err(unavailable("io_uring"))?;
        let writes = outfit.files.iter().any(|file| file.mode().write);
        let ring = Ring::new(buffers, outfit.files).map_err(unavailable("io_uring"))?;
        Ok(Self { clock: Clock::new(), ring, writes, check: outfit.check, serial: 0 })
    }

    fn stamp(&mut self, batch: &[Request]) {
        for request in batch.iter().filter(|request| request.operation == Operation::Write) {
            self.serial += 1;
            match &self.check {
                None => self.ring.stamp(request.slot, request.length, self.serial),
                Some(check) => {
                    check.seal(request.slot, &mut self.ring.slot_mut(request.slot)[..request.length as usize])
                }
            }
        }
    }
}

impl Engine for IoUring {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.clock.now_ns())
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        if self.writes {
            self.stamp(batch);
        }
        self.ring.push(batch.iter().map(transfer));
        Ok(())
    }

    #[inline]
    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let more = if least > 0 { self.ring.in_flight() / IN_FLIGHT_FOR_ONE_MORE } else { 0 };
        self.ring.submit_and_wait(least + more).map_err(|error| EngineError::Call { call: "io_uring_enter", error })?;
        let before = done.len();
        self.ring.reap(|reaped| done.push(Completion { slot: reaped.slot, result: reaped.result.map_err(Errno) }));
        if let Some(check) = &self.check {
            for completion in &mut done[before..] {
                let look = |moved| check.look(completion.slot, self.ring.slot(completion.slot), moved);
                completion.result = completion.result.and_then(look);
            }
        }
        Ok(())
    }
}

#[inline]
fn transfer(request: &Request) -> Transfer {
    let (operation, length) = match request.operation {
        Operation::Read => (RingOperation::Read, request.length),
        Operation::Write => (RingOperation::Write, request.length),
        Operation::Flush => (RingOperation::Flush, 0),
    };
    Transfer { slot: request.slot, operation, offset: request.offset, length }
}
