//! What time is it, as cheaply as it can be told? Nanoseconds since the process first asked.
//!
//! The time stamp counter is read where it runs at a constant rate, CLOCK_MONOTONIC elsewhere. The counter is
//! calibrated once a process, by the first [`Clock`].

use std::sync::OnceLock;

static ORIGIN: OnceLock<(quanta::Clock, u64)> = OnceLock::new();

/// A clock that never goes back; all clocks of a process count from the same instant.
#[derive(Debug, Clone)]
pub struct Clock {
    counter: quanta::Clock,
    origin: u64,
}

impl Clock {
    /// The clock of this process; the first call calibrates it and may take a fifth of a second.
    pub fn new() -> Self {
        let (counter, origin) = ORIGIN.get_or_init(|| {
            let counter = quanta::Clock::new();
            let origin = counter.raw();
            (counter, origin)
        });
        Self { counter: counter.clone(), origin: *origin }
    }

    /// Nanoseconds since the first clock of this process was made.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.counter.delta_as_nanos(self.origin, self.counter.raw())
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn it_agrees_with_the_system_and_never_goes_back() {
        let (clock, other) = (Clock::new(), Clock::new());
        // Each clock's span is enclosed by the other's once, so that a pause between two reads does no harm.
        let (outer_began, began) = (clock.now_ns(), Instant::now());
        let inner_began = clock.now_ns();
        let mut last_ns = inner_began;
        while began.elapsed() < Duration::from_millis(50) {
            let now_ns = other.now_ns();
            assert!(now_ns >= last_ns, "two clocks of a process count from the same instant");
            last_ns = now_ns;
        }
        let inner_ns = clock.now_ns() - inner_began;
        let system_ns = began.elapsed().as_nanos() as f64;
        let outer_ns = clock.now_ns() - outer_began;
        assert!(inner_ns as f64 <= system_ns * 1.001, "{inner_ns} ns inside {system_ns} ns");
        assert!(outer_ns as f64 >= system_ns * 0.999, "{outer_ns} ns around {system_ns} ns");
    }
}
