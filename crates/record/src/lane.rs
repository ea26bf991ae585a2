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
