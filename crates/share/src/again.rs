//! Sends again what a server refused because it has too much to do: while a file is laid out, never while it is measured.

use std::time::{Duration, Instant};

use crate::protocol::{Done, Order};

/// How often a request is sent again, and how long is waited first; twice as long each time.
const TIMES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(100);
/// What such a refusal is called in <errno.h>: EBUSY.
const BUSY: i32 = 16;

/// Orders that may be sent again.
#[derive(Default)]
pub(crate) struct Again {
    /// The order in each slot, and how often it was sent again.
    orders: Vec<Option<(Order, u32)>>,
    /// When orders are sent again.
    due: Vec<(Instant, Order)>,
}

impl Again {
    /// Remembers an order that is sent for the first time.
    pub fn was_sent(&mut self, order: Order) {
        let at = order.slot as usize;
        if self.orders.len() <= at {
            self.orders.resize(at + 1, None);
        }
        self.orders[at] = Some((order, 0));
    }

    /// Takes out of `done`, from `first` on, what is sent again later.
    pub fn keep_back(&mut self, done: &mut Vec<Done>, first: usize, now: Instant) {
        let fresh = done.split_off(first);
        done.extend(fresh.into_iter().filter(|one| !self.keeps(one, now)));
    }

    fn keeps(&mut self, done: &Done, now: Instant) -> bool {
        let Some(Some((order, times))) = self.orders.get_mut(done.slot as usize) else { return false };
        if done.result != Err(BUSY) || *times == TIMES {
            return false;
        }
        self.due.push((now + PAUSE * 2_u32.pow(*times), *order));
        *times += 1;
        true
    }

    /// The orders whose time has come.
    pub fn due(&mut self, now: Instant) -> impl Iterator<Item = Order> {
        self.due.extract_if(.., move |(at, _)| *at <= now).map(|(_, order)| order)
    }

    /// How long is waited for the next of them; `None` where there is none.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        self.due.iter().map(|(at, _)| at.saturating_duration_since(now)).min()
    }
}
