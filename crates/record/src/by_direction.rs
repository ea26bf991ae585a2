//! Records reads and writes of a mixed workload separately.

use serde::{Deserialize, Serialize};

use crate::Latency;
use crate::joined::{joined, parts, sum};

joined! {
    /// Reads and writes of a mixed workload, separately.
    #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
    pub struct ByDirection {
        /// Bytes read, out of the record's bytes.
        pub read_bytes: u64 => sum,
        /// Latencies of the reads that succeeded.
        pub read_latency: Latency => parts,
        /// Latencies of the writes that succeeded.
        pub write_latency: Latency => parts,
    }
}
