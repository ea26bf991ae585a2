//! Defines what `durability` finds: what it costs to have writes on the medium, and how many can share that cost.

use halfpower_spec::Cache;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ratio_finding::RatioFinding;

/// What durable writes lose.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct DurabilityAnswer {
    /// Small writes that are durable one by one, direct and buffered.
    pub one_at_a_time: Vec<DurableWrites>,
    /// Durable direct writes, many at once.
    pub at_once: Option<DurableAtOnce>,
    /// Writes that share a flush, direct and buffered.
    pub sharing: Vec<SharedFlush>,
    /// What a flush after a single write takes.
    pub flush: Option<FlushTime>,
    /// Writes with the device's write cache switched off.
    pub without_write_cache: Vec<WithoutWriteCache>,
}

/// Small writes that are durable one by one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DurableWrites {
    /// Block size.
    pub bs_bytes: u64,
    /// The cache setting of the plain writes that they are compared with.
    pub plain_cache: Cache,
    /// Durable writes a second.
    pub iops: f64,
    /// Plain writes a second.
    pub plain_iops: f64,
    /// How many times as fast plain writes are.
    pub times_slower: RatioFinding,
}

/// Durable direct writes, many at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DurableAtOnce {
    /// How many.
    pub iodepth: u32,
    /// How many times as fast as one at a time.
    pub times: RatioFinding,
}

/// Writes that share a flush.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SharedFlush {
    /// Cache setting.
    pub cache: Cache,
    /// Writes for each flush: the fewest that surely get half of the plain rate, and where none does the most measured.
    pub writes: u32,
    /// Their throughput as a share of that of plain writes.
    pub of_plain: RatioFinding,
    /// Whether that is surely half or more: the half-power point.
    pub is_half: bool,
}

/// What a flush after a single write takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FlushTime {
    /// Median in nanoseconds, the mean over runs.
    pub ns_p50: f64,
    /// 99th percentile, likewise.
    pub ns_p99: f64,
    /// The least median of a run.
    pub ns_p50_least: f64,
    /// The largest.
    pub ns_p50_most: f64,
}

/// What writes keep without the device's write cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WithoutWriteCache {
    /// Cache setting.
    pub cache: Cache,
    /// Block size.
    pub bs_bytes: u64,
    /// Throughput as a share of that with the write cache.
    pub of_cached: RatioFinding,
}
