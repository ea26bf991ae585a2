//! Holds the rows of `credit`, as `halfpower report --json` gives them.

use halfpower_analyse::Interval;
use halfpower_spec::Direction;
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Requests of one size in one direction.
    pub credit: Vec<CreditRow>,
}

/// Requests of one size in one direction, for as long as the budget allowed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CreditRow {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Block size.
    pub bs_bytes: u64,
    /// Requests kept outstanding.
    pub iodepth: u32,
    /// Sustained throughput in MB/s: after the fall, if there was one, and over whole slices.
    pub mbps: Interval,
    /// Sustained rate in requests a second.
    pub iops: f64,
    /// Length of the longest run, in seconds.
    pub seconds: f64,
    /// Bytes that all runs moved.
    pub bytes: u64,
    /// The faster beginning; `null` if there was none.
    pub credit: Option<CreditSpent>,
    /// The slices in which the limit grants requests; `null` if they passed evenly.
    pub slices: Option<LimitSlices>,
    /// Whether the rate was steady at the end, so that it is known.
    #[serde(rename = "told")]
    pub settled: bool,
    /// Whether the rate exceeds a known limit of the path, so that it still came from a credit.
    pub above_known: bool,
}

/// What passes at once after a rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CreditSpent {
    /// Throughput during the credit, in MB/s.
    pub mbps: f64,
    /// Duration in seconds.
    pub lasts_s: f64,
    /// Bytes beyond what the limit allows in that time.
    pub bytes: f64,
    /// Requests beyond what the limit allows in that time.
    pub ios: f64,
    /// Whether the credit ended between two runs, or too late in one to show the sustained rate; the figures are then
    /// lower bounds.
    pub at_least: bool,
}

/// Slices in which a limit grants requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LimitSlices {
    /// Interval between slices, in milliseconds.
    pub every_ms: f64,
    /// Bytes per slice.
    pub bytes: f64,
}

impl CreditRow {
    /// Whether a limit shows.
    pub fn is_limited(&self) -> bool {
        self.credit.is_some() || self.slices.is_some()
    }
}
