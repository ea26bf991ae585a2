//! Holds the rows of `engines`, as `halfpower report --json` gives them.

use halfpower_spec::{Cache, EngineName, IoMem, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Results of each engine at equal work.
    pub engines: Vec<EngineRow>,
}

/// One engine at one kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct EngineRow {
    /// The engine that was asked for.
    pub engine: EngineName,
    /// Memory of the buffers; `null` if there are none, as in virtual time.
    pub iomem: Option<IoMem>,
    /// Most requests that one call submits, 0 for all that can be submitted; `null` if there are no buffers.
    pub iodepth_batch: Option<u32>,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// Block size.
    pub bs_bytes: u64,
    /// Depth asked for.
    pub iodepth: u32,
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
    /// 99th percentile of the latency, in nanoseconds.
    pub latency_ns_p99: u64,
    /// Processor time per request charged to the process, in microseconds.
    pub charged_us: f64,
    /// Processor time per request by the soaker, which includes interrupts and kernel threads; `null` without a soaker
    /// pass.
    pub soaker_us: Option<f64>,
}
