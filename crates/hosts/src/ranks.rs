//! Defines what processes of one run need of each other: messages from one to another, in their order.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::HostsError;

/// The processes that make runs together, as one of them sees them.
///
/// Everything else (telling all, gathering, comparing clocks) is made of these two calls, so that it is tested without a
/// network.
pub trait Ranks {
    /// The number of this process, from 0.
    fn rank(&self) -> u32;
    /// How many processes there are.
    fn size(&self) -> u32;
    /// Sends a message to process `to`.
    ///
    /// # Errors
    /// Where that process is gone.
    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), HostsError>;
    /// The next message of process `from`, waited for as long as it takes; messages come in the order they were sent in.
    ///
    /// # Errors
    /// Where that process, or who started this one, is gone.
    fn receive(&self, from: u32) -> Result<Vec<u8>, HostsError>;
    /// This process's clock, in nanoseconds of Unix time (CLOCK_REALTIME).
    fn clock_unix_ns(&self) -> i64 {
        unix_ns()
    }
}

/// CLOCK_REALTIME in nanoseconds of Unix time.
pub(crate) fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
