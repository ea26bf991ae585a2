//! Holds the rows of `durability`, as `halfpower report --json` gives them.

use halfpower_analyse::Interval;
use halfpower_spec::{Cache, Switch};
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Writes at different levels of durability.
    pub durability: Vec<DurabilityRow>,
}

/// Sequential writes with one kind of durability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DurabilityRow {
    /// Cache setting; with `os` and `none`, each write is durable.
    pub cache: Cache,
    /// Writes per fdatasync; 0 means no fdatasync between writes.
    pub fdatasync: u32,
    /// State of the device's write cache, if it was switched.
    pub write_cache: Option<Switch>,
    /// Depth asked for.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Mean throughput in MB/s, including all flushes.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Writes a second.
    pub iops: f64,
    /// Median latency of a write in nanoseconds, without the flushes between writes.
    pub latency_ns_p50: u64,
    /// 99th percentile of that latency, in nanoseconds.
    pub latency_ns_p99: u64,
    /// Median time of an fdatasync between writes in nanoseconds, as the mean over runs.
    pub sync_ns_p50: Option<f64>,
    /// 99th percentile of that time in nanoseconds, as the mean over runs.
    pub sync_ns_p99: Option<f64>,
    /// Throughput as a share of the same writes without durability.
    pub of_plain: Option<Interval>,
}
