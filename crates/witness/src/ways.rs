//! Defines how a witness measures runs at its own end.

use halfpower_record::Record;
use halfpower_spec::{Bytes, Run, Way};

/// Ways to reach this machine's files, by which a witness measures runs for the other end.
pub trait Ways {
    /// The available ways.
    fn offered(&self) -> Vec<Way>;
    /// Measures a run by its way, on a file of this size.
    ///
    /// # Errors
    /// A sentence, without its full stop, that says why the run cannot be measured.
    fn measure(&mut self, run: &Run, size: Bytes) -> Result<Record, String>;
}

/// No ways: the witness only observes.
#[derive(Debug, Clone, Copy)]
pub struct NoWays;

impl Ways for NoWays {
    fn offered(&self) -> Vec<Way> {
        Vec::new()
    }

    fn measure(&mut self, run: &Run, _size: Bytes) -> Result<Record, String> {
        Err(format!("this witness measures nothing by the way {}", run.workload.options.way))
    }
}
