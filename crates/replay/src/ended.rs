//! Tells lanes that wait for the sync of another lane when it has ended.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Longest sleep before a lane looks whether the round is over.
const NAP: Duration = Duration::from_millis(10);

/// How far a lane has come that others wait for.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// Steps that it has done in this round as far as it told, and when the last of them ended by the clock.
    told: Mutex<(u64, u64)>,
    more: Condvar,
}

impl Ended {
    /// So many steps are done, the last of which ended then.
    pub(crate) fn tell(&self, steps: u64, ended_ns: u64) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = (steps, ended_ns);
        self.more.notify_all();
    }

    /// Waits until so many steps are done; when the last of them ended, or 0 if they were done before. `None` if the round is
    /// over.
    pub(crate) fn wait(&self, steps: u64, is_over: impl Fn() -> bool) -> Option<u64> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.0 >= steps {
            return Some(0);
        }
        while told.0 < steps {
            if is_over() {
                return None;
            }
            told = self.more.wait_timeout(told, NAP).unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(told.1)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_lane_goes_on_when_the_other_has_come_so_far_or_the_round_is_over() {
        let ended = Ended::default();
        ended.tell(3, 700);
        assert_eq!(ended.wait(3, || false), Some(0));
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| ended.wait(5, || over.load(Ordering::Relaxed)));
            ended.tell(4, 800);
            ended.tell(5, 900);
            // It may have begun to wait only after that.
            assert!([Some(900), Some(0)].contains(&waiting.join().unwrap()));
        });
        over.store(true, Ordering::Relaxed);
        assert_eq!(ended.wait(6, || over.load(Ordering::Relaxed)), None);
    }
}
