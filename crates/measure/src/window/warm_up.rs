//! Lets requests go out before the window opens, so that it opens with the queue as full as it stays.

use std::sync::atomic::{AtomicUsize, Ordering};

use halfpower_engine::EngineError;
use halfpower_spec::Nanos;

use super::Window;

impl<'a> Window<'a> {
    /// Opens the window only when as many requests have completed as the queue holds, here and in all other lanes of the
    /// workload; `cold_lanes` says in how many they have not.
    pub(crate) fn warmed_up(self, cold_lanes: Option<&'a AtomicUsize>) -> Self {
        Self { cold_lanes, ..self }
    }

    /// Keeps the queue full until the window may open, for the length of a window at most; gives the time. What
    /// completes meanwhile counts as drained, and with what goes wrong.
    pub(super) fn turn_over(&mut self, began: Nanos) -> Result<Nanos, EngineError> {
        let Some(cold_lanes) = self.cold_lanes else { return Ok(began) };
        let deadline = Nanos(began.0.saturating_add(self.terms.runtime.0));
        let mut now = began;
        let mut completed = 0;
        let mut is_cold = true;
        while now < deadline && !self.stop.load(Ordering::Relaxed) {
            self.submit(now)?;
            now = self.reap()?;
            completed += self.done.len();
            self.drain();
            self.show_progress();
            if is_cold && completed >= self.issued.len() {
                cold_lanes.fetch_sub(1, Ordering::Relaxed);
                is_cold = false;
            }
            if cold_lanes.load(Ordering::Relaxed) == 0 {
                break;
            }
        }
        if is_cold {
            cold_lanes.fetch_sub(1, Ordering::Relaxed);
        }
        // Latencies of what is in flight now began before the window.
        self.tally.in_flight_beyond_latency_ns -= self.in_flight_ns(now);
        Ok(now)
    }

    /// Lets requests go out for the ramp, counted as drained; gives the time at which the window opens.
    pub(super) fn ramp_up(&mut self, began: Nanos) -> Result<Nanos, EngineError> {
        let opens = Nanos(began.0.saturating_add(self.terms.ramp.0));
        let mut now = began;
        while now < opens && !self.stop.load(Ordering::Relaxed) {
            self.submit(now)?;
            if self.all_free() && self.offsets.ended() {
                break;
            }
            now = self.wait(now, opens)?;
            self.drain();
            self.show_progress();
        }
        self.tally.in_flight_beyond_latency_ns -= self.in_flight_ns(now);
        Ok(now)
    }

    /// Time that the requests in flight have been so, all together.
    pub(super) fn in_flight_ns(&self, now: Nanos) -> i128 {
        let since = |at: Nanos| i128::from(now.0) - i128::from(at.0);
        let of_all: i128 = self.issued.iter().map(|issued| since(issued.at)).sum();
        let of_free: i128 = self.free.iter().map(|slot| since(self.issued[*slot as usize].at)).sum();
        of_all - of_free
    }
}
