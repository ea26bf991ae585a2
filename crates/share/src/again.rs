//! Resends requests that a busy server refused; used only while a file is laid out, never in a measured run.

use std::time::{Duration, Instant};

use crate::protocol::{Done, Order};

/// How many times a request is resent, and the wait before the first time; the wait doubles each time.
const TIMES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(100);
/// The error of such a refusal: EBUSY of <errno.h>.
const BUSY: i32 = 16;

/// Orders that may be resent.
#[derive(Default)]
pub(crate) struct Resender {
    /// The order in each slot, and how many times it was resent.
    orders: Vec<Option<(Order, u32)>>,
    /// Orders to resend, with the time for each.
    due: Vec<(Instant, Order)>,
}

impl Resender {
    /// Remembers an order that is sent for the first time.
    pub fn was_sent(&mut self, order: Order) {
        let at = order.slot as usize;
        if self.orders.len() <= at {
            self.orders.resize(at + 1, None);
        }
        self.orders[at] = Some((order, 0));
    }

    /// Removes from `done`, from index `first` on, the refusals whose orders will be resent.
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

    /// Time until the next order is due; `None` if there is none.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        self.due.iter().map(|(at, _)| at.saturating_duration_since(now)).min()
    }
}
