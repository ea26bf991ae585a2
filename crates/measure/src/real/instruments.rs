//! Holds what every real target measures with: clocks, and the cost of the harness.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use halfpower_engine::EngineError;
use halfpower_spec::{Bytes, EngineName, Nanos, Workload};

use crate::offsets::Offsets;
use crate::target_backend::ClosingFlush;
use crate::window::{Pauses, Terms, Window};

/// Time that the null engine is driven for each trial, in nanoseconds.
const RUNTIME: Nanos = Nanos(2_000_000);
/// Number of trials; the fastest counts, since disturbances only add time.
const LOOKS: usize = 5;
/// A trial with fewer requests than this was disturbed too much to count.
const LEAST_IOS: u64 = 16;

/// The clocks of a real target, and the harness's own cost.
#[derive(Debug)]
pub(super) struct Instruments {
    harness: Harness,
    began: Instant,
}

impl Instruments {
    pub fn new() -> Self {
        Self { harness: Harness::default(), began: Instant::now() }
    }

    /// Nanoseconds per request at this depth when the target takes no time.
    pub fn harness_ns_per_io(&mut self, depth: u32) -> f64 {
        self.harness.ns_per_io(depth)
    }

    /// Nanoseconds since the target was opened.
    pub fn clock_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Unix time in milliseconds.
    pub fn unix_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
    }
}

/// The harness's own cost per request, measured once for each depth.
#[derive(Debug, Default)]
struct Harness {
    ns_per_io: BTreeMap<u32, f64>,
}

impl Harness {
    /// Nanoseconds per request when the target takes no time; 0 if unknown.
    fn ns_per_io(&mut self, depth: u32) -> f64 {
        *self.ns_per_io.entry(depth).or_insert_with(|| least((0..LOOKS).filter_map(|_| look(depth).ok())))
    }
}

/// Nanoseconds per request of the fastest trial, from the nanoseconds and requests of each; 0 if none counts.
fn least(looks: impl Iterator<Item = (u64, u64)>) -> f64 {
    let reported = looks.filter(|(_, ios)| *ios >= LEAST_IOS).map(|(ns, ios)| ns as f64 / ios as f64);
    reported.reduce(f64::min).unwrap_or(0.0)
}

/// Runs one trial; returns its nanoseconds and requests.
fn look(depth: u32) -> Result<(u64, u64), EngineError> {
    let workload = Workload { bs: Bytes(4096), ..Workload::default() };
    let mut opened = halfpower_engine::open(None, EngineName::Null, depth, workload.bs, 1)?;
    let offsets = Offsets::new(&workload, &(0..1 << 30), false, 1);
    let terms = Terms { runtime: RUNTIME, flush: ClosingFlush::None, pauses: Pauses::default(), ramp: Nanos(0) };
    let tally = Window::new(opened.engine.as_mut(), offsets, depth, terms, &AtomicBool::new(false)).run()?;
    Ok((tally.end.0 - tally.start.0, tally.ios))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disturbed_look_is_not_believed_and_what_is_not_known_is_nothing() {
        let disturbed = [(14_600_000, 2), (2_000_000, 20_000), (9_000_000, 1_000), (2_100_000, 20_000)];
        assert_eq!(least(disturbed.into_iter()), 100.0);
        assert_eq!(least([(14_600_000, 2)].into_iter()), 0.0);
        assert_eq!(least(std::iter::empty()), 0.0);
    }

    #[test]
    fn the_harness_costs_something_and_is_measured_once() {
        let mut harness = Harness::default();
        let first = harness.ns_per_io(8);
        assert!(first > 0.0);
        assert_eq!(harness.ns_per_io(8), first);
    }
}
