//! Carries requests through the kernel's older asynchronous interface.
//!
//! Direct requests are in flight together. For requests through the page cache `io_submit` completes each before the
//! next, so the depth is 1 whatever was requested.

use std::sync::Arc;
use std::time::Duration;

use halfpower_os::{Aio, Clock, Reaped, Transfer};
use halfpower_spec::Nanos;

use crate::check::Check;
use crate::config::EngineConfig;
use crate::pause::{rest, wait_until};
use crate::{BufferState, Completion, Engine, EngineError, Errno, Operation, Request, unavailable};

/// Requests through `io_submit` and `io_getevents`, issued as programs with the libaio library do.
// Aligned to two cache lines, which processors fetch together, so that lanes do not slow each other.
#[repr(align(128))]
pub(crate) struct Libaio {
    clock: Clock,
    aio: Aio,
    check: Option<Arc<Check>>,
    serial: u64,
}

impl Libaio {
    pub(crate) fn new(config: EngineConfig) -> Result<Self, EngineError> {
        let buffers = config.buffers().map_err(unavailable("libaio"))?;
        let batch = config.batch();
        let aio = Aio::new(buffers, config.files).map_err(unavailable("libaio"))?.in_batches(batch);
        Ok(Self { clock: Clock::new(), aio, check: config.check, serial: 0 })
    }

    fn take(&mut self, least: usize, limit: Option<Duration>, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        let take = |reaped: Reaped| done.push(Completion { slot: reaped.slot, result: reaped.result.map_err(Errno) });
        self.aio.reap(least, limit, take).map_err(|error| EngineError::Call { call: "io_getevents", error })?;
        if let Some(check) = &self.check {
            for completion in &mut done[before..] {
                let look = |moved| check.verify(completion.slot, self.aio.slot(completion.slot), moved);
                completion.result = completion.result.and_then(look);
            }
        }
        Ok(())
    }
}

impl Engine for Libaio {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.clock.now_ns())
    }

    fn buffers(&self) -> BufferState {
        BufferState { segments: self.aio.segments(), ..BufferState::default() }
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for request in batch.iter().filter(|request| request.operation == Operation::Write) {
            self.serial += 1;
            match &self.check {
                None => self.aio.stamp(request.slot, request.offset, request.length, self.serial),
                Some(check) => {
                    check.write_headers(request.slot, &mut self.aio.slot_mut(request.slot)[..request.length as usize]);
                }
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        self.aio
            .submit(batch.iter().map(Transfer::from))
            .map_err(|error| EngineError::Call { call: "io_submit", error })
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.take(least, None, done)
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        wait_until(self, until, done, |engine, time, done| {
            if engine.aio.in_flight() == 0 {
                rest(time);
            }
            engine.take(usize::from(time.is_some()), time, done)
        })
    }
}
