//! Tests what a window counts, and what flushes and thinking cost.

use super::*;
use crate::steady_end::SteadyEnd;
use halfpower_engine::{Errno, Simulated};
use halfpower_spec::{Arrival, Arrivals, Bytes, Rw, SimulatedDisk, ThinktimeFrom, Workload};

const BLOCK_BYTES: u32 = 4096;
const REQUEST_NS: u64 = 1_000;
const FLUSH_NS: u64 = 50_000;

/// Reads come whole, each third write short, each fifth request fails and each seventh moves nothing; a reap takes a microsecond and gives
/// back the older half.
#[derive(Default)]
struct Wayward {
    clock_ns: u64,
    serial: u64,
    in_flight: Vec<Completion>,
    given: Vec<Completion>,
}

impl Engine for Wayward {
    fn now(&self) -> Nanos {
        Nanos(self.clock_ns)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for request in batch {
            self.serial += 1;
            let result = match (request.operation, self.serial) {
                (_, serial) if serial % 5 == 0 => Err(Errno(5)),
                (_, serial) if serial % 7 == 0 => Ok(0),
                (Operation::Write, serial) if serial % 3 == 0 => Ok(1000),
                _ => Ok(BLOCK_BYTES),
            };
            self.in_flight.push(Completion { slot: request.slot, result });
        }
        Ok(())
    }

    fn reap(&mut self, _least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.clock_ns += 1_000;
        let half = self.in_flight.len().div_ceil(2);
        done.extend(self.in_flight.drain(..half));
        self.given.extend(&*done);
        Ok(())
    }
}

#[test]
fn what_is_odd_in_a_batch_is_counted_as_what_it_is() {
    let workload = Workload { rw: Rw::Randmixed, bs: Bytes(u64::from(BLOCK_BYTES)), ..Workload::default() };
    let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
    let mut engine = Wayward::default();
    let stop = AtomicBool::new(false);
    let terms = Terms { runtime: Nanos(100_000), flush: ClosingFlush::None, pauses: Pauses::default(), ramp: Nanos(0) };
    let tally = Window::new(&mut engine, offsets, 8, terms, &stop).run().unwrap();

    let succeeded = engine.given.iter().filter_map(|completion| completion.result.ok());
    let all_moved: Vec<u32> = succeeded.clone().filter(|moved| *moved > 0).collect();
    let empty = succeeded.count() - all_moved.len();
    let (moved, drained) = all_moved.split_at(all_moved.len() - tally.drained_ios as usize);
    let are_short = |moved: &[u32]| moved.iter().filter(|moved| **moved < BLOCK_BYTES).count();
    let short = are_short(&all_moved);
    let failed = engine.given.len() - all_moved.len() - empty;
    assert!(are_short(moved) > 10 && moved.len() - short > 10 && failed > 10 && empty > 10, "nothing was odd");
    assert!(!drained.is_empty(), "nothing was in flight when the window closed");
    assert_eq!(tally.ios, moved.len() as u64);
    assert_eq!(tally.bytes, moved.iter().map(|moved| u64::from(*moved)).sum::<u64>());
    assert_eq!(tally.short_transfers, short as u64);
    let mut errors = tally.errors.clone();
    errors.sort();
    assert_eq!(errors, [(Errno(5), failed as u64), (Errno::END_OF_FILE, empty as u64)]);
    assert!(tally.read_ios > 10 && tally.read_ios < tally.ios - 10);
    let latency = tally.latency();
    assert_eq!(latency.count(), tally.ios);
    assert_eq!((latency.min_ns(), latency.sum_ns() % 1_000), (1_000, 0));
    assert!(latency.max_ns() >= 2_000, "half of those in flight wait for another turn");
}

/// Every request of the window succeeds; what is in flight when it closes fails, or moves too little.
#[derive(Default)]
struct FailsLast {
    clock_ns: u64,
    in_flight: Vec<Request>,
}

impl Engine for FailsLast {
    fn now(&self) -> Nanos {
        Nanos(self.clock_ns)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        self.in_flight.extend(batch);
        Ok(())
    }

    fn reap(&mut self, _least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.clock_ns += 1_000;
        let Request { slot, length, .. } = self.in_flight.remove(0);
        let result = match self.clock_ns {
            ..=100_000 => Ok(length),
            _ if slot == 0 => Ok(length / 2),
            _ => Err(Errno::CORRUPT),
        };
        done.push(Completion { slot, result });
        Ok(())
    }
}

#[test]
fn requests_in_flight_when_the_window_closes_are_judged() {
    let workload = Workload { bs: Bytes(u64::from(BLOCK_BYTES)), ..Workload::default() };
    let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
    let mut engine = FailsLast::default();
    let stop = AtomicBool::new(false);
    let terms = Terms { runtime: Nanos(100_000), flush: ClosingFlush::None, pauses: Pauses::default(), ramp: Nanos(0) };
    let tally = Window::new(&mut engine, offsets, 8, terms, &stop).run().unwrap();
    assert_eq!((tally.ios, tally.bytes), (100, 100 * u64::from(BLOCK_BYTES)), "the rate is the window's");
    assert_eq!(tally.errors, [(Errno::CORRUPT, 6)]);
    assert_eq!((tally.short_transfers, tally.drained_ios), (1, 1));
}

/// Eight requests side by side on a disk that takes 100 us for each, in virtual time.
fn simulated(runtime_ns: u64, cold_lanes: Option<&AtomicUsize>) -> Tally {
    let disk = SimulatedDisk::from_constants("fixed=100us,rate=1000GB/s,disks=1").unwrap();
    let workload = Workload { bs: Bytes(u64::from(BLOCK_BYTES)), ..Workload::default() };
    let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
    let mut engine = Simulated::new(&disk, 8, 1, Nanos(5_000));
    let stop = AtomicBool::new(false);
    let pauses = Pauses::default();
    let terms = Terms { runtime: Nanos(runtime_ns), flush: ClosingFlush::None, pauses, ramp: Nanos(0) };
    Window::new(&mut engine, offsets, 8, terms, &stop).warmed_up(cold_lanes, Nanos(0)).run().unwrap()
}

fn depth(tally: &Tally) -> f64 {
    let in_flight_ns = tally.latency().sum_ns() as f64 + tally.in_flight_beyond_latency_ns as f64;
    in_flight_ns / (tally.end.0 - tally.start.0) as f64
}

#[test]
fn a_full_queue_is_as_deep_as_it_is_however_short_the_window() {
    for runtime_ns in [100_000, 250_000, 10_000_000] {
        let tally = simulated(runtime_ns, None);
        assert_eq!(tally.start, Nanos(5_000));
        assert!((depth(&tally) - 8.0).abs() < 1e-9, "{} in {runtime_ns} ns", depth(&tally));
    }
}

#[test]
fn a_window_opens_when_the_queue_has_turned_over() {
    let cold_lanes = AtomicUsize::new(1);
    let cold = simulated(10_000_000, None);
    let warm = simulated(10_000_000, Some(&cold_lanes));
    // The first eight requests take turns on the one disk; with the last of them the window opens.
    let turn_ns = cold.latency().max_ns();
    // Times are rounded to whole nanoseconds.
    assert!(warm.start.0.abs_diff(5_000 + turn_ns) <= 1, "{:?}", warm.start);
    assert_eq!(cold_lanes.into_inner(), 0);
    assert!((10_000_000..10_101_000).contains(&(warm.end.0 - warm.start.0)));
    assert_eq!((warm.drained_ios, cold.drained_ios), (15, 7));
    let latency = warm.latency();
    assert!(latency.min_ns() + 1 >= turn_ns && latency.max_ns() <= turn_ns + 1, "none is of a queue that was not full");
    assert!((depth(&warm) - 8.0).abs() < 1e-9, "{}", depth(&warm));
}

#[test]
fn latencies_of_a_queue_that_is_slower_than_the_window_are_those_of_a_full_queue() {
    // A turn of the queue takes 800 us: more than three windows.
    let cold_lanes = AtomicUsize::new(1);
    let tally = simulated(250_000, Some(&cold_lanes));
    let latency = tally.latency();
    assert!(latency.count() > 0 && latency.min_ns() + 1 >= 800_000, "{} of {}", latency.min_ns(), latency.count());
}

#[test]
fn what_goes_out_during_the_ramp_counts_for_nothing_but_its_cost() {
    let disk = SimulatedDisk::from_constants("fixed=100us,rate=1000GB/s,disks=1").unwrap();
    for rate in [None, Some(Arrival { iops: 5_000, arrivals: Arrivals::Fixed })] {
        let workload = Workload { bs: Bytes(u64::from(BLOCK_BYTES)), rate, ..Workload::default() };
        let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
        let mut engine = Simulated::new(&disk, 8, 1, Nanos(5_000));
        let stop = AtomicBool::new(false);
        let runtime = Nanos(10_000_000);
        let ramp = Nanos(50_000_000);
        let terms = Terms { runtime, flush: ClosingFlush::None, pauses: Pauses::default(), ramp };
        let schedule = rate.map(|arrival| Schedule::new(arrival, 1));
        let tally = Window::new(&mut engine, offsets, 8, terms, &stop).open_loop(schedule).run().unwrap();
        let each_ns = if rate.is_some() { 200_000 } else { 100_000 };
        assert!(tally.start.0.abs_diff(5_000 + ramp.0) <= each_ns, "{:?}", tally.start);
        assert!(tally.ios.abs_diff(runtime.0 / each_ns) <= 1, "{rate:?}: {}", tally.ios);
        let submitted = tally.ios + tally.drained_ios;
        assert!(submitted.abs_diff((ramp.0 + runtime.0) / each_ns) <= 8, "{rate:?}: {submitted}");
        assert_eq!(tally.latency().count(), tally.ios);
    }
}

#[test]
fn a_window_waits_a_few_times_its_own_length_for_other_lanes_and_no_longer() {
    let cold_lanes = AtomicUsize::new(2);
    let tally = simulated(10_000_000, Some(&cold_lanes));
    assert!((40_005_000..40_106_000).contains(&tally.start.0), "{:?}", tally.start);
    assert_eq!(cold_lanes.into_inner(), 1);
    assert!((depth(&tally) - 8.0).abs() < 1e-9, "{}", depth(&tally));
}

#[test]
fn requests_that_fail_are_in_flight_too() {
    let workload = Workload { rw: Rw::Randmixed, bs: Bytes(u64::from(BLOCK_BYTES)), ..Workload::default() };
    let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
    let mut engine = Wayward::default();
    let stop = AtomicBool::new(false);
    let terms = Terms { runtime: Nanos(100_000), flush: ClosingFlush::None, pauses: Pauses::default(), ramp: Nanos(0) };
    let tally = Window::new(&mut engine, offsets, 8, terms, &stop).run().unwrap();
    assert!((depth(&tally) - 8.0).abs() < 1e-9, "{}", depth(&tally));
}

/// Serves one request after the other, a flush only with nothing else in flight, and writes down what came when.
#[derive(Default)]
struct Diary {
    clock_ns: u64,
    /// Requests that are done at once.
    credit: u64,
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
            let took_ns = if is_flush { FLUSH_NS } else { REQUEST_NS };
            let is_free = self.credit > 0;
            self.credit -= u64::from(is_free);
            self.in_flight.push((*request, begin + if is_free { 0 } else { took_ns }));
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
    let terms = Terms {
        runtime: Nanos(10_000_000),
        flush: ClosingFlush::counts_if(pauses.fdatasync > 0),
        pauses,
        ramp: Nanos(0),
    };
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

/// A server at the end of a long way, to which the first requests take twice as long: it answers all after a round trip, and
/// flushes in the time of a round trip and of what there is to write.
#[derive(Default)]
struct FarServer {
    clock_ns: u64,
    in_flight: Vec<(u32, u64)>,
    served: u64,
    unwritten: u64,
}

const ROUND_TRIP_NS: u64 = 20_000_000;
const WRITE_NS: u64 = 100_000;

impl Engine for FarServer {
    fn now(&self) -> Nanos {
        Nanos(self.clock_ns)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for request in batch {
            let took_ns = match request.operation {
                Operation::Flush => ROUND_TRIP_NS + std::mem::take(&mut self.unwritten) * WRITE_NS,
                _ if self.served < 2 => 2 * ROUND_TRIP_NS,
                _ => ROUND_TRIP_NS,
            };
            self.unwritten += u64::from(request.operation != Operation::Flush);
            self.served += 1;
            self.in_flight.push((request.slot, self.clock_ns + took_ns));
        }
        Ok(())
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        if least > 0 {
            self.clock_ns = self.clock_ns.max(self.in_flight.iter().map(|(_, at)| *at).min().unwrap());
        }
        let clock_ns = self.clock_ns;
        let of = |(slot, _): &(u32, u64)| Completion { slot: *slot, result: Ok(BLOCK_BYTES) };
        done.extend(self.in_flight.iter().filter(|(_, at)| *at <= clock_ns).map(of));
        self.in_flight.retain(|(_, at)| *at > clock_ns);
        Ok(())
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.clock_ns = self.clock_ns.max(until.0);
        self.reap(0, done)
    }
}

/// A wire that lets a few requests through at once after a pause, and then one every so often.
#[test]
fn what_a_wire_lets_through_after_a_pause_is_no_part_of_the_rate() {
    const CREDIT: u64 = 3;
    let found = |turnover: Nanos| {
        let workload = Workload { rw: Rw::Read, bs: Bytes(u64::from(BLOCK_BYTES)), ..Workload::default() };
        let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
        let mut engine = Diary { credit: CREDIT, ..Diary::default() };
        let (stop, cold_lanes) = (AtomicBool::new(false), AtomicUsize::new(1));
        let runtime = Nanos(20 * REQUEST_NS);
        let terms = Terms { runtime, flush: ClosingFlush::None, pauses: Pauses::default(), ramp: Nanos(0) };
        let tally =
            Window::new(&mut engine, offsets, 1, terms, &stop).warmed_up(Some(&cold_lanes), turnover).run().unwrap();
        assert_eq!(cold_lanes.into_inner(), 0);
        tally.ios
    };
    assert_eq!(found(Nanos(0)), 20 + CREDIT - 1, "one request turns the queue over");
    assert_eq!(found(Nanos(REQUEST_NS)), 20);
}

/// A window pays neither for the way of its closing flush nor for a cold beginning, so short and long ones agree; what the
/// flush has to write counts.
#[test]
fn the_rate_over_a_long_way_is_that_of_any_window() {
    let rate = |runtime_ns: u64, flush: ClosingFlush| {
        let workload = Workload { rw: Rw::Write, bs: Bytes(u64::from(BLOCK_BYTES)), ..Workload::default() };
        let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
        let (mut engine, stop, cold_lanes) = (FarServer::default(), AtomicBool::new(false), AtomicUsize::new(1));
        let terms = Terms { runtime: Nanos(runtime_ns), flush, pauses: Pauses::default(), ramp: Nanos(0) };
        let tally =
            Window::new(&mut engine, offsets, 2, terms, &stop).warmed_up(Some(&cold_lanes), Nanos(0)).run().unwrap();
        assert_eq!(tally.latency().count(), tally.ios);
        assert!(tally.write_latency.latency().max_ns() <= ROUND_TRIP_NS, "the cold beginning counts for nothing");
        tally.ios as f64 / ((tally.end.0 - tally.start.0) as f64 / 1e9)
    };
    // Two a round trip, each written in the end.
    let truth = 2.0 / ((ROUND_TRIP_NS + 2 * WRITE_NS) as f64 / 1e9);
    for runtime_ns in [200_000_000, 1_000_000_000, 10_000_000_000] {
        let found = rate(runtime_ns, ClosingFlush::CountsBeyondAnswer);
        assert!((found / truth - 1.0).abs() < 0.01, "{runtime_ns}: {found} beside {truth}");
    }
    assert!(
        rate(200_000_000, ClosingFlush::Counts) < 0.93 * truth,
        "a flush that counts in whole makes a short one slow"
    );
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

#[test]
fn a_burst_goes_out_whole_and_the_time_counts_from_its_end_or_from_when_it_was_sent() {
    // Six requests at a depth of four: the last goes out after 2 us and is done after 6.
    for (from, period_ns) in [(ThinktimeFrom::Issued, 102_000), (ThinktimeFrom::Done, 106_000)] {
        let burst = Some(Burst { requests: 6, from });
        let (tally, engine) = run(Rw::Read, 4, Pauses { thinktime: Nanos(100_000), burst, ..Pauses::default() });
        let begins: Vec<u64> = engine.entries.chunks(6).map(|burst| burst[0].0).collect();
        assert_eq!(begins, (0..begins.len() as u64).map(|nth| nth * period_ns).collect::<Vec<_>>(), "{from}");
        assert!(begins.len() > 90 && tally.ios >= 6 * 90, "{from}: {} requests", tally.ios);
        assert_eq!(tally.latency().max_ns(), 4 * REQUEST_NS, "{from}: no latency holds the time between bursts");
    }
}

#[test]
fn a_flush_that_is_due_comes_before_the_pause() {
    // Two writes are done after 1 and 2 us, the flush after 52 us, and then 80 us pass: from its end, or from when they went out.
    let thinktime = Nanos(80_000);
    let burst = Some(Burst { requests: 2, from: ThinktimeFrom::Issued });
    let flush_ends_ns = 2 * REQUEST_NS + FLUSH_NS;
    for (burst, period_ns) in [(None, flush_ends_ns + thinktime.0), (burst, thinktime.0)] {
        let (tally, mut engine) = run(Rw::Write, 2, Pauses { fdatasync: 2, thinktime, burst });
        // The closing flush is of no commit.
        engine.entries.pop();
        let begins: Vec<u64> = engine.entries.chunks(3).map(|commit| commit[0].0).collect();
        assert!(begins.len() > 70, "{}", begins.len());
        assert_eq!(begins, (0..begins.len() as u64).map(|nth| nth * period_ns).collect::<Vec<_>>());
        let commits = tally.commits.as_ref().unwrap().latency();
        assert_eq!((commits.min_ns(), commits.max_ns()), (flush_ends_ns, flush_ends_ns), "no pause is in a commit");
    }
}

#[test]
fn time_passes_between_requests_of_a_ramp_too() {
    let workload = Workload { bs: Bytes(u64::from(BLOCK_BYTES)), ..Workload::default() };
    let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
    let mut engine = Diary::default();
    let stop = AtomicBool::new(false);
    let pauses = Pauses { thinktime: Nanos(7_000), ..Pauses::default() };
    let terms = Terms { runtime: Nanos(800_000), flush: ClosingFlush::None, pauses, ramp: Nanos(80_000) };
    let tally = Window::new(&mut engine, offsets, 1, terms, &stop).run().unwrap();
    assert!(engine.entries.windows(2).all(|pair| pair[1].0 - pair[0].0 == REQUEST_NS + 7_000));
    assert_eq!((engine.entries.len(), tally.ios, tally.drained_ios), (110, 100, 10));
}

#[test]
fn flushes_of_a_ramp_count_for_nothing() {
    let workload = Workload { rw: Rw::Write, bs: Bytes(u64::from(BLOCK_BYTES)), ..Workload::default() };
    let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
    let mut engine = Diary::default();
    let stop = AtomicBool::new(false);
    let pauses = Pauses { fdatasync: 1, ..Pauses::default() };
    let period_ns = REQUEST_NS + FLUSH_NS;
    let terms =
        Terms { runtime: Nanos(100 * period_ns), flush: ClosingFlush::Counts, pauses, ramp: Nanos(10 * period_ns) };
    let tally = Window::new(&mut engine, offsets, 1, terms, &stop).run().unwrap();
    let counted = |latencies: &Option<LatencyCounter>| latencies.as_ref().unwrap().latency().count();
    assert_eq!((counted(&tally.syncs), counted(&tally.commits), tally.ios), (100, 100, 100));
    assert_eq!(engine.entries.len(), 2 * 110 + 1, "each write of the ramp was flushed too");
}

/// Each third write fails, and so does each fourth flush; a request takes a microsecond.
#[derive(Default)]
struct Failing {
    clock_ns: u64,
    writes: u64,
    flushes: u64,
    in_flight: Vec<Completion>,
}

impl Engine for Failing {
    fn now(&self) -> Nanos {
        Nanos(self.clock_ns)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for request in batch {
            let (count, fails_each) = match request.operation {
                Operation::Flush => (&mut self.flushes, 4),
                _ => (&mut self.writes, 3),
            };
            *count += 1;
            let result = if count.is_multiple_of(fails_each) { Err(Errno(5)) } else { Ok(request.length) };
            self.in_flight.push(Completion { slot: request.slot, result });
        }
        Ok(())
    }

    fn reap(&mut self, _least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.clock_ns += 1_000;
        done.append(&mut self.in_flight);
        Ok(())
    }
}

#[test]
fn a_flush_that_fails_commits_nothing_and_neither_does_a_write_that_fails() {
    let workload = Workload { rw: Rw::Write, bs: Bytes(u64::from(BLOCK_BYTES)), ..Workload::default() };
    let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
    let mut engine = Failing::default();
    let stop = AtomicBool::new(false);
    let pauses = Pauses { fdatasync: 1, ..Pauses::default() };
    let terms = Terms { runtime: Nanos(24_000), flush: ClosingFlush::None, pauses, ramp: Nanos(0) };
    let tally = Window::new(&mut engine, offsets, 1, terms, &stop).run().unwrap();
    let counted = |latencies: &Option<LatencyCounter>| latencies.as_ref().unwrap().latency().count();
    // Of twelve, flushes 4, 8 and 12 fail, and writes 3, 6, 9 and 12.
    assert_eq!((counted(&tally.syncs), counted(&tally.commits), tally.ios), (9, 6, 8));
    assert_eq!(tally.errors, [(Errno(5), 7)]);
}

/// One request at a time, each of which takes 10 ms.
#[derive(Default)]
struct Slow {
    clock_ns: u64,
    in_flight: Vec<Request>,
}

impl Engine for Slow {
    fn now(&self) -> Nanos {
        Nanos(self.clock_ns)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        self.in_flight.extend(batch);
        Ok(())
    }

    fn reap(&mut self, _least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.clock_ns += 10_000_000;
        let Request { slot, length, .. } = self.in_flight.remove(0);
        done.push(Completion { slot, result: Ok(length) });
        Ok(())
    }
}

#[test]
fn a_window_tells_each_second_what_it_counted() {
    let workload = Workload { bs: Bytes(u64::from(BLOCK_BYTES)), ..Workload::default() };
    for (runtime_ns, is_steady) in [(1_900_000_000, false), (2_050_000_000, true)] {
        let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
        let mut engine = Slow::default();
        let stop = AtomicBool::new(false);
        let (to, mut judge) = SteadyEnd::new("iops:2%:2s".parse().unwrap(), std::iter::once(0));
        let terms =
            Terms { runtime: Nanos(runtime_ns), flush: ClosingFlush::None, pauses: Pauses::default(), ramp: Nanos(0) };
        let window = Window::new(&mut engine, offsets, 1, terms, &stop).told_by(Some(Teller::of(&to, 0)));
        window.run().unwrap();
        judge.look(&stop);
        assert_eq!(stop.load(Ordering::Relaxed), is_steady, "{}", judge.note());
    }
}

#[test]
fn a_window_ends_with_its_bytes_however_long_they_take() {
    let block = u64::from(BLOCK_BYTES);
    let workload = Workload { bs: Bytes(block), ..Workload::default() };
    let moved = |requests: u64, depth, runtime_ns| {
        let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
        let mut engine = Slow::default();
        let stop = AtomicBool::new(false);
        let terms =
            Terms { runtime: Nanos(runtime_ns), flush: ClosingFlush::None, pauses: Pauses::default(), ramp: Nanos(0) };
        Window::new(&mut engine, offsets, depth, terms, &stop).ends_after(Some(requests * block)).run().unwrap()
    };
    const DAY_NS: u64 = 86_400_000_000_000;
    let tally = moved(1_000, 8, DAY_NS);
    assert_eq!((tally.ios, tally.bytes, tally.drained_ios), (1_000, 1_000 * block, 0), "nothing is left in flight");
    assert_eq!(tally.end.0, 10_000_000_000);
    assert_eq!(moved(1_000, 1, 100_000_000).ios, 10, "its time is over before");
    // The steps of a long run double, and hold all of it but the last.
    let long = moved(20_000, 1, DAY_NS);
    assert_eq!((long.ios, long.step_ns), (20_000, 40_000_000));
    assert!(long.step_bytes[1..].iter().all(|bytes| *bytes == 4 * block), "{:?}", &long.step_bytes[..4]);
    assert!((4_990..=5_000).contains(&long.step_bytes.len()), "{}", long.step_bytes.len());
}

/// Steps of a long run double, and whoever waits for signs of life would take it for silent.
#[test]
fn answers_are_shown_however_long_the_steps_are() {
    let block = u64::from(BLOCK_BYTES);
    let workload = Workload { bs: Bytes(block), ..Workload::default() };
    let offsets = Offsets::new(&workload, &(0..1 << 20), false, 1);
    let mut engine = Slow::default();
    let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
    let runtime = Nanos(86_400_000_000_000);
    let terms = Terms { runtime, flush: ClosingFlush::None, pauses: Pauses::default(), ramp: Nanos(0) };
    let window = Window::new(&mut engine, offsets, 1, terms, &stop).watched(&progress);
    let tally = window.ends_after(Some(200_000 * block)).run().unwrap();
    assert_eq!((tally.ios, tally.step_ns), (200_000, 320_000_000));
    // Ten a second at least; the ends of steps are some 26,700.
    assert!(progress.into_inner() > 33_000);
}
