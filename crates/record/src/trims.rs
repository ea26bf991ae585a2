//! Records trims apart from the writes beside them.

use serde::{Deserialize, Serialize};

use crate::Latency;

/// Blocks that a run gave back, and what it wrote beside that.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Trims {
    /// Trims that succeeded.
    pub ios: u64,
    /// Bytes that they gave back.
    pub bytes: u64,
    /// Their latencies.
    pub latency: Latency,
    /// Latencies of the writes that succeeded; none where the run only trims.
    pub write_latency: Latency,
}
