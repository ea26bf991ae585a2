//! Holds how a capture was asked again on a real target.

use halfpower_spec::JsonSchema;
use serde::Serialize;

/// How a capture was asked again on a real target.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReplayAsked {
    /// The folder, file or device.
    pub target: String,
    /// Whether operations were due at their times (open loop), or a pause after the one before (closed loop).
    pub open: bool,
    /// Whether there were pauses, or times; without them, each operation came as soon as the one before in its lane had ended.
    pub pauses: bool,
    /// What pauses, or the times when operations were due, were divided by.
    pub speed: f64,
    /// Time of all rounds, in nanoseconds.
    pub span_ns: u64,
    /// Bytes that were laid out before the first round.
    pub laid_out_bytes: u64,
    /// Requests that failed; they are in no figure.
    pub failed: u64,
    /// Reads that got less than they asked for, because the file ended.
    pub short_reads: u64,
    /// Files whose requests passed the page cache by when they were captured, and could not here.
    pub not_direct_files: usize,
    /// Operations of the capture whose place or size was widened to what direct requests need here.
    pub widened: u64,
    /// Whether it ended early because no more operations are kept.
    pub full: bool,
    /// Pauses of the capture that were waits for another lane's sync, and lasted until that sync had ended here.
    pub waits: u64,
}
