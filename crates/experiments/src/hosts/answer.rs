//! Defines the answer of `hosts`: how many hosts the path carries, and what stops more of them.

use halfpower_spec::{Direction, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

/// Throughput of hosts at once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct HostsAnswer {
    /// The most hosts that were measured at once; 0 if none were.
    pub hosts: u32,
    /// The results by pattern and direction.
    pub kinds: Vec<HostsScaling>,
}

/// Hosts at once, in one pattern and direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostsScaling {
    /// Order of offsets.
    pub pattern: Pattern,
    /// Which way the bytes go.
    pub rw: Direction,
    /// What the runs show.
    pub verdict: HostsVerdict,
    /// Throughput of one host alone in MB/s: the mean of the hosts that were measured alone.
    pub one_mbps: f64,
    /// The largest number of hosts.
    pub n: u32,
    /// Their total throughput in MB/s.
    pub mbps: f64,
    /// The point from which a shared path is the limit.
    pub taken_over: Option<TakenOver>,
}

/// What runs with several hosts show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostsVerdict {
    /// Every host reaches its rate alone.
    Scale,
    /// The runs cannot tell.
    Unclear,
    /// A path that they share stops them.
    Stopped,
}

/// The smallest number of hosts that a shared path limits.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TakenOver {
    /// Number of hosts.
    pub n: u32,
    /// Their total throughput in MB/s.
    pub mbps: f64,
    /// The next smaller number of hosts that was measured.
    pub before_n: u32,
    /// Its total throughput in MB/s.
    pub before_mbps: f64,
    /// The highest throughput through the shared path, with any number of hosts, in MB/s.
    pub ceiling_mbps: f64,
    /// The part of the path that is the limit.
    pub by: SharedPart,
}

/// The part of the path that hosts share.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "part")]
pub enum SharedPart {
    /// A disk at the far end with requests in flight for this share of the time.
    FarDisk {
        /// Its device name there.
        disk: String,
        /// The share, 0 to 1.
        share: f64,
    },
    /// A disk at the far end that a control group limits for the server.
    FarDiskLimit {
        /// Its device name there.
        disk: String,
        /// The limit in MB/s.
        mbps: f64,
    },
    /// The processors at the far end, busy for this share of the time.
    FarProcessors {
        /// The share, 0 to 1.
        share: f64,
    },
    /// The far end's wire: its disk and processors are not busy.
    FarWire,
    /// All hosts are processes on one computer, so its path to the target is shared.
    OwnComputer,
    /// Unknown, without a witness.
    Unknown,
}
