//! Tells the time as cheaply as it can be told, in nanoseconds since the process first asked.
//!
//! The time stamp counter is read where it runs at a constant rate, CLOCK_MONOTONIC elsewhere. The counter is
//! calibrated once a process, by the first [`Clock`], and each later one checks it against CLOCK_MONOTONIC over all the
//! time since: a calibration that was disturbed, or a machine that was moved, is found out.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::time::{ClockId, clock_gettime};

static ORIGIN: OnceLock<Origin> = OnceLock::new();
/// Whether the counter was found wrong once; it stays so.
static COUNTER_IS_WRONG: AtomicBool = AtomicBool::new(false);

/// The kernel trims CLOCK_MONOTONIC by at most a 2000th; what differs by more is no time.
const MOST_DRIFT: u64 = 1_000;
/// How far apart the readings of the two clocks may be that are taken for one instant.
const SLACK_NS: u64 = 10_000;

/// The same instant on both clocks.
struct Origin {
    counter: quanta::Clock,
    raw: u64,
    system_ns: u64,
}

/// A clock that never goes back; all clocks of a process count from the same instant.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    Counter { counter: quanta::Clock, origin: u64 },
    System { origin_ns: u64 },
}

impl Clock {
    /// The clock of this process; the first call calibrates it and may take a fifth of a second.
    pub fn new() -> Self {
        let origin = ORIGIN.get_or_init(|| {
            let counter = quanta::Clock::new();
            let (raw, system_ns) = read_both(&counter);
            Origin { counter, raw, system_ns }
        });
        if !COUNTER_IS_WRONG.load(Ordering::Relaxed) && !origin.agree() {
            COUNTER_IS_WRONG.store(true, Ordering::Relaxed);
        }
        Self(match COUNTER_IS_WRONG.load(Ordering::Relaxed) {
            true => Source::System { origin_ns: origin.system_ns },
            false => Source::Counter { counter: origin.counter.clone(), origin: origin.raw },
        })
    }

    /// Nanoseconds since the first clock of this process was made.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        match &self.0 {
            Source::Counter { counter, origin } => counter.delta_as_nanos(*origin, counter.raw()),
            Source::System { origin_ns } => system_ns() - origin_ns,
        }
    }
}

impl Origin {
    /// Whether both clocks tell the same time since the origin.
    fn agree(&self) -> bool {
        let before_ns = system_ns() - self.system_ns;
        let counted_ns = self.counter.delta_as_nanos(self.raw, self.counter.raw());
        is_between(counted_ns, before_ns, system_ns() - self.system_ns)
    }
}

/// The same instant on the counter and on the system's clock: the closest of some attempts, since the thread may be put
/// aside in any of them.
fn read_both(counter: &quanta::Clock) -> (u64, u64) {
    let attempts = (0..16).map(|_| (system_ns(), counter.raw(), system_ns()));
    let (before_ns, raw, after_ns) = attempts.min_by_key(|(before, _, after)| after - before).expect("there are some");
    (raw, before_ns + (after_ns - before_ns) / 2)
}

/// Whether a time counted lies between two that the system told before and after it, but for what clocks may differ.
fn is_between(counted_ns: u64, before_ns: u64, after_ns: u64) -> bool {
    let least_ns = before_ns - before_ns / MOST_DRIFT;
    counted_ns + SLACK_NS >= least_ns && counted_ns <= after_ns + after_ns / MOST_DRIFT + SLACK_NS
}

fn system_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// Lets the kernel wake this thread when it asked for it, and not some 50 microseconds later together with others.
pub fn wake_promptly() {
    // Refused nowhere; and a wake-up that comes late is only less exact.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
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
        let system_ns = began.elapsed().as_nanos() as u64;
        let outer_ns = clock.now_ns() - outer_began;
        // A calibration that was off by more would have been found out.
        let most_ns = system_ns / MOST_DRIFT + SLACK_NS;
        assert!(inner_ns <= system_ns + most_ns, "{inner_ns} ns inside {system_ns} ns");
        assert!(outer_ns + most_ns >= system_ns, "{outer_ns} ns around {system_ns} ns");
    }

    #[test]
    fn a_counter_that_runs_wrong_is_found_out() {
        let second_ns = 1_000_000_000;
        assert!(is_between(second_ns, second_ns - 50, second_ns + 50));
        // However long the pause between two readings of the system's clock is.
        assert!(is_between(second_ns, second_ns - 9_000_000, second_ns + 9_000_000));
        assert!(is_between(second_ns + second_ns / 2_000, second_ns - 50, second_ns));
        assert!(!is_between(second_ns + second_ns / 500, second_ns - 50, second_ns));
        assert!(!is_between(second_ns - second_ns / 500, second_ns - 50, second_ns));
        assert!(is_between(0, 0, 30));
    }
}
