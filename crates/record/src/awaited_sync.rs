//! Defines a wait for the sync of another lane.

use serde::{Deserialize, Serialize};

/// A wait of a lane, between its operations, for a sync that another lane makes of a file which both write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "AwaitedRow", into = "AwaitedRow")]
pub struct AwaitedSync {
    /// The slice that it began and ended in.
    pub slice: u32,
    /// Who waited, below [`lanes`](crate::Captured::lanes).
    pub lane: u32,
    /// When it began to, in nanoseconds after its slice.
    pub at_ns: u64,
    /// For how long, in nanoseconds.
    pub took_ns: u64,
    /// Index of the file.
    pub file: u32,
    /// Whether the sync made durable what this lane had written, so that it needed none of its own: a group commit. Otherwise
    /// the lane waited for its turn, and then synced by itself.
    pub shared: bool,
}

/// A wait as its numbers.
type AwaitedRow = (u32, u32, u64, u64, u32, bool);

impl From<AwaitedRow> for AwaitedSync {
    fn from((slice, lane, at_ns, took_ns, file, shared): AwaitedRow) -> Self {
        Self { slice, lane, at_ns, took_ns, file, shared }
    }
}

impl From<AwaitedSync> for AwaitedRow {
    fn from(AwaitedSync { slice, lane, at_ns, took_ns, file, shared }: AwaitedSync) -> Self {
        (slice, lane, at_ns, took_ns, file, shared)
    }
}
