//! Records reads and writes of a mixed workload apart from each other.

use serde::{Deserialize, Serialize};

use crate::Latency;

/// Reads and writes of a mixed workload, apart.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ByDirection {
    /// Of the record's bytes, those that were read.
    pub read_bytes: u64,
    /// Latencies of the reads that succeeded.
    pub read_latency: Latency,
    /// Latencies of the writes that succeeded.
    pub write_latency: Latency,
}
