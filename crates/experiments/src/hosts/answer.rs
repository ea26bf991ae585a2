//! Defines what `hosts` finds: how many hosts the path carries, and what stops further ones.

use halfpower_spec::{Direction, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

/// What hosts give together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct HostsAnswer {
    /// The most hosts that were measured together; 0 where none were.
    pub hosts: u32,
    /// By pattern and direction.
    pub kinds: Vec<HostsScaling>,
}

/// Hosts together in one pattern and direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostsScaling {
    /// Order of offsets.
    pub pattern: Pattern,
    /// Which way the bytes go.
    pub rw: Direction,
    /// What they show.
    pub verdict: HostsVerdict,
    /// Throughput of one host alone in MB/s, the mean of those that were measured alone.
    pub one_mbps: f64,
    /// The most hosts.
    pub n: u32,
    /// Their throughput in MB/s.
    pub mbps: f64,
    /// Where a shared path takes over.
    pub taken_over: Option<TakenOver>,
}

/// What hosts together show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostsVerdict {
    /// All bring what they give alone.
    Scale,
    /// The runs cannot tell.
    Unclear,
    /// A path that they share stops them.
    Stopped,
}

/// The first count of hosts that a shared path stops.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TakenOver {
    /// How many hosts.
    pub n: u32,
    /// Their throughput in MB/s.
    pub mbps: f64,
    /// The most hosts before that were measured.
    pub before_n: u32,
    /// Their throughput in MB/s.
    pub before_mbps: f64,
    /// The most that came through the shared path, with any number of hosts, in MB/s.
    pub ceiling_mbps: f64,
    /// Which part of the path it is.
    pub by: SharedPart,
}

/// The part of the path that hosts share.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "part")]
pub enum SharedPart {
    /// A disk at the far end: requests in flight this share of the time.
    FarDisk {
        /// Its name there.
        disk: String,
        /// The share, 0 to 1.
        share: f64,
    },
    /// A disk at the far end, at what a control group lets the server move there.
    FarDiskLimit {
        /// Its name there.
        disk: String,
        /// The limit in MB/s.
        mbps: f64,
    },
    /// The processors at the far end: busy this share of the time.
    FarProcessors {
        /// The share, 0 to 1.
        share: f64,
    },
    /// The wire of the far end: its disk and its processors have time left.
    FarWire,
    /// All hosts are one computer: its own path to the target.
    OwnComputer,
    /// No witness tells.
    Unknown,
}
