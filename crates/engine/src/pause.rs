//! Waits for the next request of an open loop: sleeps for most of the time and looks at the clock for the rest.

use std::time::Duration;

use halfpower_spec::Nanos;

use crate::{Completion, Engine, EngineError};

/// The last stretch before a moment is spent looking: a thread that sleeps is woken later than it asked, on a virtual
/// machine by 10 to 40 microseconds where [`halfpower_os::clock::wake_promptly`] was called and by 60 to 90 where it was not, and
/// a request must not come late because nobody was awake.
const AWAKE_NS: u64 = 50_000;

/// What [`Engine::reap_until`] promises, for an engine that can `wait` for a time: given one it sleeps until a request
/// has completed or the time is over, given none it only looks; either way it appends what has completed.
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

/// Lets so much time pass; without a time, next to none.
pub(crate) fn rest(time: Option<Duration>) {
    if let Some(time) = time {
        std::thread::sleep(time);
    }
}

/// How long one may sleep now who wants to be awake at `until`; `None` where the time left is spent looking.
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
