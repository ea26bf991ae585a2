//! Does what a run turns beside the usual axes happen, and is it counted? On a real folder and in virtual time.

use std::sync::atomic::AtomicBool;

use measure::{MeasureError, Place, RealPlace, SimulatedPlace, Wanted, measure};
use record::{LaneRole, Record};
use spec::{
    Affinity, Bytes, Cache, EngineName, Fadvise, Nanos, PageCache, Pass, Region, Run, Rw, SimulatedDisk, Switch, Twist,
    Workload,
};

const MIB: u64 = 1 << 20;
const SPAN: u64 = 64 * MIB;
const LONG: Nanos = Nanos(3_600_000_000_000);

fn run(place: &mut dyn Place, workload: Workload, runtime: Nanos) -> Record {
    let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 5 };
    measure(place, &run, &AtomicBool::new(false)).unwrap()
}

/// A folder, and a place in it that has laid its file out.
fn real() -> (tempfile::TempDir, RealPlace) {
    // The build folder is on a disk; /tmp may be in memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let wanted = Wanted {
        size: Some(Bytes(SPAN)),
        writes: true,
        overwrite: false,
        drop_caches: false,
        engine: EngineName::Auto,
        seed: 1,
        layout_limit: Nanos(60_000_000_000),
    };
    let mut place = RealPlace::open(folder.path(), &wanted).unwrap();
    place.make_ready(None, &AtomicBool::new(false)).unwrap();
    (folder, place)
}

/// A disk that takes 100 us for a request and nothing for its bytes.
fn simulated() -> SimulatedPlace {
    SimulatedPlace::new(SimulatedDisk::from_constants("fixed=100us,rate=900000GB/s").unwrap())
}

fn buffered(twist: Twist) -> Workload {
    Workload { cache: Cache::Both, bs: Bytes(64 * 1024), iodepth: 2, twist, ..Workload::default() }
}

#[test]
fn flushes_are_counted_and_their_time_is_the_runs() {
    let twist = Twist { fdatasync: 4, ..Twist::default() };
    let workload = Workload { rw: Rw::Write, bs: Bytes(512), iodepth: 1, twist, ..Workload::default() };
    let record = run(&mut simulated(), workload, Nanos(1_000_000_000));
    // Four writes and a flush are 500 us, of which a flush takes as long as a request; 2,000 of them are a second.
    assert_eq!((record.syncs.count(), record.ios), (2_000, 8_000));
    assert_eq!((record.syncs.min_ns(), record.syncs.max_ns(), record.flush_ns), (100_000, 100_000, 100_000));
    assert_eq!(record.elapsed_ns / 1_000, 1_000_100);
    assert_eq!((record.latency.max_ns() / 1_000, record.memory_mbps()), (100, None));

    let (_folder, mut place) = real();
    let workload = Workload { rw: Rw::Write, threads: 2, ..buffered(twist) };
    let record = run(&mut place, workload, Nanos(30_000_000));
    let (whole, rest) = (record.syncs.count() * 4, record.ios - record.syncs.count() * 4);
    assert!(whole > 0 && rest < 2 * 4, "{whole} writes are between flushes, {rest} are not");
    assert!(record.flush_ns > 0 && record.errors.is_empty());
}

#[test]
fn time_passes_between_requests() {
    let twist = Twist { thinktime: Nanos(400_000), ..Twist::default() };
    let workload = Workload { bs: Bytes(512), iodepth: 1, twist, ..Workload::default() };
    let record = run(&mut simulated(), workload, Nanos(1_000_000_000));
    assert_eq!((record.ios, record.latency.max_ns() / 1_000), (2_000, 100));

    let (_folder, mut place) = real();
    let twist = Twist { thinktime: Nanos(5_000_000), ..Twist::default() };
    let record = run(&mut place, Workload { iodepth: 1, ..buffered(twist) }, Nanos(30_000_000));
    assert!(record.ios >= 1 && record.ios <= 7, "{} requests in 30 ms with 5 ms between two", record.ios);
}

#[test]
fn readers_beside_a_workload_are_counted_apart() {
    for randoms in [1, 3] {
        let twist = Twist { randoms, ..Twist::default() };
        let workload = Workload { bs: Bytes(64 * 1024), iodepth: 1, twist, ..Workload::default() };
        let record = run(&mut simulated(), workload, Nanos(1_000_000_000));
        // One disk serves in turn: a request of the workload, then one of each reader.
        let own = 10_000 / (1 + u64::from(randoms));
        assert_eq!((record.ios, record.bytes), (own, own * 64 * 1024));
        assert_eq!(record.latency.count(), own);
        let beside = record.lanes[1];
        assert_eq!((beside.role, beside.ios), (LaneRole::Random, own * u64::from(randoms)));
        assert_eq!(beside.bytes, beside.ios * 8192);
        assert!(record.cpu.ios >= record.ios + beside.ios, "they are paid for");
        assert!((record.beside_iops().unwrap() / 1e4 - f64::from(randoms) / f64::from(1 + randoms)).abs() < 1e-3);
    }

    let (_folder, mut place) = real();
    let record = run(&mut place, buffered(Twist { randoms: 2, ..Twist::default() }), LONG);
    let of = |role| record.lanes.iter().filter(move |lane| lane.role == role).collect::<Vec<_>>();
    assert_eq!((of(LaneRole::Own).len(), of(LaneRole::Random).len()), (1, 2));
    assert_eq!((record.bytes, of(LaneRole::Own)[0].bytes), (SPAN, SPAN), "they end with the workload");
    assert!(of(LaneRole::Random).iter().all(|lane| lane.bytes == lane.ios * 8192));
}

#[test]
fn streams_cover_what_one_stream_covers() {
    let (_folder, mut place) = real();
    for (streams, threads) in [(4, 1), (4, 2), (3, 1)] {
        let twist = Twist { streams, ..Twist::default() };
        let record = run(&mut place, Workload { threads, ..buffered(twist) }, LONG);
        let blocks = 1024 / u64::from(streams * threads) * u64::from(streams * threads);
        assert_eq!((record.bytes, record.cached_bytes), (blocks * 64 * 1024, Some(0)), "{streams} x {threads}");
    }
    let many = Workload { bs: Bytes(MIB), ..buffered(Twist { streams: 65, ..Twist::default() }) };
    assert!(place.admits(&many).unwrap_err().to_string().contains("the target holds 64MiB"));
}

#[test]
fn a_warm_page_cache_holds_what_is_used_and_no_more() {
    let (_folder, mut place) = real();
    let region = Some(Region { from: Bytes(4 * MIB), bytes: Bytes(2 * MIB) });
    let twist = Twist { region, page_cache: PageCache::Warm, ..Twist::default() };
    let record = run(&mut place, buffered(twist), Nanos(30_000_000));
    assert!(record.cached_bytes.is_none_or(|bytes| bytes == 2 * MIB), "{:?}", record.cached_bytes);
    assert!(record.bytes > 2 * MIB, "its blocks are read again and again");
    let after = run(&mut place, buffered(Twist::default()), LONG);
    assert_eq!((after.cached_bytes, after.bytes), (Some(0), SPAN), "the next run begins with an empty one again");
}

#[test]
fn advice_reaches_the_kernel_with_every_engine() {
    let (_folder, mut place) = real();
    for engine in [EngineName::Auto, EngineName::Sync, EngineName::Pool] {
        for fadvise in [Fadvise::Sequential, Fadvise::Random] {
            let twist = Twist { fadvise, ..Twist::default() };
            let record = run(&mut place, Workload { engine, ..buffered(twist) }, LONG);
            assert_eq!((record.bytes, record.errors.len()), (SPAN, 0), "{engine} {fadvise}");
        }
    }
}

#[test]
fn lanes_stay_on_their_processor() {
    let (_folder, mut place) = real();
    let workload = |affinity| Workload { threads: 2, ..buffered(Twist { affinity, ..Twist::default() }) };
    let all = run(&mut place, workload(Affinity::All), Nanos(10_000_000));
    assert!(all.lanes.iter().all(|lane| lane.cpu.is_none()));
    let usable = os::processor::usable();
    let mut seats = Vec::new();
    for affinity in [Affinity::One, Affinity::Interrupt, Affinity::Other] {
        match place.admits(&workload(affinity)) {
            Ok(()) => {
                let record = run(&mut place, workload(affinity), Nanos(10_000_000));
                assert!(record.lanes.windows(2).all(|pair| pair[0].cpu == pair[1].cpu), "{affinity}");
                seats.push((affinity, record.lanes[0].cpu.expect("a processor") as usize));
            }
            Err(why) => eprintln!("skipped: {why}"),
        }
    }
    assert!(seats.iter().all(|(_, cpu)| usable.contains(cpu)));
    if let [_, (_, interrupt), (_, other)] = seats[..] {
        assert_ne!(interrupt, other);
    }
    assert_eq!(os::processor::usable(), usable, "this thread may run where it could before");
    assert_eq!(seats.is_empty(), usable.len() < 2);
}

#[test]
fn what_cannot_be_turned_is_refused_by_its_flag() {
    let (_folder, place) = real();
    let simulated = simulated();
    let usual = Twist::default();
    let refused = |place: &dyn Place, workload: Workload, flag: &str| {
        let error = place.admits(&workload).unwrap_err();
        assert!(matches!(error, MeasureError::Unfit { .. }) && error.to_string().contains(flag), "{error}");
    };
    refused(&place, Workload { rw: Rw::Randread, ..buffered(Twist { streams: 2, ..usual }) }, "--streams");
    refused(
        &place,
        Workload { cache: Cache::Device, ..buffered(Twist { fadvise: Fadvise::Random, ..usual }) },
        "--fadvise",
    );
    for (twist, flag) in [
        (Twist { affinity: Affinity::Interrupt, ..usual }, "--affinity"),
        (Twist { page_cache: PageCache::Warm, ..usual }, "--page-cache"),
        (Twist { fadvise: Fadvise::Sequential, ..usual }, "--fadvise"),
        (Twist { wce: Some(Switch::Off), ..usual }, "--wce"),
    ] {
        refused(&simulated, buffered(twist), flag);
    }
    let threads = Workload { threads: 2, rw: Rw::Write, ..buffered(Twist { fdatasync: 1, ..usual }) };
    refused(&simulated, threads, "--threads 1");
    if let Err(why) = place.environment().surroundings.can("write cache") {
        refused(&place, buffered(Twist { wce: Some(Switch::Off), ..usual }), &why);
    }
}
