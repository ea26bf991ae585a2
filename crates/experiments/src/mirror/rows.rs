//! Holds the rows of `mirror`, as `halfpower report --json` gives them.

use halfpower_spec::{Direction, Pattern, VolumeLayout};
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Two members as a mirror, as a stripe, and one of them.
    pub mirror: Vec<MirrorRow>,
}

/// One layout of two members, with one set of settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MirrorRow {
    /// `mirror` or `stripe` of two members; `each` is a single member.
    pub volume_layout: VolumeLayout,
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Block size in bytes.
    pub bs_bytes: u64,
    /// Requests outstanding.
    pub iodepth: u32,
    /// Throughput in MB/s; data written to both copies counts once.
    pub mbps: f64,
    /// Requests a second.
    pub iops: f64,
    /// Lower end of the 95% interval of `mbps`.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}
