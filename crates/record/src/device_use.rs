//! Records what a block device under the target did during a run.

use serde::{Deserialize, Serialize};

/// What a whole block device did between two readings of the kernel's counters, for any process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceUse {
    /// Its kernel name.
    pub name: String,
    /// Requests that read.
    pub reads: DeviceRequests,
    /// Requests that wrote.
    pub writes: DeviceRequests,
    /// Time with at least one request in flight, in milliseconds.
    pub busy_ms: u64,
    /// Time of all requests together, in the queue and in flight, in milliseconds.
    pub in_queue_ms: u64,
    /// Time between the readings, in nanoseconds.
    pub span_ns: u64,
}

/// One direction of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceRequests {
    /// Requests that it completed.
    pub ios: u64,
    /// Requests that were merged into others before they reached it.
    pub merges: u64,
    /// Sectors of 512 bytes that it moved.
    pub sectors: u64,
    /// Time that these requests took together, in milliseconds.
    pub ms: u64,
}

impl DeviceUse {
    /// Bytes that it read and wrote.
    pub fn bytes(&self) -> u64 {
        self.reads.sectors.saturating_add(self.writes.sectors).saturating_mul(512)
    }

    /// Share of the span in which it had something to do, from 0 to 1; 0 for a span of no length.
    pub fn busy_share(&self) -> f64 {
        if self.span_ns == 0 { 0.0 } else { (self.busy_ms as f64 * 1e6 / self.span_ns as f64).min(1.0) }
    }
}
