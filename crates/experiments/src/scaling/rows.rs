//! Holds the rows of `scaling`, as `halfpower report --json` gives them.

use halfpower_spec::{Direction, Pattern, VolumeLayout};
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Members together, driven separately and as a stripe.
    pub scaling: Vec<ScalingRow>,
}

/// `n` members together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ScalingRow {
    /// Number of members.
    pub n: u32,
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Whether members were driven separately (`each`) or as a stripe; a single member counts as both and is `each`.
    pub volume_layout: VolumeLayout,
    /// Total throughput in MB/s.
    pub mbps: f64,
    /// Throughput as a share of `n` times one member's.
    pub of_ideal: f64,
    /// What stops them.
    pub limited_by: LimitedBy,
    /// Lower end of the 95% interval of `mbps`.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What stops members together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LimitedBy {
    /// The members: each reaches its rate alone, or a stripe does not keep all of them busy.
    Device,
    /// A part of the path that they share.
    Shared,
}
