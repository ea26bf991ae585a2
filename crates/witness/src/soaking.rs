//! Runs the soaker beside a window, with its baseline of the idle machine before it.

use std::io;
use std::time::Duration;

use halfpower_os::processor::{self, Baseline, SoakerReading};
use halfpower_record::Soaker;

/// How long the soaker runs alone before a run, to learn what the idle machine leaves it.
const BASELINE: Duration = Duration::from_millis(150);

/// A soaker at work, and what the idle machine left it.
pub struct Soaking {
    soaker: processor::Soaker,
    idle: Baseline,
    begun: SoakerReading,
}

impl Soaking {
    /// Starts the soaker and waits for its baseline.
    ///
    /// # Errors
    /// Where its threads cannot be started.
    pub fn new() -> io::Result<Self> {
        let soaker = processor::Soaker::start()?;
        // The threads take a moment to be moved to their processors; the baseline begins after it.
        std::thread::sleep(BASELINE / 10);
        let first = soaker.read();
        std::thread::sleep(BASELINE);
        let begun = soaker.read();
        Ok(Self { idle: begun.baseline_since(&first), begun, soaker })
    }

    /// The window begins.
    pub fn begin(&mut self) {
        self.begun = self.soaker.read();
    }

    /// Time lost since the window began, and the time in nanoseconds that its own threads were charged in the while.
    pub fn lost(&self) -> (Soaker, u64) {
        let now = self.soaker.read();
        let lost_ns = now.lost_ns_since(&self.begun, &self.idle).max(0.0) as u64;
        (Soaker { lost_ns, baseline_share: self.idle.share }, now.threads_ns - self.begun.threads_ns)
    }
}
