//! Holds the rows of `zones`, as `halfpower report --json` gives them.

use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Parts of the target that are equally fast, from its first byte to its last.
    pub zones: Vec<ZoneRow>,
}

/// A part of the target in which throughput is the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ZoneRow {
    /// Its first byte.
    pub from_bytes: u64,
    /// The byte after its last.
    pub to_bytes: u64,
    /// Mean throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}
