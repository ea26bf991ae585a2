//! Records what TCP did below the requests to a file server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the kernel tells of the connections of one run, all of them together, over its account.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tcp {
    /// Connections.
    pub connections: u64,
    /// Time until what was sent is acknowledged, smoothed by the kernel; their mean, over the run.
    pub round_trip_ns: u64,
    /// The shortest of them all in the last minutes; 0 where the kernel has none.
    pub least_round_trip_ns: u64,
    /// Bytes that this end may have in flight before congestion control waits, on the average over the run; their sum.
    pub congestion_window_bytes: u64,
    /// Bytes that the server takes ahead, on the average over the run; their sum, `None` where the kernel does not tell.
    pub peer_window_bytes: Option<u64>,
    /// Bytes that this end takes ahead, on the average over the run; their sum.
    pub own_window_bytes: u64,
    /// Bytes sent, without headers of TCP.
    pub sent_bytes: u64,
    /// Bytes received, likewise.
    pub received_bytes: u64,
    /// Segments sent, those again among them.
    pub sent_segments: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// Rate at which what was sent last came through, in bytes a second; their sum.
    pub delivery_bytes_per_s: u64,
    /// Time that sending waited for the server's window; their mean.
    pub window_limited_ns: u64,
}

impl Tcp {
    /// The most bytes that TCP lets be in flight to the server (`writes`) or from it, as far as this end knows.
    pub fn window_bytes(&self, writes: bool) -> u64 {
        match self.peer_window_bytes {
            _ if !writes => self.own_window_bytes,
            Some(peer) => self.congestion_window_bytes.min(peer),
            None => self.congestion_window_bytes,
        }
    }

    /// Share of the segments that were sent again, 0 to 1.
    pub fn retransmitted_share(&self) -> f64 {
        self.retransmitted_segments as f64 / self.sent_segments.max(1) as f64
    }
}
