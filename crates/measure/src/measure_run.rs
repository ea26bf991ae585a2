//! Measures one run, from the prepared target to its record.
//!
//! Each lane gets a thread. All lanes open their windows together. Processor time is accounted from before the first
//! submission to after the last completion.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use halfpower_engine::Errno;
use halfpower_record::{
    ByDirection, Cpu, DiscardReason, Join as _, LaneRecord, LaneRole, Latency, Record, Samples, Series, Trims,
};
use halfpower_spec::{EngineName, Pass, Run, Rw};

use crate::MeasureError;
use crate::drive::{LaneOutcome, drive};
use crate::target_backend::{Prepared, Spent, TargetBackend};
use crate::window::Tally;

/// Share of a window for which the process may have been stopped.
const MUCH_STOPPED: f64 = 0.01;
/// How many times a run is measured again because the process was stopped in its window.
const MOST_STOPS: u32 = 3;

/// Whose latencies a record keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatenciesOf {
    /// Those of all lanes together.
    AllLanes,
    /// Those of each lane of the workload as well. The window counts them anyhow; the record is larger.
    EachLane,
}

/// Measures one run; measures it again if the process or the machine was stopped in its window.
///
/// # Errors
/// [`MeasureError::Interrupted`] if `stop` was set while it ran; otherwise what kept the run from being measured.
/// Failed requests are not errors: the record counts them.
pub fn measure(backend: &mut dyn TargetBackend, run: &Run, stop: &AtomicBool) -> Result<Record, MeasureError> {
    let mut record = measure_until_stopped(backend, run, stop)?;
    for _ in 0..MOST_STOPS {
        if !was_stopped(&record) {
            break;
        }
        let mut discarded = std::mem::take(&mut record.discarded);
        discarded.push(record.discarded_for(DiscardReason::Stopped));
        let again = measure_until_stopped(backend, run, stop)?;
        discarded.extend(again.discarded);
        record = Record { spent_ns: record.spent_ns + again.spent_ns, discarded, ..again };
    }
    if stop.load(Ordering::Relaxed) { Err(MeasureError::Interrupted) } else { Ok(record) }
}

/// Whether this process was stopped for so much of the window that its figures mean little.
fn was_stopped(record: &Record) -> bool {
    record.stopped_ns as f64 > MUCH_STOPPED * record.elapsed_ns as f64
}

/// Measures one run until it ends or `stop` is set; then the record has a shorter window, and written blocks are not
/// read back.
///
/// # Errors
/// [`MeasureError::Interrupted`] if `stop` was set before the window opened; otherwise as [`measure`].
pub fn measure_until_stopped(
    backend: &mut dyn TargetBackend,
    run: &Run,
    stop: &AtomicBool,
) -> Result<Record, MeasureError> {
    measure_keeping(backend, run, LatenciesOf::AllLanes, stop)
}

/// As [`measure_until_stopped`], with a record that keeps the latencies asked for.
///
/// # Errors
/// As [`measure_until_stopped`].
pub fn measure_keeping(
    backend: &mut dyn TargetBackend,
    run: &Run,
    kept: LatenciesOf,
    stop: &AtomicBool,
) -> Result<Record, MeasureError> {
    let first = measure_together(backend, run, kept, stop)?;
    let given_back = first.resubmitted_ios;
    if given_back == 0 || stop.load(Ordering::Relaxed) || !backend.hand_to_workers() {
        return Ok(first);
    }
    // A limit such as io.max counts also requests that it gives back, so this window measured too little.
    let second = measure_together(backend, run, kept, stop)?;
    backend.note(
        "the kernel gave requests back that it could not take at once (EAGAIN), as behind a control group's io.max: since \
         then workers of the kernel, which may wait, carry those of io_uring",
    );
    let mut discarded = vec![first.discarded_for(DiscardReason::GivenBack)];
    discarded.extend(second.discarded);
    let resubmitted_ios = given_back + second.resubmitted_ios;
    Ok(Record { spent_ns: first.spent_ns + second.spent_ns, discarded, resubmitted_ios, ..second })
}

/// Measures one window of a run together with all processes that make it; repeats it if the backend asks for that.
fn measure_together(
    backend: &mut dyn TargetBackend,
    run: &Run,
    kept: LatenciesOf,
    stop: &AtomicBool,
) -> Result<Record, MeasureError> {
    loop {
        let own = backend.share_out(run)?;
        let made = own.map(|own| measure_part(backend, &own, kept, stop));
        if let Some(record) = backend.put_together(run, made, stop)? {
            return Ok(record);
        }
    }
}

/// Measures this process's part of a run, as [`TargetBackend::share_out`] returned it: the whole run if it is alone.
///
/// # Errors
/// As [`measure_until_stopped`].
pub fn measure_own_part(backend: &mut dyn TargetBackend, run: &Run, stop: &AtomicBool) -> Result<Record, MeasureError> {
    measure_part(backend, run, LatenciesOf::AllLanes, stop)
}

fn measure_part(
    backend: &mut dyn TargetBackend,
    run: &Run,
    kept: LatenciesOf,
    stop: &AtomicBool,
) -> Result<Record, MeasureError> {
    // Needed only for the soaker's pass, the only one that is tried again.
    let threads = if run.pass == Pass::Soaker { halfpower_os::trace::own_threads().len() } else { 0 };
    match measure_in_pass(backend, run, run.pass, kept, stop) {
        // The soaker's threads may be one too many: measure without them, which gives a lower bound of the cost.
        Err(MeasureError::Thread { what }) if run.pass == Pass::Soaker => {
            backend.note(&format!("costs are known from below alone: beside the soaker a measuring thread {what}"));
            halfpower_os::processor::await_threads(threads);
            measure_in_pass(backend, run, Pass::Plain, kept, stop)
        }
        measured => measured,
    }
}

/// Measures a run with the account of this pass, which may differ from the run's own.
fn measure_in_pass(
    backend: &mut dyn TargetBackend,
    run: &Run,
    pass: Pass,
    kept: LatenciesOf,
    stop: &AtomicBool,
) -> Result<Record, MeasureError> {
    let started_ns = backend.clock_ns();
    let started_unix_ms = backend.unix_ms();
    let rw = run.workload.rw;
    backend.admits(&run.workload)?;
    let own_ns = (backend.harness_ns_per_io(run.workload.iodepth), backend.client_ns_per_io(&run.workload));
    let prepared = backend.prepare(run, stop)?;
    let mut account = backend.account(pass)?;
    let Prepared { engine, cached_bytes, buffer_segments, span_bytes, spread_bytes, .. } = prepared;
    let (driven, spent) = drive(prepared, run, account.as_mut(), stop)?;
    spent.notes.iter().for_each(|note| backend.note(note));
    let (own, beside): (Vec<LaneOutcome>, Vec<LaneOutcome>) =
        driven.into_iter().partition(|lane| lane.role == LaneRole::Own);
    let mut sum = Sum::of(&own);
    add_background_errors(&mut sum, &beside, &spent);
    let lanes: Vec<LaneRecord> = own.iter().chain(&beside).map(LaneOutcome::record).chain(spent.beside).collect();
    let lane_latencies =
        if kept == LatenciesOf::EachLane { own.iter().map(LaneOutcome::latencies).collect() } else { Vec::new() };
    let submitted = sum.submitted_ios() + of_background(&lanes);
    let mut cached_after_bytes = None;
    // Reading back from a target that has stopped answering would hang.
    if !own.iter().any(|lane| lane.is_lost) && !stop.load(Ordering::Relaxed) {
        if run.workload.cache.direct() {
            backend.check_direct(run, cached_bytes, sum.bytes);
        } else {
            cached_after_bytes = backend.cached_after(run);
        }
        sum.add_found(backend.read_back(run, stop)?);
    }
    Ok(Record {
        run: *run,
        engine,
        span_bytes,
        spread_bytes,
        started_unix_ms,
        spent_ns: backend.clock_ns() - started_ns,
        between_ns: 0,
        elapsed_ns: sum.elapsed_ns,
        flush_ns: sum.flush_ns,
        bytes: sum.bytes,
        ios: sum.ios,
        read_ios: if rw.trims() { 0 } else { sum.read_ios },
        short_transfers: sum.short_transfers,
        overdue_ios: sum.overdue_ios,
        resubmitted_ios: sum.resubmitted_ios,
        unjudged_reads: sum.unjudged_reads,
        achieved_depth: sum.depth,
        cpu: Cpu { ios: submitted, waited_ns: waited_ns(engine, &own), ..spent.cpu },
        trims: rw.trims().then(|| sum.trims(rw)),
        latency: sum.latency,
        by_direction: rw.direction().is_none().then_some(sum.by_direction),
        errors: sum.errors,
        syncs: sum.syncs,
        commits: sum.commits,
        lanes,
        lane_latencies,
        series: sum.series,
        samples: sum.samples,
        harness_ns_per_io: own_ns.0,
        client_ns_per_io: own_ns.1,
        cached_bytes,
        cached_after_bytes,
        buffer_segments,
        predicted: backend.predicted(&run.workload),
        noise: spent.noise,
        devices: spent.devices,
        tcp: spent.tcp,
        far_end: spent.far_end,
        stopped_ns: spent.stopped_ns,
        hosts: Vec::new(),
        anatomy: spent.anatomy,
        depth_search: None,
        discarded: Vec::new(),
        session: 0,
        origin: None,
    })
}

/// Adds the errors and short transfers of background readers to the sum.
fn add_background_errors(sum: &mut Sum, beside: &[LaneOutcome], spent: &Spent) {
    beside
        .iter()
        .for_each(|lane| sum.add_background_errors(lane.tally.errors.iter().copied(), lane.tally.short_transfers));
    sum.add_background_errors(
        spent.beside_errors.iter().map(|(errno, count)| (*errno, *count)),
        spent.beside_short_transfers,
    );
}

/// Time that threads waited for a processor, in nanoseconds; 0 in virtual time.
fn waited_ns(engine: EngineName, lanes: &[LaneOutcome]) -> u64 {
    if engine == EngineName::Simulated { 0 } else { lanes.iter().map(|lane| lane.tally.waited_ns).sum() }
}

/// Number of requests of the lanes beside the workload.
fn of_background(lanes: &[LaneRecord]) -> u64 {
    lanes.iter().filter(|lane| lane.role != LaneRole::Own).map(|lane| lane.ios).sum()
}

/// All lanes of a workload together.
struct Sum {
    pub elapsed_ns: u64,
    /// What follows the last request: a lane that ends before the others flushes within the window.
    pub flush_ns: u64,
    pub bytes: u64,
    pub ios: u64,
    pub read_ios: u64,
    pub short_transfers: u64,
    pub drained_ios: u64,
    pub overdue_ios: u64,
    pub resubmitted_ios: u64,
    pub unjudged_reads: u64,
    pub errors: BTreeMap<String, u64>,
    pub latency: Latency,
    /// How many of `bytes` were read, and the latencies of reads and of writes.
    pub by_direction: ByDirection,
    /// Mean number of requests in flight over the window of all lanes, without what follows the last request.
    pub depth: f64,
    pub syncs: Latency,
    pub commits: Latency,
    pub series: Series,
    pub samples: Samples,
}

impl Sum {
    /// Number of submitted requests, including those that ended after the window.
    pub fn submitted_ios(&self) -> u64 {
        self.ios + self.errors.values().sum::<u64>() + self.drained_ios
    }

    /// Adds up at least one lane.
    pub(crate) fn of(lanes: &[LaneOutcome]) -> Self {
        let tallies = || lanes.iter().map(|lane| &lane.tally);
        // Of a lane that hangs no step is known: it says nothing of what the others did in theirs.
        let ended = || lanes.iter().filter(|lane| !lane.is_lost).map(|lane| &lane.tally);
        let start = tallies().map(|tally| tally.start).min().expect("a run has a lane");
        let end = tallies().map(|tally| tally.end).max().expect("a run has a lane");
        let last = tallies().map(|tally| tally.end.0 - tally.flush_ns).max().expect("a run has a lane");
        let mut in_flight_ns = 0.0;
        let mut sum = Self {
            elapsed_ns: end.0 - start.0,
            flush_ns: end.0 - last,
            bytes: tallies().map(|tally| tally.bytes).sum(),
            ios: tallies().map(|tally| tally.ios).sum(),
            read_ios: tallies().map(|tally| tally.read_ios).sum(),
            short_transfers: tallies().map(|tally| tally.short_transfers).sum(),
            drained_ios: tallies().map(|tally| tally.drained_ios).sum(),
            overdue_ios: tallies().map(|tally| tally.overdue_ios).sum(),
            resubmitted_ios: tallies().map(|tally| tally.resubmitted_ios).sum(),
            unjudged_reads: tallies().map(|tally| tally.unjudged_reads).sum(),
            errors: BTreeMap::new(),
            latency: Latency::default(),
            by_direction: ByDirection::default(),
            depth: 0.0,
            syncs: Latency::default(),
            commits: Latency::default(),
            // Steps of lanes that end by their bytes double as they go on.
            series: added_series(tallies().map(|tally| tally.step_ns).max().unwrap_or(0), ended()),
            samples: ended().map(Tally::samples).reduce(Samples::joined).unwrap_or_default(),
        };
        for tally in tallies() {
            let reads = tally.read_latency.latency();
            let writes = tally.write_latency.latency();
            let latency = tally.latency();
            sum.by_direction.read_bytes += tally.read_bytes;
            sum.by_direction.read_latency.merge(&reads);
            sum.by_direction.write_latency.merge(&writes);
            in_flight_ns += latency.sum_ns() as f64 + tally.in_flight_beyond_latency_ns as f64;
            sum.latency.merge(&latency);
            tally.syncs.iter().for_each(|syncs| sum.syncs.merge(&syncs.latency()));
            tally.commits.iter().for_each(|commits| sum.commits.merge(&commits.latency()));
            sum.add_errors(tally.errors.iter().copied());
        }
        sum.depth = in_flight_ns / (last - start.0).max(1) as f64;
        sum
    }

    /// The trims of a run: all its requests, or with `trimwrite` those counted as reads.
    pub(crate) fn trims(&self, rw: Rw) -> Trims {
        let ByDirection { read_bytes, read_latency, write_latency } = &self.by_direction;
        if rw == Rw::Trimwrite {
            let latency = read_latency.clone();
            let write_latency = write_latency.clone();
            return Trims { ios: self.read_ios, bytes: *read_bytes, latency, write_latency };
        }
        let ios = self.ios;
        let bytes = self.bytes;
        let latency = self.latency.clone();
        Trims { ios, bytes, latency, write_latency: Latency::default() }
    }

    /// Adds errors and short transfers of background readers.
    pub(crate) fn add_background_errors(&mut self, errors: impl Iterator<Item = (Errno, u64)>, short_transfers: u64) {
        self.add_errors(errors);
        self.short_transfers += short_transfers;
    }

    /// Adds bad blocks that reading back found, by kind of error.
    pub(crate) fn add_found(&mut self, found: BTreeMap<String, u64>) {
        for (kind, count) in found {
            *self.errors.entry(kind).or_default() += count;
        }
    }

    fn add_errors(&mut self, errors: impl Iterator<Item = (Errno, u64)>) {
        for (errno, count) in errors {
            *self.errors.entry(errno.name().into_owned()).or_default() += count;
        }
    }
}

/// The bytes of these lanes step by step, as far as the shortest of them goes. A lane with shorter steps has a whole number
/// of them in each.
fn added_series<'a>(step_ns: u64, lanes: impl Iterator<Item = &'a Tally>) -> Series {
    let of_lane = |lane: &Tally| -> Vec<u64> {
        let in_one = (step_ns / lane.step_ns.max(1)).max(1) as usize;
        lane.step_bytes.chunks_exact(in_one).map(|steps| steps.iter().sum()).collect()
    };
    let added = |sum: Vec<u64>, lane: Vec<u64>| sum.iter().zip(lane).map(|(sum, bytes)| sum + bytes).collect();
    Series { step_ns, bytes: lanes.map(of_lane).reduce(added).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{LatencyCounter, Sample};
    use halfpower_spec::Nanos;

    use super::*;
    use crate::sampler::Sampler;

    const STEP_NS: u64 = 10_000_000;
    const STEPS: u64 = 20;
    const START: Nanos = Nanos(3_600_000_000_000);
    const END: Nanos = Nanos(START.0 + STEPS * STEP_NS);

    fn outcome(tally: Tally, is_lost: bool) -> LaneOutcome {
        LaneOutcome { role: LaneRole::Own, cpu: None, trims: false, tally, is_lost }
    }

    /// A lane that moved 4 KiB in each of its steps.
    fn ended() -> LaneOutcome {
        let mut sampler = Sampler::new(STEPS * STEP_NS, STEP_NS);
        (1..=STEPS)
            .for_each(|ios| sampler.end_step([Sample { ios, bytes: 4096 * ios, latency_ns: 0 }, Sample::default()]));
        let step_bytes = vec![4096; STEPS as usize];
        let bytes = 4096 * STEPS;
        let tally = Tally { start: START, end: END, bytes, step_ns: STEP_NS, step_bytes, sampler, ..Tally::default() };
        outcome(tally, false)
    }

    /// A lane of which nothing is known but that three requests were never answered.
    fn lost() -> LaneOutcome {
        let errors = vec![(Errno::UNANSWERED, 3)];
        outcome(Tally { start: START, end: END, errors, step_ns: 1_000_000, ..Tally::default() }, true)
    }

    /// A lane that had one request in flight until `end`, and then flushed.
    fn busy_until(end: Nanos, flush_ns: u64) -> LaneOutcome {
        let ios = (end.0 - START.0) / STEP_NS;
        let mut read_latency = LatencyCounter::default();
        read_latency.add(STEP_NS, ios);
        let end = Nanos(end.0 + flush_ns);
        let step_ns = STEP_NS;
        outcome(
            Tally { start: START, end, flush_ns, ios, read_ios: ios, read_latency, step_ns, ..Tally::default() },
            false,
        )
    }

    #[test]
    fn the_depth_of_lanes_that_end_at_different_times_is_that_of_one_window() {
        let half = Nanos(START.0 + STEPS / 2 * STEP_NS);
        let depth = |lanes: [LaneOutcome; 2]| {
            let sum = Sum::of(&lanes);
            let in_window = sum.depth * (sum.elapsed_ns - sum.flush_ns) as f64;
            // Little's law, by which a record tells whether its latencies are known.
            assert!((in_window - sum.latency.sum_ns() as f64).abs() < 1.0, "{in_window}");
            sum.depth
        };
        assert_eq!(depth([busy_until(END, 0), busy_until(END, 0)]), 2.0);
        assert_eq!(depth([busy_until(END, 0), busy_until(half, 0)]), 1.5);
        assert_eq!(depth([busy_until(half, 7 * STEP_NS), busy_until(END, 3 * STEP_NS)]), 1.5);
        assert_eq!(depth([busy_until(half, 2 * STEP_NS), busy_until(END, 0)]), 1.5);
    }

    #[test]
    fn a_flush_is_what_follows_the_last_request() {
        let half = Nanos(START.0 + STEPS / 2 * STEP_NS);
        let flush_steps = |lanes: [LaneOutcome; 2]| Sum::of(&lanes).flush_ns / STEP_NS;
        assert_eq!(flush_steps([busy_until(END, 2 * STEP_NS), busy_until(END, 3 * STEP_NS)]), 3);
        assert_eq!(flush_steps([busy_until(half, 7 * STEP_NS), busy_until(END, 3 * STEP_NS)]), 3);
        assert_eq!(flush_steps([busy_until(half, 12 * STEP_NS), busy_until(END, STEP_NS)]), 2, "others still flush");
    }

    #[test]
    fn a_lane_that_never_answers_leaves_the_steps_of_the_others_as_they_are() {
        let lanes = [[ended(), lost(), ended()], [lost(), ended(), ended()], [ended(), ended(), lost()]];
        for sum in lanes.map(|lanes| Sum::of(&lanes)) {
            assert_eq!((sum.bytes, sum.elapsed_ns), (2 * 4096 * STEPS, STEPS * STEP_NS));
            assert_eq!((sum.series.step_ns, sum.series.bytes), (STEP_NS, vec![2 * 4096; STEPS as usize]));
            assert_eq!((sum.samples.reads.len(), sum.samples.reads[0].ios), (2, 20));
            assert_eq!(sum.errors, BTreeMap::from([("unanswered".to_string(), 3)]));
        }
        // One that ended within its first step leaves none, whichever comes first.
        let brief = || {
            let mut brief = ended();
            brief.tally.step_bytes.clear();
            brief
        };
        for lanes in [[ended(), brief()], [brief(), ended()]] {
            assert_eq!(Sum::of(&lanes).series.bytes, Vec::<u64>::new());
        }
        let nothing = Sum::of(&[lost()]);
        assert_eq!((nothing.bytes, nothing.elapsed_ns, nothing.series.bytes.len()), (0, STEPS * STEP_NS, 0));
    }
}
