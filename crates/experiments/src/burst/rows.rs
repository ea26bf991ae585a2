//! Holds the rows of `burst`, as `halfpower report --json` gives them.

use halfpower_analyse::Interval;
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Rereads of the same few blocks, by number of members.
    pub burst: Vec<BurstRow>,
    /// The time of a reread by block size; one row or none.
    pub overhead: Vec<OverheadRow>,
    /// Requests after a pause: for the last block read, the block after it, or any other.
    pub hits: Vec<HitRow>,
}

/// Rereads of the same few blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BurstRow {
    /// Members that are read at once, each its own blocks.
    pub n: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Requests kept outstanding per member.
    pub iodepth: u32,
    /// Total throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Throughput as a multiple of sequential reads of new blocks with the same settings; `null` if those were not
    /// measured, or if nothing was measured twice.
    pub of_new: Option<Interval>,
}

/// The fit time = fixed + size x per KiB, for rereads of one block at depth 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct OverheadRow {
    /// Time per request, whatever its size, in microseconds.
    pub fixed_us: Interval,
    /// Additional time per KiB, in microseconds.
    pub us_per_kib: Interval,
    /// Throughput from `us_per_kib` alone, in MB/s; `null` if size adds no time.
    pub mbps: Option<f64>,
}

/// The block requested after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hit {
    /// The last block read: a hit if a cache keeps it.
    Same,
    /// The block after it: a hit if something reads ahead.
    Next,
    /// Any block.
    Any,
}

/// Latency of requests after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HitRow {
    /// The block requested.
    pub hit: Hit,
    /// Block size.
    pub bs_bytes: u64,
    /// The pause in nanoseconds.
    pub pause_ns: u64,
    /// Median latency in nanoseconds, as the mean over runs.
    pub latency_ns_p50: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}
