//! Lets the threads of lanes commit in groups: one at a time writes and syncs a log, and those who wait share its next sync.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::commits::{Group, Led};

/// Longest sleep before a lane looks whether the round is over.
const NAP: Duration = Duration::from_millis(10);

/// How a lane goes on that has come to commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It writes and syncs at once.
    First,
    /// It writes and syncs after the sync that ended then, by the clock.
    Next(u64),
    /// It is durable with the sync that ended then, by the clock.
    Durable(u64),
}

#[derive(Debug, Default)]
struct State {
    group: Group,
    /// What lanes were told that wait, until they take it.
    told: BTreeMap<u32, Turn>,
}

/// Whose turn it is to commit a log, in a round.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    state: Mutex<State>,
    more: Condvar,
}

impl Turns {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A lane comes to commit, and waits until it may, or until it is durable. `None` if the round is over.
    pub(crate) fn come(&self, lane: u32, is_over: impl Fn() -> bool) -> Option<Turn> {
        let mut state = self.state();
        if state.group.come(lane) {
            return Some(Turn::First);
        }
        loop {
            if let Some(turn) = state.told.remove(&lane) {
                return Some(turn);
            }
            if is_over() {
                return None;
            }
            state = self.more.wait_timeout(state, NAP).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The lane whose turn it was has synced.
    pub(crate) fn synced(&self, ended_ns: u64) {
        let mut state = self.state();
        let Led { riders, next } = state.group.synced();
        state.told.extend(riders.into_iter().map(|rider| (rider, Turn::Durable(ended_ns))));
        state.told.extend(next.map(|next| (next, Turn::Next(ended_ns))));
        drop(state);
        self.more.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn lanes_that_wait_are_told_whether_they_lead_or_are_durable() {
        let turns = Turns::default();
        assert_eq!(turns.come(0, || false), Some(Turn::First));
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let waiting = |lane| {
                let (turns, over) = (&turns, &over);
                let thread = scope.spawn(move || turns.come(lane, || over.load(Ordering::Relaxed)));
                while turns.state().group.waiting() < lane as usize {
                    std::thread::yield_now();
                }
                thread
            };
            let [one, two, three] = [1, 2, 3].map(waiting);
            turns.synced(700);
            assert_eq!(one.join().unwrap(), Some(Turn::Next(700)));
            turns.synced(900);
            assert_eq!([two, three].map(|thread| thread.join().unwrap()), [Some(Turn::Durable(900)); 2]);
            assert_eq!(turns.come(4, || false), Some(Turn::First));
            over.store(true, Ordering::Relaxed);
            assert_eq!(turns.come(5, || over.load(Ordering::Relaxed)), None);
        });
    }
}
