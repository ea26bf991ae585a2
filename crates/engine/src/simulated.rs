//! Carries requests through a simulated storage path, with a clock of virtual time.
//!
//! Requests enter the path at the clock's current time. Waiting moves the clock to the awaited completion; time passes
//! in no other way. A separate handle reads the processor time spent in virtual time, because the simulating process
//! itself spends a different amount.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halfpower_model::{DiskPath, Moment, PathModel, ProcessorTime, Submission};
use halfpower_spec::{Nanos, SimulatedDisk};

use crate::{Completion, Engine, EngineError, Operation, Request};

/// The engine of `sim:` targets.
pub struct Simulated {
    path: Box<dyn PathModel>,
    depth: usize,
    in_flight: usize,
    clock: Moment,
    account: ProcessorAccount,
}

/// The processor time that a simulated path has cost so far, and its clock; clones share one account.
#[derive(Debug, Clone, Default)]
pub struct ProcessorAccount(Arc<Spent>);

#[derive(Debug, Default)]
struct Spent {
    clock_ns: AtomicU64,
    charged_ns: AtomicU64,
    unseen_ns: AtomicU64,
}

impl ProcessorAccount {
    /// Cost of the requests reaped since the engine was made.
    pub fn read(&self) -> ProcessorTime {
        ProcessorTime {
            charged_ns: self.0.charged_ns.load(Ordering::Relaxed),
            unseen_ns: self.0.unseen_ns.load(Ordering::Relaxed),
        }
    }

    /// The engine's clock at its last reap.
    pub fn now(&self) -> Nanos {
        Nanos(self.0.clock_ns.load(Ordering::Relaxed))
    }

    pub(crate) fn write(&self, clock: Moment, spent: ProcessorTime) {
        self.0.clock_ns.store(clock.nanos().0, Ordering::Relaxed);
        self.0.charged_ns.store(spent.charged_ns, Ordering::Relaxed);
        self.0.unseen_ns.store(spent.unseen_ns, Ordering::Relaxed);
    }
}

impl Simulated {
    /// The engine over the idle `disk`, for at most `depth` requests in flight; its clock begins at `start`.
    ///
    /// `run_seed` and the disk's own seed determine everything random.
    pub fn new(disk: &SimulatedDisk, depth: u32, run_seed: u64, start: Nanos) -> Self {
        Self::over(Box::new(DiskPath::new(disk, run_seed)), depth, start)
    }

    /// The engine over any `path` with nothing in flight.
    pub fn over(path: Box<dyn PathModel>, depth: u32, start: Nanos) -> Self {
        let account = ProcessorAccount::default();
        account.write(start.into(), path.processor_time());
        Self { path, depth: depth as usize, in_flight: 0, clock: start.into(), account }
    }

    /// A handle that reads the processor time, even while the engine is owned elsewhere.
    pub fn processor_time(&self) -> ProcessorAccount {
        self.account.clone()
    }
}

impl Engine for Simulated {
    fn now(&self) -> Nanos {
        self.clock.nanos()
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        self.in_flight += batch.len();
        assert!(self.in_flight <= self.depth, "{} requests in {} slots", self.in_flight, self.depth);
        for request in batch {
            self.path.submit(self.clock, submission(request));
        }
        Ok(())
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        assert!(least <= self.in_flight, "{least} completions are waited for, {} are in flight", self.in_flight);
        let mut reaped = 0;
        loop {
            let until = if reaped < least { Moment::END } else { self.clock };
            let Some(completed) = self.path.next_by(until).and_then(|_| self.path.pop()) else { break };
            self.clock = self.clock.max(completed.at);
            done.push(Completion { slot: completed.token, result: Ok(completed.bytes) });
            reaped += 1;
        }
        self.in_flight -= reaped;
        self.account.write(self.clock, self.path.processor_time());
        Ok(())
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let until = Moment::from(until);
        let first = self.path.next_by(until).unwrap_or(until);
        self.clock = self.clock.max(first);
        self.reap(0, done)
    }
}

fn submission(request: &Request) -> Submission {
    let operation = operation(request.operation);
    Submission { token: request.slot, operation, offset: request.offset, length: request.length }
}

/// Converts an operation to the model's type.
pub(crate) fn operation(operation: Operation) -> halfpower_model::Operation {
    match operation {
        Operation::Read => halfpower_model::Operation::Read,
        // A simulated disk has no trims, and nobody requests one.
        Operation::Write | Operation::Trim => halfpower_model::Operation::Write,
        Operation::Flush => halfpower_model::Operation::Flush,
    }
}
