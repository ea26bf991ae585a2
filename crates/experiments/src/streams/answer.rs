//! Defines what `streams` finds: what streams take from each other, and what random readers take from one.

use halfpower_spec::Cache;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ratio_finding::RatioFinding;

/// What streams keep beside others.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct StreamsAnswer {
    /// The most streams side by side against one, by cache setting.
    pub side_by_side: Vec<StreamsTogether>,
    /// One direct stream among the most random readers.
    pub among_readers: Option<StreamAmongReaders>,
}

/// Streams side by side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StreamsTogether {
    /// Whether the page cache took part.
    pub cache: Cache,
    /// How many.
    pub streams: u32,
    /// Throughput of all together in MB/s.
    pub mbps: f64,
    /// Throughput of one alone in MB/s.
    pub one_mbps: f64,
    /// The first as a share of the second.
    pub of_one: RatioFinding,
}

/// One stream among random readers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StreamAmongReaders {
    /// Random readers.
    pub random_readers: u32,
    /// Requests that the stream keeps in flight.
    pub iodepth: u32,
    /// Its throughput as a share of that of the stream alone.
    pub of_alone: RatioFinding,
    /// Requests of 8 KiB a second that all random readers got.
    pub readers_iops: Option<f64>,
}
