//! Records what each submitter of a run moved.

use serde::{Deserialize, Serialize};

/// One submitter's share of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LaneRecord {
    /// Whose it is.
    pub role: LaneRole,
    /// The processor that it stayed on; `None` where it was free to move.
    pub cpu: Option<u32>,
    /// From its first submission to its last reaping counted, with its closing flush.
    pub elapsed_ns: u64,
    /// Bytes moved by its requests that succeeded.
    pub bytes: u64,
    /// Its requests that succeeded.
    pub ios: u64,
    /// Of these, the reads; `None` for runs of the first releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<LaneSide>,
    /// Of these, the writes; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<LaneSide>,
}

/// One direction of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LaneSide {
    /// Requests that succeeded.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Mean of their latencies, in nanoseconds.
    pub latency_ns_mean: f64,
    /// Standard deviation of their latencies, in nanoseconds.
    pub latency_ns_deviation: f64,
}

/// Whose a lane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaneRole {
    /// One of the workload's threads; in virtual time all of them.
    Own,
    /// A random reader beside the workload; in virtual time all of them.
    Random,
}
