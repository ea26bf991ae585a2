//! Measures what the harness itself takes, over the engine that does nothing.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use halfpower_engine::EngineError;
use halfpower_spec::{Bytes, EngineName, Nanos, Workload};

use crate::offsets::Offsets;
use crate::window::{Pauses, Terms, Window};

/// How long the null engine is driven, in nanoseconds.
const RUNTIME: Nanos = Nanos(10_000_000);

/// The harness's own cost a request, measured once for each depth.
#[derive(Debug, Default)]
pub(crate) struct Harness {
    ns_per_io: BTreeMap<u32, f64>,
}

impl Harness {
    /// Nanoseconds that a request takes when the target takes none.
    pub(crate) fn ns_per_io(&mut self, depth: u32) -> f64 {
        *self.ns_per_io.entry(depth).or_insert_with(|| measure(depth).unwrap_or(0.0))
    }
}

fn measure(depth: u32) -> Result<f64, EngineError> {
    let workload = Workload { bs: Bytes(4096), ..Workload::default() };
    let mut opened = halfpower_engine::open(None, EngineName::Null, depth, workload.bs, 1)?;
    let offsets = Offsets::new(&workload, &(0..1 << 30), false, 1);
    let terms = Terms { runtime: RUNTIME, flush: false, pauses: Pauses::default(), ramp: Nanos(0) };
    let tally = Window::new(opened.engine.as_mut(), offsets, depth, terms, &AtomicBool::new(false)).run()?;
    Ok((tally.end.0 - tally.start.0) as f64 / tally.ios.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_costs_something_and_is_measured_once() {
        let mut harness = Harness::default();
        let first = harness.ns_per_io(8);
        assert!(first > 0.0);
        assert_eq!(harness.ns_per_io(8), first);
    }
}
