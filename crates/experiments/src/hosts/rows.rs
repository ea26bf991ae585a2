//! Holds the rows of `hosts`, as `halfpower report --json` gives them.

use halfpower_spec::{Direction, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// So many hosts at once.
    pub hosts: Vec<HostsRow>,
    /// Each host alone.
    pub hosts_alone: Vec<HostAloneRow>,
}

/// So many hosts at work at once, the first by rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HostsRow {
    /// How many.
    pub n: u32,
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Throughput of all together in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The same as a share of what these hosts give one by one; of hosts that were not measured alone the mean of the
    /// others stands for them.
    pub of_alone: f64,
    /// Whether a path that the hosts share stops them: less than 95% of what they give one by one, by more than runs
    /// differ.
    pub shared: bool,
}

/// One host alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HostAloneRow {
    /// Its rank.
    pub rank: u32,
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}
