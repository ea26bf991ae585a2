//! What one lane's window adds up.

use halfpower_engine::Errno;
use halfpower_record::{Latency, LatencyCounter};
use halfpower_spec::Nanos;

/// Different kinds of error that are told apart within a run; the rest is counted as the last of them.
const ERROR_KINDS: usize = 16;

/// What one lane saw.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// The opening: the first submission, or where the queue was turned over before, the first one after that.
    pub start: Nanos,
    /// Last reaping that counts, the closing flush included.
    pub end: Nanos,
    /// The closing flush alone.
    pub flush_ns: u64,
    pub bytes: u64,
    /// Of these, bytes that were read; of a run that trims and writes these and all that is called reads are its trims.
    pub read_bytes: u64,
    pub ios: u64,
    pub read_ios: u64,
    pub short_transfers: u64,
    /// Requests that completed before the window opened or after it closed: they cost processor time, and count for
    /// nothing else.
    pub drained_ios: u64,
    /// Open loop: requests that should have come before the window closed and were not completed by then.
    pub overdue_ios: u64,
    /// Requests that the engine had to send again, before and after the window too.
    pub resubmitted_ios: u64,
    pub errors: Vec<(Errno, u64)>,
    pub read_latency: LatencyCounter,
    pub write_latency: LatencyCounter,
    /// Time that requests were in flight within the window, all together, beyond the latencies counted: of those that
    /// failed or were in flight when it closed, less what passed before it opened.
    pub in_flight_beyond_latency_ns: i128,
    /// What the flushes between requests took; `None` where none were asked for.
    pub syncs: Option<LatencyCounter>,
    pub step_ns: u64,
    pub step_bytes: Vec<u64>,
    /// Time that the lane's thread could have run but waited for a processor.
    pub waited_ns: u64,
}

impl Tally {
    /// Nothing yet, with room for errors.
    pub(super) fn with_room() -> Self {
        Self { errors: Vec::with_capacity(ERROR_KINDS), ..Self::default() }
    }

    /// Counts an error without allocating; kinds beyond the last place are counted there.
    pub(super) fn count_error(&mut self, errno: Errno) {
        let errors = &mut self.errors;
        match errors.iter().position(|(known, _)| *known == errno) {
            Some(kind) => errors[kind].1 += 1,
            None if errors.len() < ERROR_KINDS => errors.push((errno, 1)),
            None => errors[ERROR_KINDS - 1].1 += 1,
        }
    }

    /// Latencies of reads and writes together.
    pub(crate) fn latency(&self) -> Latency {
        let mut latency = self.read_latency.latency();
        latency.merge(&self.write_latency.latency());
        latency
    }
}
