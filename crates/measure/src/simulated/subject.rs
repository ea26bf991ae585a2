//! Defines the interface of simulated paths: the environment, which workloads can run, and an engine for a run.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use halfpower_engine::{Engine, FaultLog, ProcessorAccount};
use halfpower_record::{Environment, Predicted};
use halfpower_spec::{Nanos, Run, Workload};

use crate::MeasureError;
use crate::option_answers::Backend;

/// A simulated path.
pub(super) trait Subject {
    /// Its environment, for the study.
    fn environment(&self) -> Environment;
    /// Bytes that offsets are drawn from.
    fn span_bytes(&self) -> u64;
    /// Bytes over which these are spread in pieces; `None` if they are contiguous.
    fn spread_bytes(&self) -> Option<u64> {
        None
    }
    /// Spreads the span in pieces over its whole capacity.
    ///
    /// # Errors
    /// Why it cannot.
    fn spread(&mut self) -> Result<(), MeasureError> {
        unfit("--spread: every byte of this simulated target is as near as every other; leave it out".to_string())
    }
    /// Number of processors of the machine that is accounted for.
    fn cpus(&self) -> u32;
    /// What it is, for the answers to options.
    fn backend(&self) -> Backend;
    /// Checks that it can run `workload`, beyond the checks that all simulated paths share.
    fn admits(&self, workload: &Workload) -> Result<(), MeasureError>;
    /// How far the rate of a workload may be from the truth, if it is predicted from a calibration.
    fn predicted(&self, _: &Workload) -> Option<Predicted> {
        None
    }
    /// An engine for a run that begins at `start`, with the path idle.
    fn open(&self, run: &Run, start: Nanos) -> Result<Opened, MeasureError>;
    /// Reads back what the last opened `run` has written; returns the number of bad blocks, by kind of error, and the
    /// time at the end.
    fn read_back(&self, _: &Run, start: Nanos, _: &AtomicBool) -> Result<(BTreeMap<String, u64>, Nanos), MeasureError> {
        Ok((BTreeMap::new(), start))
    }
    /// The faults that it has injected.
    fn faults(&self) -> FaultLog {
        FaultLog::default()
    }
}

/// The engine of a run, with its account.
pub(super) struct Opened {
    /// Has slots for `depth` requests and for those of the background readers.
    pub engine: Box<dyn Engine>,
    pub account: ProcessorAccount,
    pub depth: u32,
    pub range: Range<u64>,
}

/// Returns [`MeasureError::Unfit`] with this sentence.
pub(super) fn unfit<T>(what: String) -> Result<T, MeasureError> {
    Err(MeasureError::Unfit { what })
}

/// The smallest span of a workload: one block for every stream.
pub(super) fn least_bytes(workload: &Workload) -> u64 {
    let streams = u64::from(workload.threads).saturating_mul(u64::from(workload.options.streams.max(1)));
    workload.bs.0.saturating_mul(streams)
}
