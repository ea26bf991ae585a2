//! Checks the phases of a traced live run: only what follows from the definition of a phase, not any speed.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use halfpower_measure::{RealTarget, RealTargetOptions, TargetBackend, measure};
use halfpower_record::{Anatomy, Phase, Record};
use halfpower_spec::{Bytes, EngineName, Nanos, Pass, Run, Rw, Workload};

const MIB: u64 = 1 << 20;

/// Lets one test run at a time, because all threads of this process count as the run's.
static ALONE: Mutex<()> = Mutex::new(());

/// A target in the build folder; `None`, with a printed reason, if it cannot be traced.
fn place() -> Option<((MutexGuard<'static, ()>, tempfile::TempDir), RealTarget)> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let wanted = RealTargetOptions { size: Some(Bytes(64 * MIB)), writes: true, ..RealTargetOptions::default() };
    let mut backend = RealTarget::open(folder.path(), &wanted).unwrap();
    backend.make_ready(None, &AtomicBool::new(false)).unwrap();
    let missing = match halfpower_os::trace::available() {
        Err(why) => why.to_string(),
        Ok(()) if backend.environment().device.is_none() => "the build folder is on no device".to_string(),
        Ok(()) if backend.admits(&Workload::default()).is_err() => "the build folder takes no direct I/O".to_string(),
        Ok(()) => return Some(((alone, folder), backend)),
    };
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {missing}");
    eprintln!("skipped: {missing}");
    None
}

fn run(place: &mut RealTarget, bs: u64, iodepth: u32, engine: EngineName, pass: Pass) -> Record {
    let workload = Workload { rw: Rw::Randread, bs: Bytes(bs), iodepth, engine, ..Workload::default() };
    let run = Run { experiment: None, workload, repeat: 0, pass, runtime: Nanos(50_000_000), seed: 5 };
    measure(place, &run, &AtomicBool::new(false)).unwrap()
}

fn traced(place: &mut RealTarget, bs: u64, iodepth: u32, engine: EngineName) -> (Record, Anatomy) {
    // What others do on the disk may fill the buffers of the trace before they are read.
    let mut runs = (0..50).map(|_| {
        let record = run(place, bs, iodepth, engine, Pass::Traced);
        let anatomy = record.anatomy.clone().expect("a traced run has its anatomy");
        assert_eq!(anatomy.trouble, None);
        (record, anatomy)
    });
    let is_whole = |anatomy: &Anatomy| (anatomy.lost_events, anatomy.overwritten_events) == (0, 0);
    runs.find(|(_, anatomy)| is_whole(anatomy)).expect("one of 50 traces is whole")
}

/// Single requests, and the share of their mean latency that their phases make up.
fn share_of_latency(backend: &mut RealTarget) -> (Record, Anatomy, f64) {
    let (record, anatomy) = traced(backend, 4096, 1, EngineName::Auto);
    let mean_ns = record.latency.sum_ns() as f64 / record.ios as f64;
    let share = anatomy.total_ns() / mean_ns;
    (record, anatomy, share)
}

#[test]
fn the_phases_of_single_requests_lie_within_their_latency() {
    let Some((_folder, mut backend)) = place() else { return };
    let (record, anatomy, share) = share_of_latency(&mut backend);
    assert_eq!((anatomy.requests, anatomy.unseen), (record.cpu.ios, 0), "{anatomy:?}");
    // Beyond the latency lies only the error of two clocks calibrated against each other. How much of it the phases cover
    // depends on how long the thread waits for a processor: the laboratory judges that.
    assert!(share > 0.0 && share <= 1.01, "{share}: {anatomy:?}");
    if record.engine == EngineName::IoUring {
        assert!(anatomy.phases.iter().any(|phase| phase.phase == Phase::Completion));
    }
}

#[test]
fn deep_large_and_threaded_requests_are_seen_whole() {
    let Some((_folder, mut backend)) = place() else { return };
    for (bs, iodepth, engine) in [
        (4096, 16, EngineName::Auto),
        (MIB, 8, EngineName::Auto),
        (4096, 1, EngineName::Sync),
        (4096, 4, EngineName::Pool),
    ] {
        let (record, anatomy) = traced(&mut backend, bs, iodepth, engine);
        let what = format!("{bs} {iodepth} {engine}: {anatomy:?}, of {}", record.ios);
        assert!(anatomy.requests >= record.cpu.ios && anatomy.unseen == 0, "{what}");
        assert!(anatomy.block_requests + anatomy.merges >= anatomy.requests + anatomy.splits, "{what}");
        assert!(anatomy.mean_ns(Phase::Device) > 0.0, "{what}");
    }
}

#[test]
fn other_passes_trace_nothing() {
    let Some((_folder, mut backend)) = place() else { return };
    assert_eq!(run(&mut backend, 4096, 1, EngineName::Auto, Pass::Plain).anatomy, None);
}

/// Tests for the laboratory.
mod lab {
    use halfpower_lab::{Figure, judge};

    use super::*;

    #[test]
    #[ignore = "lab: how much of a latency the phases cover depends on who else uses the processors"]
    fn the_phases_make_up_the_latency_of_single_requests() {
        let Some((_folder, mut backend)) = place() else { return };
        let figure = Figure::between("phases of a request over its latency", 1.0, "", 0.5..=1.01);
        judge("processors", vec![figure], || Some(vec![share_of_latency(&mut backend).2]));
    }
}
