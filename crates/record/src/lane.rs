//! Records what each lane of a run moved.

use serde::{Deserialize, Serialize};

use crate::joined::{first, greatest, joined, mean, of_known, parts, same, sum};
use crate::{Join, Latency};

joined! {
    /// One lane's share of a run. A lane is a submitting thread.
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    pub struct LaneRecord {
        /// Its role.
        pub role: LaneRole => first,
        /// The processor that it was bound to; `None` if it was free to move.
        pub cpu: Option<u32> => same,
        /// Time from its first submission to its last counted completion, with its closing flush.
        pub elapsed_ns: u64 => greatest,
        /// Bytes moved by its requests that succeeded.
        pub bytes: u64 => sum,
        /// Its requests that succeeded.
        pub ios: u64 => sum,
        /// The reads among these; `None` for runs of the first releases.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reads: Option<LaneSide> => of_known(parts),
        /// The writes among these; `None` for runs of the first releases.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub writes: Option<LaneSide> => of_known(parts),
    }
}

joined! {
    /// The latencies of one lane of the workload, in a run that keeps those of each.
    #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
    pub struct LaneLatencies {
        /// Those of its reads that succeeded; of a run that trims and writes, of its trims.
        pub reads: Latency => parts,
        /// Those of all its other requests that succeeded.
        pub writes: Latency => parts,
    }
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

impl Join for LaneSide {
    fn joined(self, other: Self) -> Self {
        let Self { ios, bytes, latency_ns_mean, latency_ns_deviation: _ } = self;
        let weights = [ios, other.ios];
        let joined_mean = mean(latency_ns_mean, other.latency_ns_mean, weights);
        // The variance of all requests: the variance within each side plus that of the sides' means.
        let variance = |side: Self| side.latency_ns_deviation.powi(2) + (side.latency_ns_mean - joined_mean).powi(2);
        Self {
            ios: ios + other.ios,
            bytes: bytes + other.bytes,
            latency_ns_mean: joined_mean,
            latency_ns_deviation: mean(variance(self), variance(other), weights).sqrt(),
        }
    }
}

/// The role of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaneRole {
    /// A thread of the workload; in virtual time one lane stands for all.
    Own,
    /// An additional random reader; in virtual time one lane stands for all.
    Random,
    /// A thread of the load beside the workload; in virtual time one lane stands for all.
    Beside,
}
