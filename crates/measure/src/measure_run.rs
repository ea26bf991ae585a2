//! Measures one run, from the prepared target to its record.
//!
//! A run and a target enter. Each lane gets a thread; all open their windows together, and the processors'
//! account spans from before the first submission to after the last reaping.

use std::sync::atomic::{AtomicBool, Ordering};

use halfpower_record::{Cpu, DiscardReason, LaneRecord, LaneRole, Record};
use halfpower_spec::{EngineName, Pass, Run};

use crate::MeasureError;
use crate::drive::{Driven, drive};
use crate::sum::Sum;
use crate::target_backend::{Prepared, Spent, TargetBackend};

/// Measures one run.
///
/// # Errors
/// [`MeasureError::Interrupted`] when `stop` was set while it ran; otherwise what kept the run from being
/// measured. Requests that fail are not errors: they are in the record.
pub fn measure(backend: &mut dyn TargetBackend, run: &Run, stop: &AtomicBool) -> Result<Record, MeasureError> {
    let record = measure_until_stopped(backend, run, stop)?;
    if stop.load(Ordering::Relaxed) { Err(MeasureError::Interrupted) } else { Ok(record) }
}

/// Measures one run, or as much of it as there was before `stop` was set: the record then is of a shorter window, and
/// what was written is not read back.
///
/// # Errors
/// [`MeasureError::Interrupted`] when `stop` was set before the window opened; otherwise those of [`measure`].
pub fn measure_until_stopped(
    backend: &mut dyn TargetBackend,
    run: &Run,
    stop: &AtomicBool,
) -> Result<Record, MeasureError> {
    let first = measure_together(backend, run, stop)?;
    let given_back = first.resubmitted_ios;
    if given_back == 0 || stop.load(Ordering::Relaxed) || !backend.hand_to_workers() {
        return Ok(first);
    }
    // Behind a limit each request that is given back was counted against it, and its window gave too little.
    let second = measure_together(backend, run, stop)?;
    backend.note(
        "the kernel gave requests back that it could not take at once (EAGAIN), as behind a control group's io.max: since \
         then workers of the kernel, which may wait, carry those of io_uring",
    );
    let mut discarded = vec![first.discarded_for(DiscardReason::GivenBack)];
    discarded.extend(second.discarded);
    let resubmitted_ios = given_back + second.resubmitted_ios;
    Ok(Record { spent_ns: first.spent_ns + second.spent_ns, discarded, resubmitted_ios, ..second })
}

/// One window of a run, by all that make it.
fn measure_together(backend: &mut dyn TargetBackend, run: &Run, stop: &AtomicBool) -> Result<Record, MeasureError> {
    loop {
        let own = backend.share_out(run)?;
        let made = own.map(|own| measure_own_part(backend, &own, stop));
        if let Some(record) = backend.put_together(run, made, stop)? {
            return Ok(record);
        }
    }
}

/// Measures what [`TargetBackend::share_out`] gave: this process's own part of a run, all of it where it is alone.
///
/// # Errors
/// As [`measure_until_stopped`].
pub fn measure_own_part(backend: &mut dyn TargetBackend, run: &Run, stop: &AtomicBool) -> Result<Record, MeasureError> {
    // Only a run with the soaker is ever tried again.
    let threads = if run.pass == Pass::Soaker { halfpower_os::trace::own_threads().len() } else { 0 };
    match measure_in_pass(backend, run, run.pass, stop) {
        // The soaker's threads may be those that are too many: its cost is then known from below alone.
        Err(MeasureError::Thread { what }) if run.pass == Pass::Soaker => {
            backend.note(&format!("costs are known from below alone: beside the soaker a measuring thread {what}"));
            halfpower_os::processor::await_threads(threads);
            measure_in_pass(backend, run, Pass::Plain, stop)
        }
        measured => measured,
    }
}

/// The record of a run with an account of this pass, which may be another than the run's own.
fn measure_in_pass(
    backend: &mut dyn TargetBackend,
    run: &Run,
    pass: Pass,
    stop: &AtomicBool,
) -> Result<Record, MeasureError> {
    let (started_ns, started_unix_ms, rw) = (backend.clock_ns(), backend.unix_ms(), run.workload.rw);
    backend.admits(&run.workload)?;
    let own_ns = (backend.harness_ns_per_io(run.workload.iodepth), backend.client_ns_per_io(&run.workload));
    let prepared = backend.prepare(run, stop)?;
    let mut account = backend.account(pass)?;
    let Prepared { engine, cached_bytes, buffer_segments, span_bytes, spread_bytes, .. } = prepared;
    let (driven, spent) = drive(prepared, run, account.as_mut(), stop)?;
    spent.notes.iter().for_each(|note| backend.note(note));
    let (own, beside): (Vec<Driven>, Vec<Driven>) = driven.into_iter().partition(|lane| lane.role == LaneRole::Own);
    let mut sum = Sum::of(&own);
    add_odd(&mut sum, &beside, &spent);
    let lanes: Vec<LaneRecord> = own.iter().chain(&beside).map(Driven::record).chain(spent.beside).collect();
    let submitted = sum.submitted_ios() + of_random_readers(&lanes);
    // A target that does not answer is not asked again.
    if !own.iter().any(|lane| lane.is_lost) && !stop.load(Ordering::Relaxed) {
        sum.add_found(backend.read_back(run, stop)?);
    }
    Ok(Record {
        run: *run,
        engine,
        span_bytes,
        spread_bytes,
        started_unix_ms,
        spent_ns: backend.clock_ns() - started_ns,
        elapsed_ns: sum.elapsed_ns,
        flush_ns: sum.flush_ns,
        bytes: sum.bytes,
        ios: sum.ios,
        read_ios: if rw.trims() { 0 } else { sum.read_ios },
        short_transfers: sum.short_transfers,
        overdue_ios: sum.overdue_ios,
        resubmitted_ios: sum.resubmitted_ios,
        achieved_depth: sum.depth,
        cpu: Cpu { ios: submitted, waited_ns: waited_ns(engine, &own), ..spent.cpu },
        trims: rw.trims().then(|| sum.trims(rw)),
        latency: sum.latency,
        by_direction: rw.direction().is_none().then_some(sum.by_direction),
        errors: sum.errors,
        syncs: sum.syncs,
        lanes,
        series: sum.series,
        harness_ns_per_io: own_ns.0,
        client_ns_per_io: own_ns.1,
        cached_bytes,
        buffer_segments,
        noise: spent.noise,
        tcp: spent.tcp,
        far_end: spent.far_end,
        hosts: Vec::new(),
        anatomy: spent.anatomy,
        discarded: Vec::new(),
        origin: None,
    })
}

/// Counts what went wrong beside the workload.
fn add_odd(sum: &mut Sum, beside: &[Driven], spent: &Spent) {
    beside.iter().for_each(|lane| sum.add_odd(lane.tally.errors.iter().copied(), lane.tally.short_transfers));
    sum.add_odd(spent.beside_errors.iter().map(|(errno, count)| (*errno, *count)), spent.beside_short_transfers);
}

/// Time that threads waited for a processor; in virtual time nobody waits for a real one.
fn waited_ns(engine: EngineName, lanes: &[Driven]) -> u64 {
    if engine == EngineName::Simulated { 0 } else { lanes.iter().map(|lane| lane.tally.waited_ns).sum() }
}

/// Requests of random readers beside the workload.
fn of_random_readers(lanes: &[LaneRecord]) -> u64 {
    lanes.iter().filter(|lane| lane.role == LaneRole::Random).map(|lane| lane.ios).sum()
}
