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
    /// What a buffered request costs the processor, term by term.
    pub buffered_cost: Vec<BufferedCostRow>,
}

/// A way through or past the page cache at one block size, one request at a time.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, JsonSchema)]
pub struct BufferedRow {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Whether the page cache takes part.
    pub buffered: bool,
    /// What it held of the target.
    pub page_cache: PageCache,
    /// What the kernel was told of the order of reads.
    pub fadvise: Fadvise,
    /// Block size.
    pub bs_bytes: u64,
    /// Mean throughput in MB/s, with the closing flush where it is a buffered write.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Throughput into the page cache, before the closing flush.
    pub memory_mbps: Option<f64>,
    /// Share of the time that the closing flush took.
    pub flush_share: Option<f64>,
    /// Mean latency in nanoseconds.
    pub latency_ns_mean: f64,
    /// Processor time a request charged to the process, in microseconds.
    pub charged_us: f64,
    /// The same by the soaker, so with what reads ahead and writes behind; `null` without its pass.
    pub soaker_us: Option<f64>,
}
