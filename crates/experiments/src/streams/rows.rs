//! Holds the rows of `streams`, as `halfpower report --json` gives them.

use halfpower_spec::Cache;
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Concurrent sequential streams, and one stream among random readers.
    pub streams: Vec<StreamRow>,
}

/// Concurrent sequential streams, or one stream among random readers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StreamRow {
    /// Whether the page cache took part.
    pub cache: Cache,
    /// Requests in flight over all streams together.
    pub iodepth: u32,
    /// Number of sequential streams.
    pub streams: u32,
    /// Number of random readers beside them.
    pub random_readers: u32,
    /// Throughput of all streams together in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Throughput as a share of that of a single stream alone; `null` if that is not known.
    pub of_one: Option<f64>,
    /// Requests of 8 KiB a second that all random readers got.
    pub readers_iops: Option<f64>,
}
