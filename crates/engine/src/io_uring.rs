//! Carries requests through an io_uring: one call submits requests and waits for completions.

use std::sync::Arc;

use halfpower_os::{Clock, Namespace, Ring, RingForm, RunFile, Transfer};
use halfpower_spec::{EngineName, Nanos};

use crate::check::Check;
use crate::config::EngineConfig;
use crate::pause::{rest, wait_until};
use crate::{BufferState, Completion, Engine, EngineError, Errno, Operation, Request, unavailable};

/// A wait asks for one more completion for each of this many requests in flight: two at depth 32, five at depth 128.
/// That saves calls and wake-ups. On average one slot in 64 stays idle for it, so depth and latency change by no more
/// than that.
const IN_FLIGHT_FOR_ONE_MORE: usize = 32;

/// An io_uring in one of its forms; without a file each request is a kernel no-op.
// Aligned to two cache lines, which processors fetch together, so that lanes do not slow each other.
#[repr(align(128))]
pub(crate) struct IoUring {
    clock: Clock,
    ring: Ring,
    /// Most requests that one call submits.
    batch: usize,
    /// Whether there is a file that may be written to.
    writes: bool,
    /// Whether buffers should be registered: there is a file, and this form of ring registers them.
    registers: bool,
    check: Option<Arc<Check>>,
    serial: u64,
    /// Whether a flush needs a separate call because this form of ring takes none.
    flushes_itself: bool,
    /// The namespace that each slot's commands go to; empty if requests are reads and writes.
    namespaces: Vec<Namespace>,
    /// Completions of requests that are answered without the ring.
    answered: Vec<Completion>,
}

/// The name of the engine whose ring is of this form.
fn name(form: RingForm) -> &'static str {
    let name = match form {
        RingForm::Registered => EngineName::IoUring,
        RingForm::Plain => EngineName::Plain,
        RingForm::Sqpoll => EngineName::Sqpoll,
        RingForm::Iopoll => EngineName::Iopoll,
        RingForm::Hybrid => EngineName::Hybrid,
        RingForm::Commands => EngineName::Commands,
        RingForm::PolledCommands => EngineName::PolledCommands,
    };
    name.word()
}

/// The namespace of each slot.
fn namespaces(config: &EngineConfig) -> Vec<Namespace> {
    let of_file = |file: u32| config.files.get(file as usize).and_then(RunFile::namespace);
    config.file_of_slot().into_iter().filter_map(of_file).collect()
}

impl IoUring {
    pub(crate) fn new(form: RingForm, config: EngineConfig) -> Result<Self, EngineError> {
        let buffers = config.buffers().map_err(unavailable(name(form)))?;
        // The kernel maps the buffers of commands for each of them.
        let registers = form != RingForm::Plain && !form.sends_commands() && !config.files.is_empty();
        let writes = config.files.iter().any(|file| file.mode().write);
        let answered = Vec::with_capacity(buffers.count() as usize);
        let namespaces = if form.sends_commands() { namespaces(&config) } else { Vec::new() };
        let batch = config.batch();
        let ring = Ring::within(config.lane_memory.locked_bytes, form, buffers, config.files)
            .map_err(unavailable(name(form)))?
            .in_batches(batch)
            .by_workers(config.by_workers);
        let batch = batch.map_or(usize::MAX, |batch| batch.get() as usize);
        let check = config.check;
        let flushes_itself = form.polls_device();
        let clock = Clock::new();
        let serial = 0;
        Ok(Self { clock, ring, batch, writes, registers, check, serial, flushes_itself, namespaces, answered })
    }

    #[inline]
    fn take(&mut self, done: &mut Vec<Completion>) {
        let before = done.len();
        self.ring.reap(|reaped| done.push(Completion { slot: reaped.slot, result: reaped.result.map_err(Errno) }));
        if let Some(check) = &self.check {
            for completion in &mut done[before..] {
                let look = |moved| check.verify(completion.slot, self.ring.slot(completion.slot), moved);
                completion.result = completion.result.and_then(look);
            }
        }
    }

    /// Answers at once what this form of ring does not take, and pushes all other requests to the ring: it carries out
    /// flushes, and requests that no command can carry are errors, as the block layer says of them.
    fn push_what_it_takes(&mut self, batch: &[Request]) {
        let namespaces = &self.namespaces;
        let is_taken = |request: &&Request| match request.operation {
            Operation::Flush => !self.flushes_itself,
            _ => {
                let namespace = namespaces.get(request.slot as usize);
                namespace.is_none_or(|namespace| namespace.takes(request.offset, request.length))
            }
        };
        for request in batch.iter().filter(|request| !is_taken(request)) {
            let result = match request.operation {
                Operation::Flush => self.ring.flush(request.slot).map(|()| 0).map_err(|error| Errno::of(&error)),
                _ => Err(Errno::INVALID),
            };
            self.answered.push(Completion { slot: request.slot, result });
        }
        self.ring.push(batch.iter().filter(is_taken).map(Transfer::from));
    }

    fn stamp(&mut self, batch: &[Request]) {
        for request in batch.iter().filter(|request| request.operation == Operation::Write) {
            self.serial += 1;
            match &self.check {
                None => self.ring.stamp(request.slot, request.offset, request.length, self.serial),
                Some(check) => {
                    check.write_headers(request.slot, &mut self.ring.slot_mut(request.slot)[..request.length as usize])
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

    fn buffers(&self) -> BufferState {
        let unregistered = self.registers && !self.ring.has_registered_buffers();
        BufferState { unregistered, segments: self.ring.segments() }
    }

    fn resubmitted_ios(&self) -> u64 {
        self.ring.resubmitted()
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        if self.writes {
            self.stamp(batch);
        }
        if self.flushes_itself || !self.namespaces.is_empty() {
            self.push_what_it_takes(batch);
        } else {
            self.ring.push(batch.iter().map(Transfer::from));
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let least = least.saturating_sub(self.answered.len());
        done.append(&mut self.answered);
        // Completions that arrive together are resubmitted together, at most one call's batch.
        let more = (self.ring.in_flight() / IN_FLIGHT_FOR_ONE_MORE).min(self.batch - 1);
        let more = if least > 0 { more } else { 0 };
        let before = done.len();
        let least = least.min(self.ring.in_flight());
        loop {
            let resubmitted = self.ring.resubmitted();
            self.ring.submit_and_wait((least + more).saturating_sub(done.len() - before)).map_err(refused)?;
            self.take(done);
            // Requests sent again are still awaited.
            if done.len() - before >= least || self.ring.resubmitted() == resubmitted {
                return Ok(());
            }
        }
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        wait_until(self, until, done, |engine, time, done| match time {
            Some(_) if engine.ring.in_flight() == 0 && engine.answered.is_empty() => {
                rest(time);
                Ok(())
            }
            Some(time) if engine.ring.can_wait_for_a_time() => {
                engine.ring.submit_and_wait_at_most(time).map_err(refused)?;
                engine.take(done);
                Ok(())
            }
            _ => engine.reap(0, done),
        })
    }
}

fn refused(error: std::io::Error) -> EngineError {
    EngineError::Call { call: "io_uring_enter", error }
}
