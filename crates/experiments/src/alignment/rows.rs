//! Holds the rows of `alignment`, as `halfpower report --json` gives them.

use halfpower_analyse::Interval;
use halfpower_spec::{Cache, Direction, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Requests that begin off the boundaries of blocks and chunks.
    pub alignment: Vec<AlignmentRow>,
}

/// Requests of one kind with one shift.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AlignmentRow {
    /// Bytes by which each request begins later than a multiple of its size.
    pub shift_bytes: u64,
    /// Block size.
    pub bs_bytes: u64,
    /// Cache setting.
    pub cache: Cache,
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Depth asked for.
    pub iodepth: u32,
    /// Mean throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Requests a second.
    pub iops: f64,
    /// Throughput as a share of the same requests without a shift; `null` for the unshifted requests.
    pub of_aligned: Option<Interval>,
}
