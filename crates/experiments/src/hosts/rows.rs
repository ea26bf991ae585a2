//! Holds the rows of `hosts`, as `halfpower report --json` gives them.

use halfpower_spec::{Direction, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Hosts at once, by their number.
    pub hosts: Vec<HostsRow>,
    /// Each host alone.
    pub hosts_alone: Vec<HostAloneRow>,
}

/// The first `n` hosts by rank, at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HostsRow {
    /// Number of hosts.
    pub n: u32,
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Total throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Total throughput as a share of the summed rates of these hosts alone. A host that was not measured alone counts
    /// with the mean of the others.
    pub of_alone: f64,
    /// Whether a shared path stops the hosts: the total is less than 95% of the summed rates alone, beyond the
    /// difference between runs.
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
