//! Records each request in the target's ledger, so that reads can be judged right or wrong.

use std::sync::Arc;

use halfpower_spec::Nanos;

use crate::check::Check;
use crate::{Completion, Engine, EngineError, Request};

/// Requests whose bytes are verified.
pub(crate) struct Verified {
    engine: Box<dyn Engine>,
    check: Arc<Check>,
    /// Bytes of the request in each slot.
    lengths: Vec<u32>,
}

impl Verified {
    pub(crate) fn new(engine: Box<dyn Engine>, check: Arc<Check>, depth: u32) -> Self {
        Self { engine, check, lengths: vec![0; depth as usize] }
    }

    fn end(&self, done: &[Completion]) {
        for completion in done {
            self.check.end(completion.slot, completion.result == Ok(self.lengths[completion.slot as usize]));
        }
    }
}

impl Engine for Verified {
    fn now(&self) -> Nanos {
        self.engine.now()
    }

    fn resubmitted_ios(&self) -> u64 {
        self.engine.resubmitted_ios()
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for request in batch {
            self.lengths[request.slot as usize] = request.length;
            self.check.begin(request);
        }
        self.engine.submit(batch)
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        self.engine.reap(least, done)?;
        self.end(&done[before..]);
        Ok(())
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        self.engine.reap_until(until, done)?;
        self.end(&done[before..]);
        Ok(())
    }
}
