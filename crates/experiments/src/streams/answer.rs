//! Defines the answer of `streams`: how streams slow each other, and how random readers slow one.

use halfpower_spec::Cache;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ratio_finding::RatioFinding;

/// How streams and random readers slow each other.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct StreamsAnswer {
    /// The most concurrent streams compared with one, by cache setting.
    pub side_by_side: Vec<StreamsTogether>,
    /// One direct stream among the most random readers.
    pub among_readers: Option<StreamAmongReaders>,
}

/// Concurrent streams.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StreamsTogether {
    /// Whether the page cache took part.
    pub cache: Cache,
    /// Number of streams.
    pub streams: u32,
    /// Total throughput in MB/s.
    pub mbps: f64,
    /// Throughput of one stream alone in MB/s.
    pub one_mbps: f64,
    /// `mbps` as a share of `one_mbps`.
    pub of_one: RatioFinding,
}

/// One stream among random readers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StreamAmongReaders {
    /// Number of random readers.
    pub random_readers: u32,
    /// Requests that the stream keeps in flight.
    pub iodepth: u32,
    /// The stream's throughput as a share of that alone.
    pub of_alone: RatioFinding,
    /// Requests of 8 KiB a second that all random readers got.
    pub readers_iops: Option<f64>,
}
