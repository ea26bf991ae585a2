//! Records what each lane of a run moved.

use serde::{Deserialize, Serialize};

/// One lane's share of a run. A lane is a submitting thread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LaneRecord {
    /// Its role.
    pub role: LaneRole,
    /// The processor that it was bound to; `None` if it was free to move.
    pub cpu: Option<u32>,
    /// Time from its first submission to its last counted completion, with its closing flush.
    pub elapsed_ns: u64,
    /// Bytes moved by its requests that succeeded.
    pub bytes: u64,
    /// Its requests that succeeded.
    pub ios: u64,
    /// The reads among these; `None` for runs of the first releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<LaneSide>,
    /// The writes among these; `None` for runs of the first releases.
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

/// The role of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaneRole {
    /// A thread of the workload; in virtual time one lane stands for all.
    Own,
    /// An additional random reader; in virtual time one lane stands for all.
    Random,
}
