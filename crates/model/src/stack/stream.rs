//! Tracks a drive's read-ahead: the bytes in its buffer and the head that continues to read.
//!
//! The frontier moves at the rate of the medium until it is as far ahead as the buffer allows. There the head parks,
//! and reading continues at the next turn once half of the buffer has been taken.

use super::geometry::{Geometry, ps};
use crate::Moment;

/// One sequential stream.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// First byte still in the buffer.
    low: u64,
    /// The frontier at `since`.
    base: u64,
    since_ps: f64,
    ps_per_byte: f64,
    /// Where the rate of the medium changes.
    band_end: u64,
    /// Reading continues up to here.
    limit: u64,
    /// End of the data that the host has requested.
    asked: u64,
    running: bool,
    /// Whether the arm has been used for something else.
    away: bool,
}

impl Stream {
    /// Starts a new stream: the head is above `from` at `at_ps`, and the host has requested data up to `to`; returns
    /// the moment at which `to` has been read.
    pub fn begin(&mut self, geometry: &Geometry, from: u64, at_ps: f64, to: u64, ahead: u64) -> f64 {
        let kept = if from <= self.frontier(at_ps) && from >= self.low { self.low } else { from };
        *self = Self { low: kept, base: from, asked: to, limit: to + ahead, ..Self::default() };
        self.run(geometry, at_ps);
        self.at_frontier_ps(to)
    }

    fn run(&mut self, geometry: &Geometry, at_ps: f64) {
        let (ps_per_byte, band_end) = geometry.pace(self.base);
        (self.ps_per_byte, self.band_end, self.since_ps, self.running) = (ps_per_byte, band_end, at_ps, true);
    }

    fn at_frontier_ps(&self, to: u64) -> f64 {
        self.since_ps + (to as f64 - self.base as f64) * self.ps_per_byte
    }

    fn frontier(&self, at_ps: f64) -> u64 {
        if !self.running {
            return self.base;
        }
        let read = (at_ps - self.since_ps).max(0.0) / self.ps_per_byte;
        (self.base + read as u64).min(self.limit)
    }

    /// Whether all of a range is in the buffer.
    pub fn holds(&self, now: Moment, from: u64, to: u64) -> bool {
        from >= self.low && to <= self.frontier(ps(now))
    }

    /// Whether a range continues the stream, so that the head only has to read on.
    pub fn leads_to(&self, now: Moment, from: u64) -> bool {
        !self.away && self.ps_per_byte > 0.0 && from >= self.low && from <= self.asked.max(self.frontier(ps(now)))
    }

    /// The first byte of a range that the buffer does not hold.
    pub fn missing(&self, now: Moment, from: u64, to: u64) -> u64 {
        let frontier = self.frontier(ps(now));
        if from >= self.low && from <= frontier { frontier.min(to) } else { from }
    }

    /// Gives the range that ends at `to` to the host; returns the moment at which all of it has been read.
    ///
    /// The stream must [hold](Self::holds) the range or [lead to](Self::leads_to) it.
    pub fn give(&mut self, geometry: &Geometry, now: Moment, to: u64, ahead: u64, keep: u64) -> f64 {
        let now_ps = ps(now);
        let frontier = self.frontier(now_ps);
        self.asked = self.asked.max(to);
        self.low = self.low.max(self.asked.saturating_sub(keep));
        if self.away {
            return now_ps;
        }
        if self.running && (frontier == self.limit || frontier >= self.band_end) {
            self.base = frontier;
            self.since_ps = now_ps;
            if frontier == self.limit {
                self.running = false;
            } else {
                self.run(geometry, now_ps);
            }
        }
        self.limit = self.limit.max(self.asked + ahead);
        if !self.running && (to > self.base || self.base - self.asked.min(self.base) <= ahead / 2) {
            let again_ps = geometry.under_head(geometry.place(self.base), now_ps);
            self.run(geometry, again_ps);
        }
        if to <= self.base { now_ps } else { self.at_frontier_ps(to).max(now_ps) }
    }

    /// Stops reading at the end of what the host has requested.
    pub fn park(&mut self) {
        if self.running {
            (self.base, self.limit, self.running) = (self.asked, self.asked, false);
        }
    }

    /// Moves the arm elsewhere: data already read stay in the buffer.
    pub fn leave(&mut self, now: Moment) {
        (self.base, self.running, self.away) = (self.frontier(ps(now)), false, true);
    }
}
