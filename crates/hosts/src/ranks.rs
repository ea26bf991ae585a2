//! Defines how processes of one run exchange messages: from one to another, in order.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::HostsError;

/// The processes that make runs together, as one of them sees them.
///
/// Everything else (telling all, gathering, comparing clocks) uses only `send` and `receive`, so tests need no network.
pub trait Ranks {
    /// The rank of this process, from 0.
    fn rank(&self) -> u32;
    /// Number of processes.
    fn size(&self) -> u32;
    /// Sends a message to process `to`.
    ///
    /// # Errors
    /// If that process is gone.
    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), HostsError>;
    /// Waits for the next message of process `from`, without a limit; messages arrive in the order they were sent.
    ///
    /// # Errors
    /// If that process, or the launcher of this one, is gone.
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
