//! Holds the rows of `burst`, as `halfpower report --json` gives them.

use halfpower_analyse::Interval;
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// The same few blocks again and again, by so many members.
    pub burst: Vec<BurstRow>,
    /// What a request for the same block again costs in time; one row, or none.
    pub overhead: Vec<OverheadRow>,
    /// Requests after a pause: of the block before, of the one that follows it, of any.
    pub hits: Vec<HitRow>,
}

/// The same few blocks again and again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BurstRow {
    /// Members that read them, each its own and all at once.
    pub n: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Requests kept outstanding by each member.
    pub iodepth: u32,
    /// Throughput of all together in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// How many times as much that is as sequential reads of new blocks give in the same way; `null` where those were
    /// not measured, or nothing twice.
    pub of_new: Option<Interval>,
}

/// time = fixed + size x per KiB, of requests for the same block again, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct OverheadRow {
    /// Time of a request whatever its size, in microseconds.
    pub fixed_us: Interval,
    /// Time of each KiB more.
    pub us_per_kib: Interval,
    /// Throughput by the latter alone, in MB/s; `null` where size adds no time.
    pub mbps: Option<f64>,
}

/// What a request asks for after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hit {
    /// The block that was read before: a cache hit where something keeps it.
    Same,
    /// The block after it: a prefetch hit where something reads ahead.
    Next,
    /// Any.
    Any,
}

/// How long requests after a pause take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HitRow {
    /// Which block.
    pub hit: Hit,
    /// Block size.
    pub bs_bytes: u64,
    /// The pause in nanoseconds.
    pub pause_ns: u64,
    /// Median latency in nanoseconds, the mean over runs.
    pub latency_ns_p50: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}
