//! Counts the requests that an application makes of one path through a device.

use halfpower_spec::{Direction, Pattern};

/// Requests of one pattern and direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Whether they continue where the ones before ended.
    pub pattern: Pattern,
    /// Which way the bytes go.
    pub direction: Direction,
    /// Number of requests.
    pub requests: u64,
    /// Bytes that they move.
    pub bytes: u64,
    /// Smallest and largest of them, in bytes.
    pub bs_bytes: [u64; 2],
}

impl Demand {
    /// No request yet.
    pub fn none(pattern: Pattern, direction: Direction) -> Self {
        Self { pattern, direction, requests: 0, bytes: 0, bs_bytes: [u64::MAX, 0] }
    }

    /// Counts a request of `bytes`.
    pub fn add(&mut self, bytes: u64) {
        let [least, most] = self.bs_bytes;
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.bs_bytes = [least.min(bytes), most.max(bytes)];
    }
}
