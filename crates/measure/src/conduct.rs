//! One run, from the prepared target to its record.
//!
//! A run and a place enter. Each lane gets a thread; all open their windows together, and the processors'
//! account spans from before the first submission to after the last reaping.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use engine::EngineError;
use record::{Cpu, LaneRecord, LaneRole, Latency, Record, Series};
use spec::{Nanos, Run};

use crate::MeasureError;
use crate::aside;
use crate::offsets::Offsets;
use crate::place::{Account, Place, Prepared, Spent};
use crate::schedule::Schedule;
use crate::window::{Pauses, Tally, Terms, Window};

/// Measures one run.
///
/// # Errors
/// [`MeasureError::Interrupted`] when `stop` was set while it ran; otherwise what kept the run from being
/// measured. Requests that fail are not errors: they are in the record.
pub fn measure(place: &mut dyn Place, run: &Run, stop: &AtomicBool) -> Result<Record, MeasureError> {
    let (started_ns, started_unix_ms) = (place.clock_ns(), place.unix_ms());
    place.admits(&run.workload)?;
    let harness_ns_per_io = place.harness_ns_per_io(run.workload.iodepth);
    let prepared = place.prepare(run)?;
    let mut account = place.account(run.pass)?;
    let (engine, cached_bytes) = (prepared.engine, prepared.cached_bytes);
    let span_bytes = prepared.memory_bytes().unwrap_or_else(|| place.span_bytes());
    let readers = prepared.readers.clone();
    let (driven, spent) = drive(prepared, run, account.as_mut(), stop)?;
    if stop.load(Ordering::Relaxed) {
        return Err(MeasureError::Interrupted);
    }
    let (own, beside): (Vec<Driven>, Vec<Driven>) = driven.into_iter().partition(|lane| lane.role == LaneRole::Own);
    let mut sum = Sum::of(&own);
    let of_readers = beside.iter().map(Driven::record).chain(readers.map(|readers| readers.lane()));
    let lanes: Vec<LaneRecord> = own.iter().map(Driven::record).chain(of_readers).collect();
    let beside_ios: u64 = lanes.iter().filter(|lane| lane.role == LaneRole::Random).map(|lane| lane.ios).sum();
    let paid_ios = sum.ios + sum.errors.values().sum::<u64>() + sum.drained_ios + beside_ios;
    for (kind, count) in place.read_back(run, stop)? {
        *sum.errors.entry(kind).or_default() += count;
    }
    Ok(Record {
        run: *run,
        engine,
        span_bytes,
        started_unix_ms,
        spent_ns: place.clock_ns() - started_ns,
        elapsed_ns: sum.elapsed_ns,
        flush_ns: sum.flush_ns,
        bytes: sum.bytes,
        ios: sum.ios,
        read_ios: sum.read_ios,
        short_transfers: sum.short_transfers,
        overdue_ios: sum.overdue_ios,
        achieved_depth: sum.depth,
        cpu: Cpu { ios: paid_ios, ..spent.cpu },
        latency: sum.latency,
        errors: sum.errors,
        syncs: sum.syncs,
        lanes,
        series: sum.series,
        harness_ns_per_io,
        cached_bytes,
        noise: spent.noise,
        anatomy: spent.anatomy,
    })
}

/// What a lane did.
struct Driven {
    role: LaneRole,
    cpu: Option<usize>,
    tally: Tally,
}

impl Driven {
    fn record(&self) -> LaneRecord {
        let Self { role, cpu, tally } = self;
        let elapsed_ns = tally.end.0 - tally.start.0;
        LaneRecord { role: *role, cpu: cpu.map(|cpu| cpu as u32), elapsed_ns, bytes: tally.bytes, ios: tally.ios }
    }
}

/// Opens all windows at once and closes the account when the last has closed.
fn drive(
    prepared: Prepared,
    run: &Run,
    account: &mut dyn Account,
    stop: &AtomicBool,
) -> Result<(Vec<Driven>, Spent), EngineError> {
    let Prepared { mut lanes, once, flush, .. } = prepared;
    let terms = Terms { runtime: run.runtime, flush, pauses: Pauses::of(&run.workload.twist) };
    // Readers beside the workload read as long as it lasts.
    let own_lanes = AtomicUsize::new(lanes.iter().filter(|lane| lane.role == LaneRole::Own).count());
    let over = AtomicBool::new(false);
    // A place for this thread, which reads the account, and one for each lane.
    let gate = Barrier::new(lanes.len() + 1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = lanes
            .iter_mut()
            .enumerate()
            .map(|(index, lane)| {
                let seed = run.seed.wrapping_add(index as u64);
                let (workload, terms, stop) = match lane.role {
                    LaneRole::Own => (run.workload, terms, stop),
                    LaneRole::Random => (aside::reader(&run.workload), terms.of_reader(), &over),
                };
                let offsets = Offsets::new(&workload, &lane.range, once, seed);
                let schedule = workload.rate.map(|arrival| Schedule::new(arrival, seed));
                let (gate, own_lanes, over) = (&gate, &own_lanes, &over);
                scope.spawn(move || {
                    let seated = lane.cpu.map_or(Ok(()), os::processor::pin_this_thread);
                    let settled = lane.engine.settle();
                    // Made here, in memory of this thread's own: lanes that share cache lines slow each other down.
                    let window = Window::new(lane.engine.as_mut(), offsets, lane.depth, terms, stop);
                    if schedule.is_some() || terms.pauses.thinktime > Nanos(0) {
                        os::clock::wake_promptly();
                    }
                    let window = window.open_loop(schedule);
                    gate.wait();
                    gate.wait();
                    let tally = settled.and_then(|()| window.run());
                    if lane.role == LaneRole::Own && own_lanes.fetch_sub(1, Ordering::Relaxed) == 1 {
                        over.store(true, Ordering::Relaxed);
                    }
                    gate.wait();
                    seated.map_err(|error| EngineError::Call { call: "sched_setaffinity", error })?;
                    Ok(Driven { role: lane.role, cpu: lane.cpu, tally: tally? })
                })
            })
            .collect();
        gate.wait();
        account.begin();
        gate.wait();
        gate.wait();
        let spent = account.end();
        let driven = threads.into_iter().map(|thread| thread.join().expect("a window does not panic"));
        Ok((driven.collect::<Result<Vec<_>, _>>()?, spent))
    })
}

/// All lanes of a workload together.
struct Sum {
    elapsed_ns: u64,
    flush_ns: u64,
    bytes: u64,
    ios: u64,
    read_ios: u64,
    short_transfers: u64,
    drained_ios: u64,
    overdue_ios: u64,
    errors: BTreeMap<String, u64>,
    latency: Latency,
    /// Requests in flight on the average: of each lane over its own window, without its flush, and all together.
    depth: f64,
    syncs: Latency,
    series: Series,
}

impl Sum {
    fn of(lanes: &[Driven]) -> Self {
        let tallies = || lanes.iter().map(|lane| &lane.tally);
        let start = tallies().map(|tally| tally.start).min().expect("a run has a lane");
        let end = tallies().map(|tally| tally.end).max().expect("a run has a lane");
        let mut sum = Self {
            elapsed_ns: end.0 - start.0,
            flush_ns: tallies().map(|tally| tally.flush_ns).max().unwrap_or(0),
            bytes: tallies().map(|tally| tally.bytes).sum(),
            ios: tallies().map(|tally| tally.ios).sum(),
            read_ios: tallies().map(|tally| tally.read_ios).sum(),
            short_transfers: tallies().map(|tally| tally.short_transfers).sum(),
            drained_ios: tallies().map(|tally| tally.drained_ios).sum(),
            overdue_ios: tallies().map(|tally| tally.overdue_ios).sum(),
            errors: BTreeMap::new(),
            latency: Latency::default(),
            depth: 0.0,
            syncs: Latency::default(),
            series: Series { step_ns: lanes[0].tally.step_ns, bytes: Vec::new() },
        };
        for tally in tallies() {
            let latency = tally.latency.latency();
            sum.depth += latency.sum_ns() as f64 / (tally.end.0 - tally.start.0 - tally.flush_ns).max(1) as f64;
            sum.latency.merge(&latency);
            tally.syncs.iter().for_each(|syncs| sum.syncs.merge(&syncs.latency()));
            add_series(&mut sum.series.bytes, &tally.step_bytes);
            for (errno, count) in &tally.errors {
                *sum.errors.entry(errno.name().into_owned()).or_default() += count;
            }
        }
        sum
    }
}

/// Adds step by step; lanes that closed a step earlier than others end the series there.
fn add_series(sum: &mut Vec<u64>, lane: &[u64]) {
    if sum.is_empty() {
        sum.extend_from_slice(lane);
        return;
    }
    sum.truncate(lane.len());
    sum.iter_mut().zip(lane).for_each(|(sum, bytes)| *sum += bytes);
}
