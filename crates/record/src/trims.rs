//! Records trims separately from the writes of the same run.

use serde::{Deserialize, Serialize};

use crate::Latency;
use crate::joined::{joined, parts, sum};

joined! {
    /// Trims of a run, and the latencies of its writes.
    #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
    pub struct Trims {
        /// Trims that succeeded.
        pub ios: u64 => sum,
        /// Bytes trimmed.
        pub bytes: u64 => sum,
        /// Latencies of these trims.
        pub latency: Latency => parts,
        /// Latencies of the writes that succeeded; empty if the run only trims.
        pub write_latency: Latency => parts,
    }
}
