//! Defines what a witness needs so that it measures at its own end.

use halfpower_record::Record;
use halfpower_spec::{Bytes, Run, Way};

/// Ways to the files of this machine by which runs are measured for the other end.
pub trait Ways {
    /// Which there are.
    fn offered(&self) -> Vec<Way>;
    /// Measures a run by its way, on a file of this size.
    ///
    /// # Errors
    /// Why it cannot be measured, in a sentence without its full stop.
    fn measure(&mut self, run: &Run, size: Bytes) -> Result<Record, String>;
}

/// None: the witness only looks.
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
