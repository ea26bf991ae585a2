//! Waits for a message without taking the processor from those that measure.

use std::time::{Duration, Instant};

/// How long a waiting process asks again and again before it sleeps in between.
const EAGER: Duration = Duration::from_micros(100);
/// The shortest and the longest sleep between two looks.
const SLEEPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(2)];
/// Of what was waited already, a sleep is this part.
const OF_WAITED: u32 = 16;

/// How a process waits without taking the processor from those that measure: eagerly at first, then with sleeps that grow
/// with what was waited.
pub(crate) struct Patience(Instant);

impl Patience {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    /// Lets a moment pass.
    pub(crate) fn wait(&self) {
        let waited = self.0.elapsed();
        if waited < EAGER {
            std::thread::yield_now();
        } else {
            std::thread::sleep((waited / OF_WAITED).clamp(SLEEPS[0], SLEEPS[1]));
        }
    }
}
