//! Lets the lanes of a capture share processors in virtual time, as they did when it was captured.
//!
//! Computing takes longer the more lanes compute at once. How much longer follows from the processors in use
//! ([`halfpower_model::lengthened`]), and they from the rate; so a round is asked again until both agree.

use halfpower_model::lengthened;
use halfpower_record::Captured;

use super::place::SimulatedPlace;
use super::round::{Round, SimulatedRound, UsedProcessors};
use super::thinking::{Computing, Thinking};
use crate::Pace;

/// Rounds in which both are to agree.
const MOST_ROUNDS: u32 = 10;
/// They agree if computing takes as long as it would, but for this share.
const AGREE: f64 = 0.01;

/// The processors of a captured application.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Processors {
    computing: Computing,
    lanes: u32,
    /// Processors that it can use, and those that it used while all its lanes were at work.
    usable: f64,
    used: f64,
    /// How many times as long computing took there as alone, as the queue says it.
    lengthened: f64,
    /// How much of its own length it waited for processors there, as it was seen.
    waited: f64,
}

impl Processors {
    /// Those of a capture; `None` if it does not tell.
    pub fn of(captured: &Captured) -> Option<Self> {
        let seen = captured.processors?;
        let mut round = Round::new(captured, Thinking::noting(), SimulatedPlace::as_captured());
        round.run();
        let round_ns = round.ended_ns() as f64;
        let pauses = round.into_thinking().into_seen();
        if round_ns <= 0.0 || pauses.is_empty() {
            return None;
        }
        let first = pauses.iter().filter(|(_, is_first)| *is_first).map(|(pause_ns, _)| *pause_ns);
        let computing = Computing::of(first.collect(), seen.own * captured.span_ns() as f64);
        let computed_ns: f64 = pauses.iter().map(|(pause_ns, _)| computing.within(*pause_ns).0).sum();
        let paused_ns: f64 = pauses.iter().map(|(pause_ns, _)| *pause_ns as f64).sum();
        let used = computed_ns / round_ns;
        let usable = seen.usable(captured.threads);
        let lengthened = lengthened(captured.lanes, usable, used);
        // It waited for no longer than it paused.
        let paused = (paused_ns / computed_ns - 1.0).max(0.0);
        let waited = seen.ready.map_or(lengthened - 1.0, |ready| ready / seen.own).min(paused);
        Some(Self { computing, lanes: captured.lanes, usable, used, lengthened, waited })
    }

    /// Asks `captured` of places that are alike for a round each, until processors and rate agree. Begins with computing that takes
    /// `near` times its own length more than when it was captured.
    pub fn round(
        &self,
        captured: &Captured,
        pace: Pace,
        near: f64,
        place: impl Fn() -> SimulatedPlace,
    ) -> SimulatedRound {
        let ask = |more: f64| {
            let mut round = Round::new(captured, Thinking::sharing(pace, self.computing, more), place());
            round.run();
            let there = round.used();
            let used = self.used(there, more);
            // Above 0 if computing would take longer than it was let.
            let lacks = self.more(there) - more;
            let agrees = lacks.abs() <= AGREE * (1.0 + self.waited + more).max(1.0);
            (SimulatedRound { processors: Some(used), ..round.into_result() }, lacks, agrees)
        };
        let (mut result, mut lacks, mut agrees) = ask(near);
        // Between these two both agree.
        let (mut low, mut high) = (None, None);
        let mut more = near;
        for _ in 1..MOST_ROUNDS {
            if agrees {
                break;
            }
            *if lacks > 0.0 { &mut low } else { &mut high } = Some(more);
            more = match (low, high) {
                (Some(low), Some(high)) => f64::midpoint(low, high),
                // Longer computing lowers the use, so the other end is no further than what is lacking.
                _ => more + lacks,
            };
            (result, lacks, agrees) = ask(more);
        }
        result
    }

    /// A round of a place where computing takes no time: no processors give more.
    pub fn round_without_computing(&self, captured: &Captured, pace: Pace, place: SimulatedPlace) -> SimulatedRound {
        let thinking = Thinking::without_computing(pace, self.computing, self.waited);
        let mut round = Round::new(captured, thinking, place);
        round.run();
        round.into_result()
    }

    /// In an open loop each operation has its own time, whatever the processors do: what they would have to do.
    pub fn in_open_loop(&self, pace: Pace) -> UsedProcessors {
        self.used(self.used * pace.speed, 0.0)
    }

    fn used(&self, there: f64, more: f64) -> UsedProcessors {
        UsedProcessors {
            before: self.used,
            there,
            usable: self.usable,
            more,
            longer: (1.0 + self.waited + more) / (1.0 + self.waited),
        }
    }

    /// How many times its own length computing takes more than when it was captured, where so many processors are in use.
    fn more(&self, used: f64) -> f64 {
        let more = lengthened(self.lanes, self.usable, used) - self.lengthened;
        // Where fewer are in use, no more falls away than was waited.
        if more < 0.0 { more * self.waited / (self.lengthened - 1.0) } else { more }
    }
}
