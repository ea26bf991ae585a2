//! Defines the answer of `durability`: the cost of durable writes, and how many writes can share it.

use halfpower_spec::Cache;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ratio_finding::RatioFinding;

/// The cost of durable writes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct DurabilityAnswer {
    /// Small writes that are each durable, direct and buffered.
    pub one_at_a_time: Vec<DurableWrites>,
    /// Concurrent durable direct writes.
    pub at_once: Option<DurableAtOnce>,
    /// Writes that share a flush, direct and buffered.
    pub sharing: Vec<SharedFlush>,
    /// The time of a flush after a single write.
    pub flush: Option<FlushTime>,
    /// Writes with the device's write cache switched off.
    pub without_write_cache: Vec<WithoutWriteCache>,
}

/// Small writes that are each durable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DurableWrites {
    /// Block size.
    pub bs_bytes: u64,
    /// The cache setting of the plain writes that they are compared with.
    pub plain_cache: Cache,
    /// Durable writes a second.
    pub iops: f64,
    /// Plain writes a second, for comparison.
    pub plain_iops: f64,
    /// Plain rate over durable rate.
    pub times_slower: RatioFinding,
}

/// Concurrent durable direct writes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DurableAtOnce {
    /// Depth.
    pub iodepth: u32,
    /// Rate as a multiple of one write at a time.
    pub times: RatioFinding,
}

/// Writes that share a flush.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SharedFlush {
    /// Cache setting.
    pub cache: Cache,
    /// Writes per flush: the fewest that get half of the plain rate beyond chance, or if none do, the most measured.
    pub writes: u32,
    /// Throughput as a share of plain writes.
    pub of_plain: RatioFinding,
    /// Whether that is half or more beyond chance: the half-power point.
    pub is_half: bool,
}

/// The time of a flush after a single write.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FlushTime {
    /// Median in nanoseconds, as the mean over runs.
    pub ns_p50: f64,
    /// 99th percentile in nanoseconds, as the mean over runs.
    pub ns_p99: f64,
    /// Smallest median of a run, in nanoseconds.
    pub ns_p50_least: f64,
    /// Largest median of a run, in nanoseconds.
    pub ns_p50_most: f64,
}

/// Writes with the device's write cache switched off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WithoutWriteCache {
    /// Cache setting.
    pub cache: Cache,
    /// Block size.
    pub bs_bytes: u64,
    /// Throughput as a share of the same writes with the write cache.
    pub of_cached: RatioFinding,
}
