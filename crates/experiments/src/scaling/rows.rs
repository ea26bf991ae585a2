//! Holds the rows of `scaling`, as `halfpower report --json` gives them.

use halfpower_spec::{Direction, Pattern, VolumeLayout};
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// So many members together, on their own and as a stripe.
    pub scaling: Vec<ScalingRow>,
}

/// So many members at work together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ScalingRow {
    /// How many.
    pub n: u32,
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Whether each was driven on its own, or all as a stripe; a single member counts as both and is `each`.
    pub volume_layout: VolumeLayout,
    /// Throughput of all together in MB/s.
    pub mbps: f64,
    /// The same as a share of so many times a single one.
    pub of_ideal: f64,
    /// What stops them.
    pub limited_by: LimitedBy,
    /// Lower end of the 95% interval of `mbps`.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What stops members side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LimitedBy {
    /// Each member gives what it has; or a stripe does not keep all of them busy.
    Device,
    /// A part of the path that they share.
    Shared,
}
