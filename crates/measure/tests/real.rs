//! Is a run on a real folder accounted as it happened? Counts and bytes, not speeds.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use measure::{MeasureError, Place, RealPlace, Wanted, measure};
use record::Record;
use spec::{Bytes, Cache, EngineName, Nanos, PageCache, Pass, Run, Rw, Twist, Workload};

const MIB: u64 = 1 << 20;

fn wanted(writes: bool) -> Wanted {
    Wanted {
        size: Some(Bytes(64 * MIB)),
        writes,
        overwrite: false,
        drop_caches: false,
        engine: EngineName::Auto,
        seed: 1,
        layout_limit: Nanos(60_000_000_000),
    }
}

fn folder() -> tempfile::TempDir {
    // The build folder is on a disk; /tmp may be in memory, where there is no direct I/O.
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn place(folder: &Path) -> RealPlace {
    let mut place = RealPlace::open(folder, &wanted(true)).unwrap();
    place.make_ready(None, &AtomicBool::new(false)).unwrap();
    place
}

fn run(place: &mut RealPlace, workload: Workload, pass: Pass) -> Record {
    let runtime = Nanos(30_000_000);
    let run = Run { experiment: None, workload, repeat: 0, pass, runtime, seed: 5 };
    measure(place, &run, &AtomicBool::new(false)).unwrap()
}

/// Whether direct I/O can be tested here; says aloud where it cannot.
fn direct(place: &RealPlace) -> bool {
    let possible = place.admits(&Workload::default()).is_ok();
    if !possible {
        assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "no direct I/O here");
        eprintln!("skipped: the build folder is on a file system without direct I/O");
    }
    possible
}

#[test]
fn every_engine_and_cache_setting_gives_a_whole_record() {
    let folder = folder();
    let mut place = place(folder.path());
    let direct = direct(&place);
    for cache in Cache::ALL.iter().filter(|cache| !cache.direct() || direct) {
        for engine in [EngineName::Auto, EngineName::Sync, EngineName::Pool] {
            for rw in [Rw::Read, Rw::Randread, Rw::Randwrite, Rw::Randmixed] {
                let workload =
                    Workload { rw, engine, cache: *cache, bs: Bytes(16384), iodepth: 4, ..Workload::default() };
                let record = run(&mut place, workload, Pass::Plain);
                assert!(record.ios > 0 && record.errors.is_empty(), "{workload}: {:?}", record.errors);
                assert_eq!(record.bytes, record.ios * 16384, "{workload}");
                assert_eq!(record.latency.count(), record.ios, "{workload}");
                assert!(record.achieved_depth <= 4.01, "{workload}: {}", record.achieved_depth);
                assert_eq!(record.flush_ns > 0, rw.writes() && !cache.direct(), "{workload}");
                assert!(record.cpu.charged_ns() > 0 && record.harness_ns_per_io > 0.0);
            }
        }
    }
    drop(place);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "something was left behind");
}

#[test]
fn buffered_reads_begin_with_an_empty_page_cache_and_visit_each_block_once() {
    let folder = folder();
    let mut place = place(folder.path());
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
        let record = measure(&mut place, &run, &AtomicBool::new(false)).unwrap();
        assert_eq!(record.cached_bytes, Some(0));
        assert_eq!(record.bytes, 64 * MIB);
    }
}

#[test]
fn a_warm_page_cache_holds_all_and_its_blocks_are_read_again_and_again() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, vec![1; MIB as usize]).unwrap();
    let mut place = RealPlace::open(&file, &Wanted { size: None, ..wanted(false) }).unwrap();
    place.make_ready(None, &AtomicBool::new(false)).unwrap();
    for rw in [Rw::Read, Rw::Randread] {
        let twist = Twist { page_cache: PageCache::Warm, ..Twist::default() };
        let workload = Workload { rw, cache: Cache::Both, bs: Bytes(4096), iodepth: 4, twist, ..Workload::default() };
        let record = run(&mut place, workload, Pass::Plain);
        assert!(record.cached_bytes.is_none_or(|bytes| bytes == MIB), "{:?}", record.cached_bytes);
        assert!(record.bytes > MIB, "{} bytes are no second time round", record.bytes);
    }
}

#[test]
fn the_soakers_pass_has_both_bounds() {
    let folder = folder();
    let mut place = place(folder.path());
    let workload = Workload { cache: Cache::Both, engine: EngineName::Sync, ..Workload::default() };
    let record = run(&mut place, workload, Pass::Soaker);
    let soaker = record.cpu.soaker.expect("a soaker's pass has its account");
    assert!(soaker.baseline_share > 0.0 && soaker.baseline_share <= 1.05, "{soaker:?}");
}

#[test]
fn threads_share_the_sequential_span_and_the_counts() {
    let folder = folder();
    let mut place = place(folder.path());
    let workload = Workload { cache: Cache::Both, threads: 4, bs: Bytes(MIB), iodepth: 2, ..Workload::default() };
    let run =
        Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(3_600_000_000_000), seed: 1 };
    let record = measure(&mut place, &run, &AtomicBool::new(false)).unwrap();
    assert_eq!(record.bytes, 64 * MIB, "each block is one thread's");
}

#[test]
fn what_is_not_ours_is_not_written() {
    let folder = folder();
    let file = folder.path().join("precious");
    fs::write(&file, vec![7u8; 4 * MIB as usize]).unwrap();
    let small = Wanted { size: None, ..wanted(true) };
    let error = RealPlace::open(&file, &small).err().expect("it is refused");
    assert!(matches!(&error, MeasureError::Target { .. }) && error.to_string().contains("--overwrite"), "{error}");
    let reading = Wanted { writes: false, ..small };
    let mut place = RealPlace::open(&file, &reading).unwrap();
    place.make_ready(None, &AtomicBool::new(false)).unwrap();
    let workload = Workload { cache: Cache::Both, ..Workload::default() };
    assert!(run(&mut place, workload, Pass::Plain).ios > 0);
    assert_eq!(fs::read(&file).unwrap(), vec![7u8; 4 * MIB as usize]);
}

#[test]
fn what_cannot_be_is_said_in_one_sentence() {
    let folder = folder();
    let empty = folder.path().join("empty");
    fs::write(&empty, "").unwrap();
    let cases = [
        (folder.path().join("nowhere"), wanted(false), "does not exist"),
        (empty, Wanted { size: None, ..wanted(false) }, "is empty"),
        (folder.path().to_path_buf(), Wanted { size: Some(Bytes(1 << 60)), ..wanted(true) }, "ask for less"),
        (folder.path().to_path_buf(), Wanted { size: Some(Bytes(MIB)), ..wanted(true) }, "--size 1MiB is too little"),
        ("/dev/null".into(), wanted(false), "neither a regular file nor a block device"),
    ];
    for (path, wanted, expected) in cases {
        let error = RealPlace::open(&path, &wanted).err().expect("it is refused").to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains('\n'));
    }
    let place = place(folder.path());
    if direct(&place) {
        let odd = Workload { bs: Bytes(3000), ..Workload::default() };
        let error = place.admits(&odd).unwrap_err().to_string();
        assert!(error.contains("--bs 3000") && error.contains("multiple of"), "{error}");
    }
    let huge = Workload { bs: Bytes(128 * MIB), ..Workload::default() };
    assert!(place.admits(&huge).unwrap_err().to_string().contains("the target holds"));
}
