//! Checks that each workload option has its effect and is counted, on a real folder and in virtual time.

use std::sync::atomic::AtomicBool;

use halfpower_measure::{MeasureError, RealTarget, RealTargetOptions, SimulatedTarget, TargetBackend, measure};
use halfpower_record::{Ability, LaneRole, Record};
use halfpower_spec::{
    Affinity, Bytes, Cache, EngineName, Fadvise, Layout, Nanos, PageCache, Pass, Region, Run, Rw, SimulatedDisk,
    Switch, ThinktimeFrom, Workload, WorkloadOptions,
};

const MIB: u64 = 1 << 20;
const SPAN: u64 = 64 * MIB;
const LONG: Nanos = Nanos(3_600_000_000_000);

fn run(backend: &mut dyn TargetBackend, workload: Workload, runtime: Nanos) -> Record {
    let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 5 };
    measure(backend, &run, &AtomicBool::new(false)).unwrap()
}

/// A folder, and a target in it with its file laid out.
fn real() -> (tempfile::TempDir, RealTarget) {
    // The build folder is on a disk; /tmp may be in memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let wanted = RealTargetOptions { size: Some(Bytes(SPAN)), writes: true, ..RealTargetOptions::default() };
    let mut backend = RealTarget::open(folder.path(), &wanted).unwrap();
    backend.make_ready(None, &AtomicBool::new(false)).unwrap();
    (folder, backend)
}

/// A disk that takes 100 us for each request of any size.
fn simulated() -> SimulatedTarget {
    SimulatedTarget::new(SimulatedDisk::from_constants("fixed=100us,rate=900000GB/s").unwrap())
}

/// Whether a run began with an empty page cache: the kernel keeps pages that it looks at itself at this moment.
fn began_cold(record: &Record) -> bool {
    record.cached_bytes.is_some_and(|bytes| bytes <= SPAN / 1000)
}

fn buffered(options: WorkloadOptions) -> Workload {
    Workload { cache: Cache::Both, bs: Bytes(64 * 1024), iodepth: 2, options, ..Workload::default() }
}

#[test]
fn pages_of_buffered_reads_are_dropped_after_use() {
    let (_folder, mut backend) = real();
    let uncached = WorkloadOptions { uncached: true, ..WorkloadOptions::default() };
    let why = backend.environment().capabilities.unavailable.get(&Ability::DroppedPages).cloned();
    if let Some(why) = why {
        let refusal = backend.admits(&buffered(uncached)).unwrap_err().to_string();
        assert!(refusal.starts_with("--uncached: ") && refusal.contains(&why), "{refusal}");
        return eprintln!("left out: {why}");
    }
    let mut stayed = |options| {
        let workload = Workload { rw: Rw::Read, engine: EngineName::Sync, iodepth: 1, ..buffered(options) };
        let record = run(&mut backend, workload, LONG);
        assert!(record.bytes == SPAN && began_cold(&record), "{options}: {:?}", record.cached_bytes);
        assert!(record.errors.is_empty(), "{:?}", record.errors);
        record.cached_after_bytes.unwrap()
    };
    // Where others need the memory, the kernel takes what is kept, too.
    let kept = (0..20).map(|_| stayed(WorkloadOptions::default())).find(|kept| *kept > SPAN / 2);
    let kept = kept.expect("most of it is kept in one of 20 runs");
    let dropped = stayed(uncached);
    assert!(dropped < kept / 2, "{dropped} bytes stayed, and {kept} without");
}

#[test]
fn atomic_writes_are_made_or_refused_with_the_reason() {
    let (_folder, mut backend) = real();
    let options = WorkloadOptions { atomic: true, ..WorkloadOptions::default() };
    let workload = Workload { rw: Rw::Randwrite, bs: Bytes(4096), iodepth: 2, options, ..Workload::default() };
    if backend.environment().capabilities.direct_unit.is_none() {
        return eprintln!("left out: the build folder's file system takes no direct I/O");
    }
    match backend.environment().capabilities.unavailable.get(&Ability::AtomicWrites).cloned() {
        Some(why) => {
            let refusal = backend.admits(&workload).unwrap_err().to_string();
            assert!(refusal.starts_with("--atomic: ") && refusal.contains(&why), "{refusal}");
        }
        None => {
            let record = run(&mut backend, workload, Nanos(100_000_000));
            assert!(record.ios > 0 && record.errors.is_empty(), "{:?}", record.errors);
            let large = Workload { bs: Bytes(16 * MIB), ..workload };
            assert!(backend.admits(&large).unwrap_err().to_string().contains("takes atomic writes of"));
        }
    }
}

#[test]
fn flushes_are_counted_and_their_time_is_the_runs() {
    let options = WorkloadOptions { fdatasync: 4, ..WorkloadOptions::default() };
    let workload = Workload { rw: Rw::Write, bs: Bytes(512), iodepth: 1, options, ..Workload::default() };
    let record = run(&mut simulated(), workload, Nanos(1_000_000_000));
    // A flush takes 100 us like a request, so four writes and a flush take 500 us, and 2,000 such groups fill one
    // second.
    assert_eq!((record.syncs.count(), record.ios), (2_000, 8_000));
    assert_eq!((record.syncs.min_ns(), record.syncs.max_ns(), record.flush_ns), (100_000, 100_000, 100_000));
    // Moments of virtual time are whole nanoseconds.
    let ends_us = [record.commits.min_ns(), record.commits.max_ns()].map(|ns| ns / 1_000);
    assert_eq!((record.commits.count(), ends_us), (2_000, [500, 500]));
    assert_eq!(record.elapsed_ns / 1_000, 1_000_100);
    assert_eq!((record.latency.max_ns() / 1_000, record.memory_mbps()), (100, None));

    let (_folder, mut backend) = real();
    // It ends by its bytes: within a short time a slow machine may not come to a flush.
    let some = WorkloadOptions { io_size: "1MiB".parse().ok(), ..options };
    let workload = Workload { rw: Rw::Write, threads: 2, ..buffered(some) };
    let record = run(&mut backend, workload, LONG);
    let whole = record.syncs.count() * 4;
    let rest = record.ios - record.syncs.count() * 4;
    assert!(whole > 0 && rest < 2 * 4, "{whole} writes are between flushes, {rest} are not");
    assert!(record.flush_ns > 0 && record.errors.is_empty());
    assert_eq!(record.commits.count(), record.syncs.count());
    assert!(record.commits.min_ns() >= record.syncs.min_ns(), "a commit holds its flush");
}

/// Commits of one second by writers that each flush after each write of 20 us, on a disk whose flush takes 1 ms.
fn commits_of(writers: u32, group: &str) -> Record {
    let constants = format!("fixed=20us,rate=900000GB/s,disks=64,flush=1ms{group}");
    let mut backend = SimulatedTarget::new(SimulatedDisk::from_constants(&constants).unwrap());
    let options = WorkloadOptions { fdatasync: 1, ..WorkloadOptions::default() };
    let workload =
        Workload { rw: Rw::Write, bs: Bytes(8192), iodepth: 1, threads: writers, options, ..Workload::default() };
    run(&mut backend, workload, Nanos(1_000_000_000))
}

fn near(found: f64, truth: f64) -> bool {
    (found / truth - 1.0).abs() < 0.02
}

#[test]
fn writers_share_the_flushes_of_a_simulated_device() {
    // Two groups take turns: while one is flushed, the other writes and waits.
    for (writers, group, commits, p50_ns) in [
        (1, "", 980.4, 1_020_000.0),
        (16, "", 8_000.0, 2_000_000.0),
        (64, "", 32_000.0, 2_000_000.0),
        (16, ",flush_group=4", 4_000.0, 4_000_000.0),
        (64, ",flush_group=4", 4_000.0, 16_000_000.0),
    ] {
        let record = commits_of(writers, group);
        let window_s = (record.elapsed_ns - record.flush_ns) as f64 / 1e9;
        let counted = record.commits.count() as f64 / window_s;
        let median = record.commits.quantile_ns(0.5) as f64;
        assert!(near(counted, commits), "{writers} writers{group}: {counted} a second, not {commits}");
        assert!(near(median, p50_ns), "{writers} writers{group}: {median} ns, not {p50_ns}");
        assert_eq!((record.syncs.count(), record.errors.len()), (record.commits.count(), 0));
        assert!(record.ios >= record.commits.count() && record.ios <= record.commits.count() + u64::from(writers));
    }
}

#[test]
fn a_run_begins_after_its_rest_and_does_not_count_it() {
    let rest = Nanos(3_000_000_000);
    let options = WorkloadOptions { rest, ..WorkloadOptions::default() };
    let workload = Workload { iodepth: 1, options, ..Workload::default() };
    let mut backend = simulated();
    let record = run(&mut backend, workload, Nanos(100_000_000));
    assert!(record.elapsed_ns.abs_diff(100_000_000) < 1_000 && record.ios == 1_000, "{record:?}");
    assert_eq!(record.spent_ns, record.elapsed_ns + rest.0);
    assert_eq!(record.cpu.span_ns, record.elapsed_ns, "processors are not accounted for while it rests");
    assert_eq!(backend.clock_ns(), record.spent_ns);

    let (_folder, mut backend) = real();
    let short = WorkloadOptions { rest: Nanos(20_000_000), ..options };
    let record = run(&mut backend, Workload { options: short, ..workload }, Nanos(5_000_000));
    assert!(record.ios > 0 && record.spent_ns >= record.elapsed_ns + 20_000_000, "{}", record.spent_ns);
    let stopped = AtomicBool::new(true);
    let long = Workload { options: WorkloadOptions { rest: LONG, ..options }, ..workload };
    let run = Run { experiment: None, workload: long, repeat: 0, pass: Pass::Plain, runtime: LONG, seed: 5 };
    assert!(matches!(measure(&mut backend, &run, &stopped), Err(MeasureError::Interrupted)));
}

#[test]
fn only_the_threads_that_are_to_flush_do() {
    let options = WorkloadOptions { fdatasync: 1, flushing_threads: 1, ..WorkloadOptions::default() };
    let workload = Workload { rw: Rw::Write, bs: Bytes(8192), iodepth: 1, threads: 4, options, ..Workload::default() };
    let disk = SimulatedDisk::from_constants("fixed=20us,rate=900000GB/s,disks=64,flush=1ms").unwrap();
    let record = run(&mut SimulatedTarget::new(disk), workload, Nanos(1_000_000_000));
    assert!(near(record.commits.count() as f64, 980.4), "{} commits", record.commits.count());
    assert!(near(record.ios as f64, 980.4 + 3.0 * 50_000.0), "{} writes", record.ios);

    let (_folder, mut backend) = real();
    let real = Workload { cache: Cache::Both, engine: EngineName::Sync, ..workload };
    let record = run(&mut backend, real, Nanos(30_000_000));
    assert_eq!(record.lanes.len(), 4);
    assert!(record.commits.count() > 0 && record.commits.count() <= record.lanes[0].ios, "the first thread's alone");
    let nothing = WorkloadOptions { fdatasync: 0, ..options };
    let refused = backend.admits(&Workload { options: nothing, ..workload }).unwrap_err().to_string();
    assert!(refused.contains("--flushing-threads 1: nothing flushes"), "{refused}");
}

#[test]
fn writers_have_files_of_their_own_that_go_with_the_run() {
    let (folder, mut backend) = real();
    let names = || std::fs::read_dir(folder.path()).unwrap().count();
    let before = names();
    for layout in [Layout::Written, Layout::Append] {
        let options = WorkloadOptions { fdatasync: 1, own_files: true, layout, ..WorkloadOptions::default() };
        let own = buffered(options);
        let own = Workload { rw: Rw::Write, bs: Bytes(8192), iodepth: 1, threads: 3, engine: EngineName::Sync, ..own };
        let record = run(&mut backend, own, Nanos(30_000_000));
        assert!(record.commits.count() > 0 && record.errors.is_empty(), "{layout}: {:?}", record.errors);
        assert_eq!((record.lanes.len(), names()), (3, before));
    }
    let options = WorkloadOptions { own_files: true, ..WorkloadOptions::default() };
    let refused = |backend: &dyn TargetBackend, rw| {
        backend.admits(&Workload { rw, options, ..Workload::default() }).unwrap_err().to_string()
    };
    assert!(refused(&backend, Rw::Read).contains("--own-files: it is about writes"));
    assert!(refused(&simulated(), Rw::Write).contains("--own-files: a simulated target has no files"));
}

#[test]
fn files_of_writers_hold_a_block_for_each_stream_and_take_no_region() {
    let (_folder, mut backend) = real();
    let options = WorkloadOptions { own_files: true, streams: 8, ..WorkloadOptions::default() };
    for threads in [1, 2] {
        let own = Workload { rw: Rw::Write, bs: Bytes(MIB), threads, ..buffered(options) };
        let record = run(&mut backend, own, Nanos(30_000_000));
        assert!(record.ios > 0 && record.errors.is_empty(), "{threads}: {:?}", record.errors);
    }
    let region = Some(Region { from: Bytes(32 * MIB), bytes: Bytes(16 * MIB) });
    for layout in [Layout::Written, Layout::New] {
        let options = WorkloadOptions { own_files: true, region, layout, ..WorkloadOptions::default() };
        let refused = backend.admits(&Workload { rw: Rw::Write, ..buffered(options) }).unwrap_err().to_string();
        assert!(refused.starts_with("--own-files: ") && refused.contains("leave --region out"), "{refused}");
    }
}

#[test]
fn what_virtual_time_cannot_do_with_several_writers_is_refused() {
    let mut backend = SimulatedTarget::new(SimulatedDisk::from_constants("flush=1ms").unwrap());
    let options = WorkloadOptions { fdatasync: 2, ..WorkloadOptions::default() };
    let workload = Workload { rw: Rw::Write, threads: 2, iodepth: 1, options, ..Workload::default() };
    let refused = backend.admits(&workload).unwrap_err().to_string();
    assert!(refused.contains("--threads 1"), "{refused}");
    let each = WorkloadOptions { fdatasync: 1, ..options };
    assert!(backend.admits(&Workload { options: each, ..workload }).is_ok());
    assert!(backend.admits(&Workload { options: each, rw: Rw::Randread, ..workload }).is_err());
    assert!(backend.make_ready(None, &AtomicBool::new(false)).is_ok());
}

#[test]
fn time_passes_between_requests() {
    let options = WorkloadOptions { thinktime: Nanos(400_000), ..WorkloadOptions::default() };
    let workload = Workload { bs: Bytes(512), iodepth: 1, options, ..Workload::default() };
    let record = run(&mut simulated(), workload, Nanos(1_000_000_000));
    assert_eq!((record.ios, record.latency.max_ns() / 1_000), (2_000, 100));

    let (_folder, mut backend) = real();
    let options = WorkloadOptions { thinktime: Nanos(5_000_000), ..WorkloadOptions::default() };
    let record = run(&mut backend, Workload { iodepth: 1, ..buffered(options) }, Nanos(30_000_000));
    assert!(record.ios >= 1 && record.ios <= 7, "{} requests in 30 ms with 5 ms between two", record.ios);
}

#[test]
fn requests_come_in_bursts_with_time_between_them() {
    let bursts = |thinktime_from| {
        let thinktime = Nanos(1_000_000);
        let options = WorkloadOptions { thinktime, thinktime_blocks: 10, thinktime_from, ..WorkloadOptions::default() };
        let workload = Workload { bs: Bytes(512), iodepth: 1, options, ..Workload::default() };
        run(&mut simulated(), workload, Nanos(1_000_000_000)).ios
    };
    // Ten requests of 100 us, then 1 ms: from the end of the last, or from when it went out.
    assert_eq!(bursts(ThinktimeFrom::Done), 5_000);
    let from_issue = bursts(ThinktimeFrom::Issued);
    assert!((5_250..=5_270).contains(&from_issue), "{from_issue} of 10 in each 1.9 ms");
}

#[test]
fn what_is_asked_of_threads_and_of_places_is_done_or_refused() {
    let (_folder, mut backend) = real();
    let usual = WorkloadOptions::default();
    let priority = WorkloadOptions { io_priority: "best-effort:7".parse().ok(), ..usual };
    for engine in [EngineName::Sync, EngineName::Pool, EngineName::Auto] {
        let workload = Workload { rw: Rw::Randwrite, engine, ..buffered(priority) };
        let record = run(&mut backend, workload, Nanos(5_000_000));
        assert!(record.ios > 0 && record.errors.is_empty(), "{engine}: {:?}", record.errors);
    }
    let refusal = simulated().admits(&Workload { options: priority, ..Workload::default() }).unwrap_err().to_string();
    assert!(refusal.contains("--io-priority best-effort:7"), "{refusal}");

    let zoned = |zones: &str| {
        let random_distribution = zones.parse().unwrap();
        Workload { rw: Rw::Randwrite, ..buffered(WorkloadOptions { random_distribution, ..usual }) }
    };
    assert!(run(&mut backend, zoned("zoned:90/10:0/10:10/80"), Nanos(5_000_000)).ios > 0);
    let refusal = backend.admits(&zoned("zoned_abs:0/1GiB:100/1GiB")).unwrap_err().to_string();
    assert!(refusal.contains("no zone that gets requests"), "{refusal}");

    // Four requests go through the same blocks, so that a pass moves the file four times, and does not end the run.
    let same_blocks = WorkloadOptions { same_blocks: true, io_size: "400%".parse().ok(), ..usual };
    let record = run(&mut backend, Workload { iodepth: 4, ..buffered(same_blocks) }, LONG);
    assert_eq!(record.bytes, 4 * SPAN);
    let aligned = WorkloadOptions { blockalign: Bytes(4096), io_size: "200%".parse().ok(), ..usual };
    let record = run(&mut backend, Workload { rw: Rw::Randread, ..buffered(aligned) }, LONG);
    assert_eq!((record.bytes, record.errors.len()), (2 * SPAN, 0), "blocks come again, also in the page cache");
}

#[test]
fn readers_beside_a_workload_are_counted_apart() {
    for random_readers in [1, 3] {
        let options = WorkloadOptions { random_readers, ..WorkloadOptions::default() };
        let workload = Workload { bs: Bytes(64 * 1024), iodepth: 1, options, ..Workload::default() };
        let record = run(&mut simulated(), workload, Nanos(1_000_000_000));
        // The disk serves in turn one request of the workload and one of each reader.
        let own = 10_000 / (1 + u64::from(random_readers));
        assert_eq!((record.ios, record.bytes), (own, own * 64 * 1024));
        assert_eq!(record.latency.count(), own);
        let beside = record.lanes[1];
        assert_eq!((beside.role, beside.ios), (LaneRole::Random, own * u64::from(random_readers)));
        assert_eq!(beside.bytes, beside.ios * 8192);
        assert!(record.cpu.ios >= record.ios + beside.ios, "they are paid for");
        assert!(
            (record.beside_iops().unwrap() / 1e4 - f64::from(random_readers) / f64::from(1 + random_readers)).abs()
                < 1e-3
        );
    }

    let (_folder, mut backend) = real();
    let record = run(&mut backend, buffered(WorkloadOptions { random_readers: 2, ..WorkloadOptions::default() }), LONG);
    let of = |role| record.lanes.iter().filter(move |lane| lane.role == role).collect::<Vec<_>>();
    assert_eq!((of(LaneRole::Own).len(), of(LaneRole::Random).len()), (1, 2));
    assert_eq!((record.bytes, of(LaneRole::Own)[0].bytes), (SPAN, SPAN), "they end with the workload");
    assert!(of(LaneRole::Random).iter().all(|lane| lane.bytes == lane.ios * 8192));
}

/// One server that takes 100 us for each request: beside a load of depth d a request waits for the d requests of the load
/// before it, and each d + 1 requests are one of the workload and d of the load.
#[test]
fn a_load_beside_a_workload_is_counted_apart_and_holds_it_up_as_one_server_does() {
    for (load, depth) in [("randread,bs=8k,iodepth=1", 1), ("write,bs=4k,iodepth=3,threads=2", 6)] {
        let options = WorkloadOptions { beside: load.parse().ok(), ..WorkloadOptions::default() };
        let workload = Workload { rw: Rw::Randread, bs: Bytes(64 * 1024), iodepth: 1, options, ..Workload::default() };
        let record = run(&mut simulated(), workload, Nanos(1_000_000_000));
        let own = 10_000 / (1 + depth);
        assert!(record.ios.abs_diff(own) <= 1 && record.latency.count() == record.ios, "{load}: {}", record.ios);
        let p99_us = record.latency.quantile_ns(0.99) as f64 / 1e3;
        assert!((p99_us / (100.0 * (1 + depth) as f64) - 1.0).abs() < 0.01, "{load}: {p99_us} us");
        let beside = record.lanes[1];
        assert_eq!((record.lanes.len(), beside.role), (2, LaneRole::Beside));
        assert!(beside.ios.abs_diff(own * depth) <= depth, "{load}: {}", beside.ios);
    }

    let (_folder, mut backend) = real();
    let options =
        WorkloadOptions { beside: "randwrite,bs=4k,iodepth=2,cache=both".parse().ok(), ..WorkloadOptions::default() };
    let record = run(&mut backend, buffered(options), LONG);
    let of = |role| record.lanes.iter().filter(move |lane| lane.role == role).collect::<Vec<_>>();
    assert_eq!((of(LaneRole::Own).len(), of(LaneRole::Beside).len()), (1, 1));
    assert_eq!((record.bytes, of(LaneRole::Own)[0].bytes), (SPAN, SPAN), "it ends with the workload");
    assert_eq!(of(LaneRole::Beside)[0].bytes, of(LaneRole::Beside)[0].ios * 4096);
}

/// A load that flushes and thinks writes once a period; all else that the server does is the workload's.
#[test]
fn a_load_that_flushes_and_thinks_goes_on_at_its_own_pace_in_virtual_time() {
    let disk = SimulatedDisk::from_constants("fixed=100us,rate=900000GB/s,flush=900us").unwrap();
    let load = "randwrite,bs=4k,iodepth=1,cache=device,fdatasync=1,thinktime=9ms";
    let options = WorkloadOptions { beside: load.parse().ok(), ..WorkloadOptions::default() };
    let workload = Workload { rw: Rw::Randread, bs: Bytes(4096), iodepth: 1, options, ..Workload::default() };
    let record = run(&mut SimulatedTarget::new(disk), workload, Nanos(1_000_000_000));
    // A write of 100 us, a flush of 900 us and a pause of 9 ms are 10 ms, or less than 0.2 ms more where it waits for a read.
    let writes = record.lanes[1].ios;
    assert!((98..=100).contains(&writes), "{writes}");
    assert!(record.ios.abs_diff(10_000 - writes) <= 1, "each write takes the place of one read: {}", record.ios);
}

#[test]
fn what_cannot_go_beside_a_workload_is_refused() {
    let (_folder, backend) = real();
    let refused = |change: fn(&mut WorkloadOptions)| {
        let beside = "randwrite,bs=4k,cache=both".parse().ok();
        let mut options = WorkloadOptions { beside, ..WorkloadOptions::default() };
        change(&mut options);
        backend.admits(&buffered(options)).unwrap_err().to_string()
    };
    assert!(refused(|options| options.random_readers = 2).contains("leave one of them out"));
    assert!(refused(|options| options.verify = true).contains("--verify"));
    assert!(
        refused(|options| options.beside = "randwrite,bs=128m,iodepth=1,cache=both".parse().ok()).contains("64MiB")
    );
    let shifted = refused(|options| {
        options.beside = "randwrite,bs=64m,iodepth=1,cache=both".parse().ok();
        options.misalign = Bytes(4096);
    });
    assert!(shifted.contains("needs 64MiB"), "{shifted}");
}

#[test]
fn streams_cover_what_one_stream_covers() {
    let (_folder, mut backend) = real();
    for (streams, threads) in [(4, 1), (4, 2), (3, 1)] {
        let options = WorkloadOptions { streams, ..WorkloadOptions::default() };
        let record = run(&mut backend, Workload { threads, ..buffered(options) }, LONG);
        let blocks = 1024 / u64::from(streams * threads) * u64::from(streams * threads);
        assert!(began_cold(&record), "{streams} x {threads}: {:?}", record.cached_bytes);
        assert_eq!(record.bytes, blocks * 64 * 1024, "{streams} x {threads}");
    }
    let many = Workload { bs: Bytes(MIB), ..buffered(WorkloadOptions { streams: 65, ..WorkloadOptions::default() }) };
    assert!(backend.admits(&many).unwrap_err().to_string().contains("the target holds 64MiB"));
}

#[test]
fn a_warm_page_cache_holds_what_is_used_and_no_more() {
    let (_folder, mut backend) = real();
    let region = Some(Region { from: Bytes(4 * MIB), bytes: Bytes(2 * MIB) });
    let io_size = "300%".parse().ok();
    let options = WorkloadOptions { region, page_cache: PageCache::Warm, io_size, ..WorkloadOptions::default() };
    // Where others need the memory, the kernel takes some of it again before it is counted.
    let is_warm = |record: &Record| record.cached_bytes.is_none_or(|bytes| bytes == 2 * MIB);
    let record = (0..20).map(|_| run(&mut backend, buffered(options), LONG)).find(is_warm);
    let record = record.expect("one of 20 runs finds all of the region in the page cache");
    assert_eq!(record.bytes, 6 * MIB, "its blocks are read again and again");
    let after = run(&mut backend, buffered(WorkloadOptions::default()), LONG);
    assert!(began_cold(&after), "the next run begins with an empty one again: {:?}", after.cached_bytes);
    assert_eq!(after.bytes, SPAN);
}

#[test]
fn advice_reaches_the_kernel_with_every_engine() {
    let (_folder, mut backend) = real();
    for engine in [EngineName::Auto, EngineName::Sync, EngineName::Pool] {
        for fadvise in [Fadvise::Sequential, Fadvise::Random] {
            let options = WorkloadOptions { fadvise, ..WorkloadOptions::default() };
            let record = run(&mut backend, Workload { engine, ..buffered(options) }, LONG);
            assert_eq!((record.bytes, record.errors.len()), (SPAN, 0), "{engine} {fadvise}");
        }
    }
}

#[test]
fn lanes_stay_on_their_processor() {
    let (_folder, mut backend) = real();
    let workload =
        |affinity| Workload { threads: 2, ..buffered(WorkloadOptions { affinity, ..WorkloadOptions::default() }) };
    let all = run(&mut backend, workload(Affinity::All), Nanos(10_000_000));
    assert!(all.lanes.iter().all(|lane| lane.cpu.is_none()));
    let usable = halfpower_os::processor::usable();
    let mut seats = Vec::new();
    for affinity in [Affinity::One, Affinity::Interrupt, Affinity::Other] {
        match backend.admits(&workload(affinity)) {
            Ok(()) => {
                let record = run(&mut backend, workload(affinity), Nanos(10_000_000));
                assert!(record.lanes.windows(2).all(|pair| pair[0].cpu == pair[1].cpu), "{affinity}");
                seats.push((affinity, record.lanes[0].cpu.expect("a processor") as usize));
            }
            Err(why) => eprintln!("skipped: {why}"),
        }
    }
    assert!(seats.iter().all(|(_, cpu)| usable.contains(cpu)));
    if let [_, (_, interrupt), (_, other)] = seats[..] {
        // The machine may move an interrupt between two runs.
        let mut seat = |affinity| run(&mut backend, workload(affinity), Nanos(10_000_000)).lanes[0].cpu;
        let are_apart = |_: u32| seat(Affinity::Interrupt) != seat(Affinity::Other);
        assert!(interrupt != other || (0..20).any(are_apart), "both on processor {interrupt}");
    }
    assert_eq!(halfpower_os::processor::usable(), usable, "this thread may run where it could before");
    assert_eq!(seats.is_empty(), usable.len() < 2);
}

#[test]
fn what_cannot_be_turned_is_refused_by_its_flag() {
    let (_folder, backend) = real();
    let simulated = simulated();
    let usual = WorkloadOptions::default();
    let refused = |backend: &dyn TargetBackend, workload: Workload, flag: &str| {
        let error = backend.admits(&workload).unwrap_err();
        assert!(matches!(error, MeasureError::Unfit { .. }) && error.to_string().contains(flag), "{error}");
    };
    refused(&backend, Workload { rw: Rw::Randread, ..buffered(WorkloadOptions { streams: 2, ..usual }) }, "--streams");
    refused(
        &backend,
        Workload { cache: Cache::Device, ..buffered(WorkloadOptions { fadvise: Fadvise::Random, ..usual }) },
        "--fadvise",
    );
    for (options, flag) in [
        (WorkloadOptions { affinity: Affinity::Interrupt, ..usual }, "--affinity"),
        (WorkloadOptions { page_cache: PageCache::Warm, ..usual }, "--page-cache"),
        (WorkloadOptions { fadvise: Fadvise::Sequential, ..usual }, "--fadvise"),
        (WorkloadOptions { write_cache: Some(Switch::Off), ..usual }, "--write-cache"),
    ] {
        refused(&simulated, buffered(options), flag);
    }
    let threads = Workload { threads: 2, rw: Rw::Write, ..buffered(WorkloadOptions { fdatasync: 1, ..usual }) };
    refused(&simulated, threads, "--threads 1");
    if let Err(why) = backend.environment().capabilities.can(&Ability::WriteCache) {
        refused(&backend, buffered(WorkloadOptions { write_cache: Some(Switch::Off), ..usual }), &why);
    }
}
