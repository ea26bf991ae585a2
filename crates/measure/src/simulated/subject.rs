//! Says what every simulated path gives: its environment, what it admits, and an engine for a run.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use halfpower_engine::{Engine, FaultLog, ProcessorAccount};
use halfpower_record::Environment;
use halfpower_spec::{Nanos, Run, Workload};

use crate::MeasureError;

/// What is simulated.
pub(super) trait Subject {
    /// What it is, as a study keeps it.
    fn environment(&self) -> Environment;
    /// Bytes that offsets are drawn from.
    fn span_bytes(&self) -> u64;
    /// Bytes over which these lie in pieces; `None` where they are one part.
    fn spread_bytes(&self) -> Option<u64> {
        None
    }
    /// Lays the span in pieces over all that it holds.
    ///
    /// # Errors
    /// Why it cannot.
    fn spread(&mut self) -> Result<(), MeasureError> {
        unfit("--spread: every byte of this simulated target is as near as every other; leave it out".to_string())
    }
    /// Processors of the machine that the account is about.
    fn cpus(&self) -> u32;
    /// Whether `workload` can be asked of it, beyond what every simulated path is asked.
    fn admits(&self, workload: &Workload) -> Result<(), MeasureError>;
    /// An engine for a run that begins at `start`, with everything at rest.
    fn open(&self, run: &Run, start: Nanos) -> Result<Opened, MeasureError>;
    /// Whether it keeps what is written to it, so that it can be verified.
    fn keeps_contents(&self) -> bool {
        false
    }
    /// Reads back what `run`, opened last, has written: what was found wrong, by kind, and when that was done.
    fn read_back(&self, _: &Run, start: Nanos, _: &AtomicBool) -> Result<(BTreeMap<String, u64>, Nanos), MeasureError> {
        Ok((BTreeMap::new(), start))
    }
    /// The faults that it has injected.
    fn faults(&self) -> FaultLog {
        FaultLog::default()
    }
}

/// What a run is made on.
pub(super) struct Opened {
    /// With slots for `depth` requests and for those of the readers beside.
    pub engine: Box<dyn Engine>,
    pub account: ProcessorAccount,
    pub depth: u32,
    pub range: Range<u64>,
}

/// Refuses settings in a sentence.
pub(super) fn unfit<T>(what: String) -> Result<T, MeasureError> {
    Err(MeasureError::Unfit { what })
}

/// A block of every stream.
pub(super) fn least_bytes(workload: &Workload) -> u64 {
    let streams = u64::from(workload.threads).saturating_mul(u64::from(workload.options.streams.max(1)));
    workload.bs.0.saturating_mul(streams)
}
