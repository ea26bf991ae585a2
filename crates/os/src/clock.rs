//! Reads the time at the lowest cost, in nanoseconds since the process's first clock.
//!
//! It reads the time stamp counter if that runs at a constant rate, else CLOCK_MONOTONIC. The first [`Clock`]
//! calibrates the counter. Each later one checks it against CLOCK_MONOTONIC over the whole time since then, which
//! detects a disturbed calibration or a migrated machine.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

static ORIGIN: OnceLock<Origin> = OnceLock::new();
/// Whether the counter was ever found wrong; never reset.
static COUNTER_IS_WRONG: AtomicBool = AtomicBool::new(false);

/// The kernel adjusts CLOCK_MONOTONIC by at most 1/2000. The clocks may differ by 1/1000; more means that the counter
/// is wrong.
const MOST_DRIFT: u64 = 1_000;
/// Largest distance between readings of the two clocks that count as the same instant.
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
    /// Makes a clock; the first call calibrates the counter and may take 0.2 s.
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
    /// Whether both clocks show the same time since the origin.
    fn agree(&self) -> bool {
        let before_ns = system_ns() - self.system_ns;
        let counted_ns = self.counter.delta_as_nanos(self.raw, self.counter.raw());
        is_between(counted_ns, before_ns, system_ns() - self.system_ns)
    }
}

/// Reads both clocks at the same instant: the closest of several attempts, because the thread may be preempted in any
/// of them.
fn read_both(counter: &quanta::Clock) -> (u64, u64) {
    let attempts = (0..16).map(|_| (system_ns(), counter.raw(), system_ns()));
    let (before_ns, raw, after_ns) = attempts.min_by_key(|(before, _, after)| after - before).expect("there are some");
    (raw, before_ns + (after_ns - before_ns) / 2)
}

/// Whether the counter's time lies between two readings of the system's clock, within the allowed difference.
fn is_between(counted_ns: u64, before_ns: u64, after_ns: u64) -> bool {
    let least_ns = before_ns - before_ns / MOST_DRIFT;
    counted_ns + SLACK_NS >= least_ns && counted_ns <= after_ns + after_ns / MOST_DRIFT + SLACK_NS
}

/// The time of CLOCK_MONOTONIC, by which the kernel's events are stamped.
pub(crate) fn system_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// Time since the machine started. It runs on while the machine is suspended (CLOCK_BOOTTIME), unlike [`Clock`] and
/// `Instant`, and no change of the date moves it.
pub fn since_boot() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Lets the kernel wake this thread on time, instead of some 50 microseconds later together with others.
pub fn wake_promptly() {
    // No kernel refuses this; without it, wake-ups are only less exact.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn the_time_since_the_start_has_what_the_machine_was_suspended_for() {
        let awake = Duration::from_nanos(system_ns());
        let first = since_boot();
        assert!(first >= awake && since_boot() >= first, "{first:?} of which {awake:?} awake");
    }

    #[test]
    fn it_agrees_with_the_system_and_never_goes_back() {
        let clock = Clock::new();
        let other = Clock::new();
        // Each clock's span encloses the other's once, so a pause between two readings does no harm.
        let outer_began = clock.now_ns();
        let began = Instant::now();
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
        // The check would have detected a calibration with a larger error.
        let most_ns = system_ns / MOST_DRIFT + SLACK_NS;
        assert!(inner_ns <= system_ns + most_ns, "{inner_ns} ns inside {system_ns} ns");
        assert!(outer_ns + most_ns >= system_ns, "{outer_ns} ns around {system_ns} ns");
    }

    #[test]
    fn a_counter_that_runs_wrong_is_found_out() {
        let second_ns = 1_000_000_000;
        assert!(is_between(second_ns, second_ns - 50, second_ns + 50));
        // True however long the pause between the system clock's readings is.
        assert!(is_between(second_ns, second_ns - 9_000_000, second_ns + 9_000_000));
        assert!(is_between(second_ns + second_ns / 2_000, second_ns - 50, second_ns));
        assert!(!is_between(second_ns + second_ns / 500, second_ns - 50, second_ns));
        assert!(!is_between(second_ns - second_ns / 500, second_ns - 50, second_ns));
        assert!(is_between(0, 0, 30));
    }
}
