//! Waits for a message without taking the processor from those that measure.

use std::time::{Duration, Instant};

/// How long a process polls before it begins to sleep between polls.
const EAGER: Duration = Duration::from_micros(100);
/// The shortest and the longest sleep between two polls.
const SLEEPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(2)];
/// A sleep is the time waited so far, divided by this.
const OF_WAITED: u32 = 16;

/// A wait that leaves the processor to those that measure: it polls at first, then sleeps longer and longer.
pub(crate) struct Patience(Instant);

impl Patience {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    /// Yields or sleeps once.
    pub(crate) fn wait(&self) {
        let waited = self.0.elapsed();
        if waited < EAGER {
            std::thread::yield_now();
        } else {
            std::thread::sleep((waited / OF_WAITED).clamp(SLEEPS[0], SLEEPS[1]));
        }
    }
}
