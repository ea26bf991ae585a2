//! Maps the offsets of a span to the places of its pieces on the target.

use halfpower_spec::{Nanos, Spread};

use crate::{BufferState, Completion, Engine, EngineError, Request};

/// An engine that addresses a span whose pieces are spread over the target.
pub struct SpreadOver {
    engine: Box<dyn Engine>,
    spread: Spread,
    batch: Vec<Request>,
}

impl SpreadOver {
    /// Wraps `engine` with `depth` slots for a span spread by `spread`.
    pub fn new(engine: Box<dyn Engine>, spread: Spread, depth: u32) -> Self {
        Self { engine, spread, batch: Vec::with_capacity(depth as usize) }
    }
}

impl Engine for SpreadOver {
    fn now(&self) -> Nanos {
        self.engine.now()
    }

    fn settle(&mut self) -> Result<(), EngineError> {
        self.engine.settle()
    }

    fn buffers(&self) -> BufferState {
        self.engine.buffers()
    }

    fn resubmitted_ios(&self) -> u64 {
        self.engine.resubmitted_ios()
    }

    fn unjudged_reads(&self) -> u64 {
        self.engine.unjudged_reads()
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        let spread = self.spread;
        self.batch.clear();
        self.batch.extend(batch.iter().map(|request| Request { offset: spread.place(request.offset), ..*request }));
        self.engine.submit(&self.batch)
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.engine.reap(least, done)
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.engine.reap_until(until, done)
    }
}
