//! Runs the soaker during a window, after measuring its baseline on the idle machine.

use std::io;
use std::time::Duration;

use halfpower_os::processor::{self, Baseline, SoakerReading};
use halfpower_record::Soaker;

/// How long the soaker runs alone before a run, to measure what the idle machine leaves it.
const BASELINE: Duration = Duration::from_millis(150);

/// A running soaker and its baseline.
pub struct Soaking {
    soaker: processor::Soaker,
    idle: Baseline,
    begun: SoakerReading,
}

impl Soaking {
    /// Starts the soaker and waits for its baseline.
    ///
    /// # Errors
    /// If its threads cannot be started.
    pub fn new() -> io::Result<Self> {
        let soaker = processor::Soaker::start()?;
        // The scheduler needs a moment to spread the threads over the processors; the baseline begins after that.
        std::thread::sleep(BASELINE / 10);
        let first = soaker.read();
        std::thread::sleep(BASELINE);
        let begun = soaker.read();
        Ok(Self { idle: begun.baseline_since(&first), begun, soaker })
    }

    /// Begins the window.
    pub fn begin(&mut self) {
        self.begun = self.soaker.read();
    }

    /// The time lost since the window began, and the soaker's own processor time in nanoseconds since then.
    pub fn lost(&self) -> (Soaker, u64) {
        let now = self.soaker.read();
        let lost_ns = now.lost_ns_since(&self.begun, &self.idle).max(0.0) as u64;
        (Soaker { lost_ns, baseline_share: self.idle.share }, now.threads_ns - self.begun.threads_ns)
    }
}
