//! Records TCP's figures of the connections to a file server.

use halfpower_spec::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::joined::{joined, least_above_zero, of_known, sum, whole_mean};

joined! {
    /// The kernel's TCP figures over all connections of one run, over the span of its account.
    #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
    pub struct Tcp {
        /// Connections.
        pub connections: u64 => sum,
        /// Mean round trip time over connections and run, as smoothed by the kernel.
        pub round_trip_ns: u64 => whole_mean by connections,
        /// Shortest round trip time in the last minutes; 0 if the kernel has none.
        pub least_round_trip_ns: u64 => least_above_zero,
        /// Mean congestion window of this end over the run, in bytes, summed over connections.
        pub congestion_window_bytes: u64 => sum,
        /// Mean receive window of the server over the run, in bytes, summed over connections; `None` if the kernel does
        /// not report it.
        pub peer_window_bytes: Option<u64> => of_known(sum),
        /// Mean receive window of this end over the run, in bytes, summed over connections.
        pub own_window_bytes: u64 => sum,
        /// Bytes sent, without TCP headers.
        pub sent_bytes: u64 => sum,
        /// Bytes received, without TCP headers.
        pub received_bytes: u64 => sum,
        /// Segments sent, including retransmissions.
        pub sent_segments: u64 => sum,
        /// Segments retransmitted.
        pub retransmitted_segments: u64 => sum,
        /// Most recent delivery rate, in bytes a second, summed over connections.
        pub delivery_bytes_per_s: u64 => sum,
        /// Time that sending waited for the server's receive window, mean over connections.
        pub window_limited_ns: u64 => whole_mean by connections,
    }
}

impl Tcp {
    /// Most bytes that TCP allows in flight to the server (`writes`) or from it, as far as this end knows.
    pub fn window_bytes(&self, writes: bool) -> u64 {
        match self.peer_window_bytes {
            _ if !writes => self.own_window_bytes,
            Some(peer) => self.congestion_window_bytes.min(peer),
            None => self.congestion_window_bytes,
        }
    }

    /// Share of the segments that were retransmitted, 0 to 1.
    pub fn retransmitted_share(&self) -> f64 {
        self.retransmitted_segments as f64 / self.sent_segments.max(1) as f64
    }
}
