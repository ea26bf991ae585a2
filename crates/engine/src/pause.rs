//! Waits for the next request of an open loop: sleeps for most of the time and polls the clock for the rest.

use std::time::Duration;

use halfpower_spec::Nanos;

use crate::{Completion, Engine, EngineError};

/// Length of the final stretch before a deadline that is spent polling. A sleeping thread wakes late: on a virtual
/// machine by 10 to 40 microseconds after [`halfpower_os::clock::wake_promptly`], by 60 to 90 without it. Polling keeps
/// a request from being issued late.
const AWAKE_NS: u64 = 50_000;

/// Implements [`Engine::reap_until`] with `wait`. Given a time, `wait` sleeps until a request completes or the time is
/// over; given `None`, it only polls. In both cases it appends what has completed.
pub(crate) fn wait_until<E: Engine>(
    engine: &mut E,
    until: Nanos,
    done: &mut Vec<Completion>,
    wait: impl Fn(&mut E, Option<Duration>, &mut Vec<Completion>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    loop {
        wait(engine, may_sleep(engine.now(), until), done)?;
        if !done.is_empty() || engine.now() >= until {
            return Ok(());
        }
        std::hint::spin_loop();
    }
}

/// Sleeps for `time`; returns at once without one.
pub(crate) fn rest(time: Option<Duration>) {
    if let Some(time) = time {
        std::thread::sleep(time);
    }
}

/// Sleep time left before `until`; `None` means poll.
fn may_sleep(now: Nanos, until: Nanos) -> Option<Duration> {
    until.0.checked_sub(now.0 + AWAKE_NS).filter(|ns| *ns > 0).map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_stretch_is_spent_awake() {
        assert_eq!(may_sleep(Nanos(5), Nanos(5 + AWAKE_NS)), None);
        assert_eq!(may_sleep(Nanos(9), Nanos(5)), None);
        assert_eq!(may_sleep(Nanos(5), Nanos(6 + AWAKE_NS)), Some(Duration::from_nanos(1)));
    }
}
