//! Tests what flushes and thinking cost.

use std::sync::atomic::AtomicBool;

use halfpower_engine::{Completion, Engine, Request};
use halfpower_spec::{Bytes, Rw, Workload};

use halfpower_engine::{EngineError, Operation};
use halfpower_spec::Nanos;

use super::super::Window;
use crate::offsets::Offsets;
use crate::window::{Pauses, Tally, Terms};

const BLOCK_BYTES: u32 = 4096;
const REQUEST_NS: u64 = 1_000;
const FLUSH_NS: u64 = 50_000;

/// Serves one request after the other, a flush only with nothing else in flight, and writes down what came when.
#[derive(Default)]
struct Diary {
    clock_ns: u64,
    in_flight: Vec<(Request, u64)>,
    entries: Vec<(u64, Operation)>,
}

impl Engine for Diary {
    fn now(&self) -> Nanos {
        Nanos(self.clock_ns)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for request in batch {
            let is_flush = request.operation == Operation::Flush;
            assert!(!is_flush || self.in_flight.is_empty(), "a flush waits for what it is to make durable");
            let begin = self.in_flight.last().map_or(self.clock_ns, |(_, done)| *done);
            self.in_flight.push((*request, begin + if is_flush { FLUSH_NS } else { REQUEST_NS }));
            self.entries.push((self.clock_ns, request.operation));
        }
        Ok(())
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        if least > 0 {
            self.clock_ns = self.clock_ns.max(self.in_flight[0].1);
        }
        while self.in_flight.first().is_some_and(|(_, at)| *at <= self.clock_ns) {
            let (request, _) = self.in_flight.remove(0);
            done.push(Completion { slot: request.slot, result: Ok(request.length) });
        }
        Ok(())
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let first = self.in_flight.first().map_or(until.0, |(_, at)| *at);
        self.clock_ns = self.clock_ns.max(first.min(until.0));
        self.reap(0, done)
    }
}

fn run(rw: Rw, depth: u32, pauses: Pauses) -> (Tally, Diary) {
    let workload = Workload { rw, bs: Bytes(u64::from(BLOCK_BYTES)), ..Workload::default() };
    let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
    let mut engine = Diary::default();
    let stop = AtomicBool::new(false);
    let terms = Terms { runtime: Nanos(10_000_000), flush: pauses.fdatasync > 0, pauses, ramp: Nanos(0) };
    let tally = Window::new(&mut engine, offsets, depth, terms, &stop).run().unwrap();
    (tally, engine)
}

#[test]
fn a_flush_comes_after_every_so_many_writes_and_its_time_counts() {
    for (rw, depth, fdatasync) in [(Rw::Write, 1, 1), (Rw::Write, 8, 3), (Rw::Randmixed, 4, 16)] {
        let (tally, engine) = run(rw, depth, Pauses { fdatasync, ..Pauses::default() });
        let mut writes = 0;
        let mut between = Vec::new();
        for (_, operation) in &engine.entries {
            match operation {
                Operation::Write => writes += 1,
                Operation::Flush => between.push(std::mem::take(&mut writes)),
                Operation::Read | Operation::Trim => {}
            }
        }
        // The closing flush makes the rest durable.
        between.pop();
        assert!(between.len() > 10 && between.iter().all(|writes| *writes == fdatasync), "{rw}: {between:?}");
        let syncs = tally.syncs.as_ref().unwrap().latency();
        assert_eq!((syncs.count(), syncs.mean_ns()), (between.len() as u64, FLUSH_NS as f64));
        assert_eq!(tally.flush_ns, FLUSH_NS);
        let busy_ns = tally.ios * REQUEST_NS + (between.len() as u64 + 1) * FLUSH_NS;
        assert_eq!(tally.end.0 - tally.start.0, busy_ns, "{rw}: all the time is requests and flushes");
        assert_eq!(tally.latency().count(), tally.ios);
    }
}

#[test]
fn time_passes_between_completion_and_submission_and_no_latency_holds_it() {
    let thinktime = Nanos(7_000);
    let (tally, engine) = run(Rw::Read, 1, Pauses { thinktime, ..Pauses::default() });
    assert!(engine.entries.windows(2).all(|pair| pair[1].0 - pair[0].0 == REQUEST_NS + thinktime.0));
    assert_eq!(tally.ios, 10_000_000 / (REQUEST_NS + thinktime.0));
    assert_eq!(tally.latency().max_ns(), REQUEST_NS);
}

#[test]
fn what_completes_while_a_lane_thinks_is_reaped_when_it_does() {
    let (tally, _) = run(Rw::Read, 4, Pauses { thinktime: Nanos(50_000), ..Pauses::default() });
    // The first of four wakes it after 1 us, the others come 1 us later each, and 50 us later all go out again.
    let latency = tally.latency();
    assert_eq!((latency.min_ns(), latency.max_ns()), (REQUEST_NS, 4 * REQUEST_NS));
    assert_eq!(tally.ios, 4 * (10_000_000 / 51_000) + 4);
}
