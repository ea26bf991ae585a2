//! Holds the rows of `buffered`, as `halfpower report --json` gives them.

use super::cost::BufferedCostRow;
use halfpower_spec::{Direction, Fadvise, PageCache, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Requests through the page cache and past it, by block size.
    pub buffered: Vec<BufferedRow>,
    /// Processor cost of a buffered request, term by term.
    pub buffered_cost: Vec<BufferedCostRow>,
}

/// Buffered or direct requests at one block size, at depth 1.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, JsonSchema)]
pub struct BufferedRow {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Whether requests go through the page cache.
    pub buffered: bool,
    /// State of the page cache when the run began.
    pub page_cache: PageCache,
    /// Advice to the kernel on the order of reads.
    pub fadvise: Fadvise,
    /// Block size.
    pub bs_bytes: u64,
    /// Mean throughput in MB/s; includes the closing flush of buffered writes.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Throughput into the page cache in MB/s, before the closing flush.
    pub memory_mbps: Option<f64>,
    /// Share of the time that the closing flush took.
    pub flush_share: Option<f64>,
    /// Mean latency in nanoseconds.
    pub latency_ns_mean: f64,
    /// Processor time per request charged to the process, in microseconds.
    pub charged_us: f64,
    /// Processor time per request by the soaker, which includes read-ahead and write-behind; `null` without a soaker
    /// pass.
    pub soaker_us: Option<f64>,
}
