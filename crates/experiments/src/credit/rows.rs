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

/// Requests of one size in one direction, for as long as the budget let them go on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CreditRow {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Block size.
    pub bs_bytes: u64,
    /// Requests kept outstanding.
    pub iodepth: u32,
    /// Throughput that went on in MB/s: after the fall where there was one, and between whole slices.
    pub mbps: Interval,
    /// The same in requests a second.
    pub iops: f64,
    /// How long the longest run went on, in seconds.
    pub seconds: f64,
    /// Bytes that all of its runs moved.
    pub bytes: u64,
    /// What was faster at first; `null` where nothing was.
    pub credit: Option<CreditSpent>,
    /// Slices that the limit hands out; `null` where requests came evenly.
    pub slices: Option<LimitSlices>,
    /// Whether the rate was steady at last, so that it can be told.
    pub told: bool,
    /// Whether it is faster than a limit of the path that is known, so that what went on was still a credit.
    pub above_known: bool,
}

/// What passes at once after a rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CreditSpent {
    /// Throughput while it lasts, in MB/s.
    pub mbps: f64,
    /// How long that is, in seconds.
    pub lasts_s: f64,
    /// Its bytes, beyond what the limit lets through meanwhile.
    pub bytes: f64,
    /// The same in requests.
    pub ios: f64,
    /// Whether it ended between two runs, or too late in one to tell what goes on, so that it holds at least as much.
    pub at_least: bool,
}

/// Slices that a limit hands out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LimitSlices {
    /// From one to the next, in milliseconds.
    pub every_ms: f64,
    /// Bytes of one.
    pub bytes: f64,
}

impl CreditRow {
    /// Whether a limit shows.
    pub fn is_limited(&self) -> bool {
        self.credit.is_some() || self.slices.is_some()
    }
}
