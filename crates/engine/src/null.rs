//! Completes every request at once and touches nothing, to measure the cost of the harness itself.

use halfpower_os::Clock;
use halfpower_spec::Nanos;

use crate::pause::{rest, wait_until};
use crate::{Completion, Engine, EngineError, Operation, Request};

/// Completes each request at once, as if it had moved all its bytes.
// Aligned to two cache lines, which processors fetch together, so that lanes do not slow each other.
#[repr(align(128))]
pub(crate) struct Null {
    clock: Clock,
    complete: Vec<Completion>,
}

impl Null {
    pub(crate) fn new(depth: u32) -> Self {
        Self { clock: Clock::new(), complete: Vec::with_capacity(depth as usize) }
    }
}

impl Engine for Null {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.clock.now_ns())
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        self.complete.extend(batch.iter().map(|request| Completion {
            slot: request.slot,
            result: Ok(if request.operation == Operation::Flush { 0 } else { request.length }),
        }));
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        done.append(&mut self.complete);
        Ok(())
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        wait_until(self, until, done, |engine, time, done| {
            if engine.complete.is_empty() {
                rest(time);
            }
            engine.reap(0, done)
        })
    }
}
