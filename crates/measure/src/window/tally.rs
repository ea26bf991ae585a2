//! Holds what one lane saw in its window.

use halfpower_engine::Errno;
use halfpower_record::{Latency, LatencyCounter, Sample, Samples};
use halfpower_spec::Nanos;

use crate::sampler::{Counts, Sampler};

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
    /// Reads that were to be checked and could not be judged, before and after the window too.
    pub unjudged_reads: u64,
    pub errors: Vec<(Errno, u64)>,
    pub read_latency: LatencyCounter,
    pub write_latency: LatencyCounter,
    /// Time that requests were in flight within the window, all together, beyond the latencies counted: of those that
    /// failed, were in flight when it closed, or had come by then and not gone out, less what passed before it opened.
    pub in_flight_beyond_latency_ns: i128,
    /// What the flushes between requests took; `None` where none were asked for.
    pub syncs: Option<LatencyCounter>,
    /// What commits took, each from its first write's submission to the end of its flush; `None` likewise.
    pub commits: Option<LatencyCounter>,
    pub step_ns: u64,
    pub step_bytes: Vec<u64>,
    pub sampler: Sampler,
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

    /// Number of errors so far, of every kind.
    pub(super) fn error_count(&self) -> u64 {
        self.errors.iter().map(|(_, count)| count).sum()
    }

    /// Makes one step of each two, in place; gives their length before.
    #[cold]
    pub(super) fn join_steps(&mut self) -> u64 {
        let half = self.step_bytes.len() / 2;
        for at in 0..half {
            self.step_bytes[at] = self.step_bytes[2 * at] + self.step_bytes[2 * at + 1];
        }
        self.step_bytes.truncate(half);
        let before_ns = self.step_ns;
        self.step_ns *= 2;
        // Its stretches are a number of the shorter steps.
        self.sampler = Sampler::default();
        before_ns
    }

    /// What was counted in each stretch of the window.
    pub(crate) fn samples(&self) -> Samples {
        self.sampler.samples(self.step_ns)
    }

    /// What has been counted so far.
    pub(super) fn counts(&self) -> Counts {
        let side = |ios, bytes, latency: &LatencyCounter| Sample { ios, bytes, latency_ns: latency.sum_ns() };
        let reads = side(self.read_ios, self.read_bytes, &self.read_latency);
        [reads, side(self.ios - self.read_ios, self.bytes - self.read_bytes, &self.write_latency)]
    }

    /// Latencies of reads and writes together.
    pub(crate) fn latency(&self) -> Latency {
        let mut latency = self.read_latency.latency();
        latency.merge(&self.write_latency.latency());
        latency
    }
}
