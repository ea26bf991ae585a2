//! Holds the rows of `processors`, as `halfpower report --json` gives them.

use halfpower_spec::{Affinity, Cache, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// The same work on one processor and on all, and on the interrupts' processor and on another.
    pub processors: Vec<ProcessorRow>,
}

/// One kind of work on one set of processors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ProcessorRow {
    /// Which processors the submitting threads may use.
    pub affinity: Affinity,
    /// Submitting threads.
    pub threads: u32,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Depth of each thread.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Mean throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Requests a second.
    pub iops: f64,
    /// Median latency in nanoseconds.
    pub latency_ns_p50: u64,
    /// Processor time per request charged to the process, in microseconds.
    pub charged_us: f64,
    /// Processor time per request by the soaker, which includes interrupts and kernel threads; `null` without a soaker
    /// pass.
    pub soaker_us: Option<f64>,
}
