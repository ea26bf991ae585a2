//! Checks the record of runs on a real folder: counts and bytes, not speeds.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use halfpower_measure::{MeasureError, RealTarget, RealTargetOptions, TargetBackend, measure};
use halfpower_record::{Record, Soaker};
use halfpower_spec::{Bytes, Cache, EngineName, Layout, Nanos, PageCache, Pass, Run, Rw, Workload, WorkloadOptions};

const MIB: u64 = 1 << 20;
/// Longer than any run that ends by itself.
const LONG: Nanos = Nanos(3_600_000_000_000);

fn wanted(writes: bool) -> RealTargetOptions {
    RealTargetOptions { size: Some(Bytes(64 * MIB)), writes, ..RealTargetOptions::default() }
}

fn folder() -> tempfile::TempDir {
    // The build folder is on a disk; /tmp may be in memory, where there is no direct I/O.
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn backend(folder: &Path) -> RealTarget {
    let mut backend = RealTarget::open(folder, &wanted(true)).unwrap();
    backend.make_ready(None, &AtomicBool::new(false)).unwrap();
    backend
}

fn run(backend: &mut RealTarget, workload: Workload, pass: Pass) -> Record {
    run_for(backend, workload, pass, Nanos(30_000_000))
}

fn run_for(backend: &mut RealTarget, workload: Workload, pass: Pass, runtime: Nanos) -> Record {
    let run = Run { experiment: None, workload, repeat: 0, pass, runtime, seed: 5 };
    measure(backend, &run, &AtomicBool::new(false)).unwrap()
}

/// Whether direct I/O can be tested here; prints the reason if not.
fn direct(backend: &RealTarget) -> bool {
    let possible = backend.admits(&Workload::default()).is_ok();
    if !possible {
        assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "no direct I/O here");
        eprintln!("skipped: the build folder is on a file system without direct I/O");
    }
    possible
}

#[test]
fn every_engine_and_cache_setting_gives_a_whole_record() {
    let folder = folder();
    let mut backend = backend(folder.path());
    let direct = direct(&backend);
    for cache in Cache::ALL.iter().filter(|cache| !cache.direct() || direct) {
        for engine in [EngineName::Auto, EngineName::Sync, EngineName::Pool] {
            for rw in [Rw::Read, Rw::Randread, Rw::Randwrite, Rw::Randmixed] {
                let workload =
                    Workload { rw, engine, cache: *cache, bs: Bytes(16384), iodepth: 4, ..Workload::default() };
                let record = run(&mut backend, workload, Pass::Plain);
                assert!(record.ios > 0 && record.errors.is_empty(), "{workload}: {:?}", record.errors);
                assert_eq!(record.bytes, record.ios * 16384, "{workload}");
                assert_eq!(record.latency.count(), record.ios, "{workload}");
                assert!(record.achieved_depth <= 4.01, "{workload}: {}", record.achieved_depth);
                assert_eq!(record.flush_ns > 0, rw.writes() && !cache.direct(), "{workload}");
                assert!(record.cpu.charged_ns() > 0 && record.harness_ns_per_io > 0.0);
            }
        }
    }
    drop(backend);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "something was left behind");
}

#[test]
fn buffered_reads_begin_with_an_empty_page_cache_and_visit_each_block_once() {
    let folder = folder();
    let mut backend = backend(folder.path());
    for rw in [Rw::Read, Rw::Randread] {
        let workload = Workload { rw, cache: Cache::Both, bs: Bytes(MIB), iodepth: 2, ..Workload::default() };
        let run = Run {
            experiment: None,
            workload,
            repeat: 0,
            pass: Pass::Plain,
            runtime: Nanos(3_600_000_000_000),
            seed: 1,
        };
        let record = measure(&mut backend, &run, &AtomicBool::new(false)).unwrap();
        // The kernel keeps pages that it looks at itself at this moment.
        assert!(record.cached_bytes.is_some_and(|bytes| bytes <= 64 * MIB / 1000), "{:?}", record.cached_bytes);
        assert_eq!(record.bytes, 64 * MIB);
    }
}

#[test]
fn a_warm_page_cache_holds_all_and_its_blocks_are_read_again_and_again() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, vec![1; MIB as usize]).unwrap();
    let mut backend = RealTarget::open(&file, &RealTargetOptions { size: None, ..wanted(false) }).unwrap();
    backend.make_ready(None, &AtomicBool::new(false)).unwrap();
    for rw in [Rw::Read, Rw::Randread] {
        let io_size = "300%".parse().ok();
        let options = WorkloadOptions { page_cache: PageCache::Warm, io_size, ..WorkloadOptions::default() };
        let workload = Workload { rw, cache: Cache::Both, bs: Bytes(4096), iodepth: 4, options, ..Workload::default() };
        // Where others need the memory, the kernel takes some of it again before it is counted.
        let is_warm = |record: &Record| record.cached_bytes.is_none_or(|bytes| bytes == MIB);
        let mut runs = (0..20).map(|_| run_for(&mut backend, workload, Pass::Plain, LONG));
        let record = runs.find(is_warm).expect("one of 20 runs finds all of it in the page cache");
        assert_eq!(record.bytes, 3 * MIB, "three times round");
    }
}

#[test]
fn the_soakers_pass_has_both_bounds() {
    let folder = folder();
    let mut backend = backend(folder.path());
    let workload = Workload { cache: Cache::Both, engine: EngineName::Sync, ..Workload::default() };
    // On a busy machine, the soaker may get no processor time while its baseline is measured, or see nothing of the run.
    let mut of_runs = (0..400).filter_map(|_| run(&mut backend, workload, Pass::Soaker).cpu.soaker);
    let has_both = |soaker: &Soaker| soaker.baseline_share > 0.0 && soaker.lost_ns > 0;
    let soaker = of_runs.find(has_both).expect("it has an account in one of 400 runs");
    assert!(soaker.baseline_share <= 1.05, "{soaker:?}");
}

#[test]
fn threads_share_the_sequential_span_and_the_counts() {
    let folder = folder();
    let mut backend = backend(folder.path());
    let workload = Workload { cache: Cache::Both, threads: 4, bs: Bytes(MIB), iodepth: 2, ..Workload::default() };
    let run =
        Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(3_600_000_000_000), seed: 1 };
    let record = measure(&mut backend, &run, &AtomicBool::new(false)).unwrap();
    assert_eq!(record.bytes, 64 * MIB, "each block is one thread's");
}

#[test]
fn threads_share_the_blocks_of_random_requests_where_each_comes_once() {
    let folder = folder();
    let mut backend = backend(folder.path());
    let usual = WorkloadOptions::default();
    let new = WorkloadOptions { layout: Layout::New, ..usual };
    for (rw, options) in [(Rw::Randread, usual), (Rw::Randmixed, usual), (Rw::Randwrite, new), (Rw::Randtrim, usual)] {
        let workload =
            Workload { rw, cache: Cache::Both, threads: 3, bs: Bytes(MIB), iodepth: 2, options, ..Workload::default() };
        let runtime = Nanos(3_600_000_000_000);
        let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 1 };
        let record = measure(&mut backend, &run, &AtomicBool::new(false)).unwrap();
        assert_eq!((record.bytes, record.lanes.len()), (64 * MIB, 3), "{rw}: each block is one thread's");
        assert!(record.errors.is_empty(), "{rw}: {:?}", record.errors);
        let blocks: Vec<u64> = record.lanes.iter().map(|lane| lane.bytes / MIB).collect();
        assert_eq!(blocks, [21, 21, 22], "{rw}");
    }
}

#[test]
fn what_is_not_ours_is_not_written() {
    let folder = folder();
    let file = folder.path().join("precious");
    fs::write(&file, vec![7u8; 4 * MIB as usize]).unwrap();
    let small = RealTargetOptions { size: None, ..wanted(true) };
    let error = RealTarget::open(&file, &small).err().expect("it is refused");
    assert!(matches!(&error, MeasureError::Target { .. }) && error.to_string().contains("--overwrite"), "{error}");
    let reading = RealTargetOptions { writes: false, ..small };
    let mut backend = RealTarget::open(&file, &reading).unwrap();
    backend.make_ready(None, &AtomicBool::new(false)).unwrap();
    let workload = Workload { cache: Cache::Both, ..Workload::default() };
    assert!(run(&mut backend, workload, Pass::Plain).ios > 0);
    assert_eq!(fs::read(&file).unwrap(), vec![7u8; 4 * MIB as usize]);
}

#[test]
fn what_cannot_be_is_said_in_one_sentence() {
    let folder = folder();
    let empty = folder.path().join("empty");
    fs::write(&empty, "").unwrap();
    let cases = [
        (folder.path().join("nowhere"), wanted(false), "does not exist"),
        (empty, RealTargetOptions { size: None, ..wanted(false) }, "is empty"),
        (folder.path().to_path_buf(), RealTargetOptions { size: Some(Bytes(1 << 60)), ..wanted(true) }, "ask for less"),
        (
            folder.path().to_path_buf(),
            RealTargetOptions { size: Some(Bytes(MIB / 2)), ..wanted(true) },
            "--size 512KiB is too little",
        ),
        ("/dev/null".into(), wanted(false), "neither a regular file nor a block device"),
    ];
    for (path, wanted, expected) in cases {
        let error = RealTarget::open(&path, &wanted).err().expect("it is refused").to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains('\n'));
    }
    let backend = backend(folder.path());
    if direct(&backend) {
        let exceptions = Workload { bs: Bytes(3000), ..Workload::default() };
        let error = backend.admits(&exceptions).unwrap_err().to_string();
        assert!(error.contains("--bs 3000") && error.contains("multiple of"), "{error}");
    }
    let huge = Workload { bs: Bytes(128 * MIB), ..Workload::default() };
    assert!(backend.admits(&huge).unwrap_err().to_string().contains("the target holds"));
}

#[test]
fn a_direct_run_whose_bytes_are_in_the_page_cache_afterwards_is_noted() {
    let folder = folder();
    let path = folder.path().join("data");
    fs::write(&path, vec![1; 16 << 20]).unwrap();
    let wanted = RealTargetOptions { size: None, overwrite: true, ..wanted(false) };
    let mut target = RealTarget::open(&path, &wanted).unwrap();
    target.make_ready(None, &AtomicBool::new(false)).unwrap();
    if !direct(&target) {
        return;
    }
    let notes = |target: &RealTarget| {
        target.environment().notes.iter().filter(|note| note.contains("went through the page cache")).count()
    };
    let workload = Workload { rw: Rw::Read, bs: Bytes(MIB), ..Workload::default() };
    let record = run(&mut target, workload, Pass::Plain);
    assert_eq!(notes(&target), 0, "it went past it");
    // What a file system leaves there that takes direct requests through the page cache; others may need the memory.
    for _ in 0..50 {
        fs::read(&path).unwrap();
        target.check_direct(&record.run, Some(0), record.bytes);
    }
    assert_eq!(notes(&target), 1, "it is noted once");
}

#[test]
fn what_a_run_gave_back_is_there_again_for_the_next() {
    let folder = folder();
    let path = folder.path().join("data");
    fs::write(&path, vec![1; 4 << 20]).unwrap();
    let wanted = RealTargetOptions { size: None, overwrite: true, ..wanted(true) };
    let mut target = RealTarget::open(&path, &wanted).unwrap();
    target.make_ready(None, &AtomicBool::new(false)).unwrap();
    let blocks = || std::os::unix::fs::MetadataExt::blocks(&fs::metadata(&path).unwrap()) * 512;
    let workload = |rw| Workload { rw, bs: Bytes(65536), cache: Cache::Both, ..Workload::default() };
    let run_of =
        |rw| Run { experiment: None, workload: workload(rw), repeat: 0, pass: Pass::Plain, runtime: LONG, seed: 5 };
    let mut measured = |rw, stop| measure(&mut target, &run_of(rw), &AtomicBool::new(stop));
    for rw in [Rw::Trim, Rw::Randtrim] {
        let record = measured(rw, false).unwrap();
        assert_eq!(record.trims.map(|trims| (trims.ios, trims.bytes)), Some((64, 4 << 20)), "all of it, once");
        assert_eq!((record.ios, record.read_ios, blocks()), (64, 0, 0));
    }
    let stopped = measured(Rw::Read, true);
    assert!(matches!(stopped, Err(MeasureError::Interrupted)) && blocks() == 0, "it ended before");
    assert_eq!((measured(Rw::Read, false).unwrap().ios, blocks() >= 4 << 20), (64, true), "no hole is read");
}

#[test]
fn a_file_that_ends_in_less_than_a_direct_block_is_verified() {
    let folder = folder();
    let path = folder.path().join("odd");
    let bytes = MIB + 8192 + 24;
    fs::write(&path, vec![1; bytes as usize]).unwrap();
    let wanted = RealTargetOptions { size: None, overwrite: true, ..wanted(true) };
    let mut backend = RealTarget::open(&path, &wanted).unwrap();
    backend.make_ready(None, &AtomicBool::new(false)).unwrap();
    if !direct(&backend) {
        return;
    }
    for rw in [Rw::Randwrite, Rw::Read, Rw::Randmixed] {
        let options = WorkloadOptions { verify: true, ..WorkloadOptions::default() };
        let record = run(&mut backend, Workload { rw, bs: Bytes(8192), options, ..Workload::default() }, Pass::Plain);
        assert!(record.ios > 0 && record.errors.is_empty(), "{rw}: {:?}", record.errors);
    }
    assert_eq!(fs::metadata(&path).unwrap().len(), bytes);
}

#[test]
fn a_file_with_holes_is_refused_or_filled() {
    let folder = folder();
    let path = folder.path().join("sparse");
    let file = fs::File::create(&path).unwrap();
    file.set_len(3 * MIB + 1000).unwrap();
    let options = |overwrite| RealTargetOptions { size: None, overwrite, ..wanted(false) };
    let ready = |overwrite| {
        let mut backend = RealTarget::open(&path, &options(overwrite))?;
        backend.make_ready(None, &AtomicBool::new(false)).map(|()| backend)
    };
    let refusal = match ready(false) {
        Err(refusal) => refusal.to_string(),
        Ok(_) => {
            assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "no extents here");
            return eprintln!("skipped: the build folder's file system does not tell its extents");
        }
    };
    assert!(refusal.contains("never written") && refusal.contains("--overwrite"), "{refusal}");
    assert_eq!(fs::read(&path).unwrap(), vec![0; 3 * MIB as usize + 1000], "what may not be written to is not");
    let backend = ready(true).unwrap();
    assert!(backend.environment().notes.iter().any(|note| note.contains("was filled")));
    let filled = fs::read(&path).unwrap();
    assert_eq!(filled.len() as u64, 3 * MIB + 1000);
    assert!(filled.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));
    drop(backend);
    assert!(ready(false).unwrap().environment().notes.is_empty(), "it has no holes any more");
}
