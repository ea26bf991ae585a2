//! Holds the rows of `allocation`, as `halfpower report --json` gives them.

use halfpower_spec::{Cache, Layout};
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Sequential writes into files with different layouts.
    pub allocation: Vec<AllocationRow>,
}

/// Writes into a file with one layout.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AllocationRow {
    /// Layout of the file when the writes begin.
    pub case: Layout,
    /// Cache setting.
    pub cache: Cache,
    /// Depth asked for.
    pub iodepth: u32,
    /// Mean throughput in MB/s; includes the closing flush if buffered.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}
