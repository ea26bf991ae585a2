//! Holds what every real target measures with: clocks, and the cost of the harness.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::harness::Harness;

/// The clocks of a real target, and the harness's own cost.
#[derive(Debug)]
pub(super) struct Instruments {
    harness: Harness,
    began: Instant,
}

impl Instruments {
    pub fn new() -> Self {
        Self { harness: Harness::default(), began: Instant::now() }
    }

    /// Nanoseconds per request at this depth when the target takes no time.
    pub fn harness_ns_per_io(&mut self, depth: u32) -> f64 {
        self.harness.ns_per_io(depth)
    }

    /// Nanoseconds since the target was opened.
    pub fn clock_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Unix time in milliseconds.
    pub fn unix_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
    }
}
