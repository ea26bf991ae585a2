//! Checks completion times of a simulated path against times computed by hand and by another method.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use halfpower_model::{Buckets, DiskPath, Moment, Operation, PathModel, Submission};
use halfpower_spec::{Nanos, SimulatedDisk};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// 100 us and 10 ns a byte: 1000 bytes take 110 us.
const PLAIN: &str = "fixed=100us,rate=100MB/s";

fn path(constants: &str) -> DiskPath {
    DiskPath::new(&SimulatedDisk::from_constants(constants).unwrap(), 1)
}

fn at_us(us: u64) -> Moment {
    Nanos(us * 1000).into()
}

fn read(token: u32, length: u32) -> Submission {
    Submission { token, operation: Operation::Read, offset: 0, length }
}

fn flush(token: u32) -> Submission {
    Submission { token, operation: Operation::Flush, offset: 0, length: 0 }
}

/// Everything in flight: token and microseconds, in order of completion.
fn drain(path: &mut DiskPath) -> Vec<(u32, u64)> {
    let mut left = Vec::new();
    while let Some(promised) = path.next_completion() {
        let completed = path.pop().unwrap();
        assert_eq!(completed.at, promised);
        left.push((completed.token, completed.at.nanos().0 / 1000));
    }
    assert_eq!(path.pop(), None);
    left
}

#[test]
fn a_request_takes_the_disk_that_is_free_first() {
    let mut two = path(&format!("{PLAIN},disks=2"));
    two.submit(at_us(0), read(0, 9000));
    for token in 1..4 {
        two.submit(at_us(0), read(token, 1000));
    }
    assert_eq!(drain(&mut two), [(1, 110), (0, 190), (2, 220), (3, 300)]);
    two.submit(at_us(1000), read(4, 1000));
    assert_eq!(drain(&mut two), [(4, 1110)]);
}

#[test]
fn reads_and_writes_take_the_same_time() {
    let mut one = path(PLAIN);
    one.submit(at_us(0), Submission { operation: Operation::Write, ..read(0, 1000) });
    assert_eq!(drain(&mut one), [(0, 110)]);
}

#[test]
fn the_limiter_costs_one_request_nothing_and_paces_many() {
    for limit in ["shared=50MB/s", "iops=50000", "shared=50MB/s,iops=60000", "shared=60MB/s,iops=50000"] {
        let mut four = path(&format!("{PLAIN},disks=4,{limit}"));
        for token in 0..4 {
            four.submit(at_us(0), read(token, 1000));
        }
        assert_eq!(drain(&mut four), [(0, 110), (1, 130), (2, 150), (3, 170)], "{limit}");
    }
}

#[test]
fn the_limiter_serves_in_order_of_arrival_and_not_of_submission() {
    let mut two = path(&format!("{PLAIN},disks=2,shared=50MB/s"));
    two.submit(at_us(0), read(0, 100_000));
    assert_eq!(two.next_completion(), Some(at_us(2000)));
    two.submit(at_us(50), read(1, 1000));
    assert_eq!(drain(&mut two), [(1, 160), (0, 2160)]);
}

#[test]
fn a_flush_completes_after_all_before_it_and_holds_up_nothing_behind_it() {
    let mut one = path(PLAIN);
    one.submit(at_us(0), flush(9));
    assert_eq!(drain(&mut one), [(9, 100)]);
    for request in [read(0, 1000), read(1, 1000), flush(2), read(3, 3000), flush(4)] {
        one.submit(at_us(1000), request);
    }
    assert_eq!(drain(&mut one), [(0, 1110), (1, 1220), (2, 1320), (3, 1350), (4, 1450)]);
}

#[test]
fn a_flush_takes_nothing_of_the_limiter() {
    let mut limited = path(&format!("{PLAIN},shared=10MB/s"));
    for request in [read(0, 1000), flush(1), read(2, 1000)] {
        limited.submit(at_us(0), request);
    }
    assert_eq!(drain(&mut limited), [(0, 110), (1, 210), (2, 220)]);
}

#[test]
fn what_lies_beyond_the_capacity_is_not_moved() {
    let mut small = path(&format!("{PLAIN},size=1MiB"));
    let moved = [(0, 4096), ((1 << 20) - 512, 512), (1 << 20, 0), (u64::MAX, 0)];
    for (offset, bytes) in moved {
        small.submit(at_us(0), Submission { offset, ..read(0, 4096) });
        assert_eq!(small.pop().unwrap().bytes, bytes, "{offset}");
    }
}

#[test]
fn absurd_constants_end_at_the_end_of_time() {
    let mut slow = path("fixed=3000000s,rate=1b/s,disks=1024,iops=0.000000000000001");
    for token in 0..100 {
        slow.submit(at_us(0), read(token, 1 << 20));
    }
    for _ in 0..100 {
        assert!(slow.pop().unwrap().at <= Moment::END);
    }
}

/// When each of `arrivals` (nanoseconds, bytes) leaves: disks in order of submission, then all of them sorted into the
/// limiter. All arrivals are known in advance, so no event order is needed.
fn worked_out_at_once(disk: &SimulatedDisk, arrivals: &[(u64, u32)]) -> BTreeMap<u32, u64> {
    let mut free = vec![0u64; disk.disks as usize];
    let mut served = Vec::new();
    for (token, (now, length)) in arrivals.iter().enumerate() {
        let first = free.iter_mut().min().unwrap();
        let transfer = (f64::from(*length) / disk.rate.0 * 1e12).round() as u64;
        *first = (*first).max(now * 1000) + disk.fixed.0 * 1000 + transfer;
        served.push((*first, token as u32, *length));
    }
    served.sort_unstable();
    let mut limiter = 0;
    let leave = |(at, token, length): (u64, u32, u32)| {
        let by_bytes = f64::from(length) / disk.shared.unwrap().0;
        limiter = at.max(limiter + (by_bytes.max(1.0 / disk.iops.unwrap()) * 1e12).round() as u64);
        (token, limiter)
    };
    served.into_iter().map(leave).collect()
}

#[test]
fn working_the_limiter_out_late_changes_nothing() {
    let constants = "fixed=20us,rate=100MB/s,disks=3,shared=250MB/s,iops=40000";
    let disk = SimulatedDisk::from_constants(constants).unwrap();
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut now = 0;
    // Twice the capacity at first and half of it later, so that queues grow and empty again.
    let arrivals: Vec<(u64, u32)> = (0..20_000)
        .map(|place| {
            let gap: u64 = generator.random_range(0..if place % 2000 < 1000 { 60_000 } else { 250_000 });
            now += gap;
            (now, 512 << generator.random_range(0..6))
        })
        .collect();

    let mut path = DiskPath::new(&disk, 1);
    let mut left = BTreeMap::new();
    for (token, (now, length)) in arrivals.iter().enumerate() {
        let now = Moment::from(Nanos(*now));
        while path.next_completion().is_some_and(|at| at <= now) {
            let completed = path.pop().unwrap();
            left.insert(completed.token, completed.at.ps());
        }
        path.submit(now, read(token as u32, *length));
    }
    while let Some(completed) = path.pop() {
        left.insert(completed.token, completed.at.ps());
    }
    for (token, at) in worked_out_at_once(&disk, &arrivals) {
        // Each request of a busy period may be rounded differently by a picosecond.
        assert!(left[&token].abs_diff(at) < 10_000, "request {token}: {} and {at}", left[&token]);
    }
}

/// Bytes of a single stream of requests that have left by `until`.
fn left_by(path: &mut DiskPath, length: u32, until: Moment) -> u64 {
    let mut now = Moment::default();
    let mut bytes = 0;
    loop {
        path.submit(now, read(0, length));
        let completed = path.pop().unwrap();
        if completed.at > until {
            return bytes;
        }
        (now, bytes) = (completed.at, bytes + u64::from(completed.bytes));
    }
}

#[test]
fn a_credit_passes_at_once_and_the_limit_afterwards() {
    let bucket = "fixed=0us,rate=1GB/s,shared=50MB/s,credit=10MB,iops=100000,credit_ios=7";
    let near = |found: u64, expected: f64| assert!((found as f64 / expected - 1.0).abs() < 0.01, "{found}, {expected}");
    // C / (R - r) = 10 MB / 950 MB/s = 10.5 ms at the disk's own rate, then C + r t.
    near(left_by(&mut path(bucket), 100_000, at_us(10_000)), 10e6);
    near(left_by(&mut path(bucket), 100_000, at_us(1_000_000)), 60e6);
    let requests = "fixed=1us,rate=100GB/s,iops=1000,credit_ios=500";
    near(left_by(&mut path(requests), 1000, at_us(1_000_000)), 1000.0 * 1500.0);
}

#[test]
fn a_credit_that_was_spent_is_spent_in_the_next_run_too_and_fills_while_nobody_asks() {
    let disk = SimulatedDisk::from_constants("fixed=0us,rate=1GB/s,shared=50MB/s,credit=10MB").unwrap();
    let kept = Arc::new(Mutex::new(Buckets::new(&disk)));
    let next_run = |begins_us: u64| {
        let mut path = DiskPath::new(&disk, 1).keeping(Arc::clone(&kept));
        let begins = at_us(begins_us);
        (0..300).for_each(|token| path.submit(begins, read(token, 100_000)));
        let left = drain(&mut path);
        let soon = left.iter().filter(|(_, us)| *us < begins_us + 100_000).count() as f64 * 1e5;
        (soon, left.last().unwrap().1)
    };
    // 30 MB: the credit, and the limit's 0.1 s; no credit is left when the last request has left.
    let (first, ended_us) = next_run(0);
    assert!((first / 15e6 - 1.0).abs() < 0.02, "{first}");
    let (second, ended_us) = next_run(ended_us);
    assert!((second / 5e6 - 1.0).abs() < 0.04, "{second}");
    // 0.1 s of idle time restore 5 MB.
    let (third, _) = next_run(ended_us + 100_000);
    assert!((third / 10e6 - 1.0).abs() < 0.03, "{third}");
}

/// What leaves in a burst of 300 writes of 100 kB at once that begins then: bytes within 20 ms, and the last one's time.
fn burst_of_writes(disk: &SimulatedDisk, kept: &Arc<Mutex<Buckets>>, begins_us: u64) -> (f64, u64) {
    let mut path = DiskPath::new(disk, 1).keeping(Arc::clone(kept));
    let write = |token| Submission { operation: Operation::Write, ..read(token, 100_000) };
    (0..300).for_each(|token| path.submit(at_us(begins_us), write(token)));
    let left = drain(&mut path);
    let soon = left.iter().filter(|(_, us)| *us < begins_us + 20_000).count() as f64 * 1e5;
    (soon, left.last().unwrap().1)
}

#[test]
fn a_fast_part_takes_its_bytes_at_full_rate_and_empties_while_nothing_is_written() {
    let constants = "fixed=0us,rate=1GB/s,fast_part=10MB,sustained=50MB/s,drain=25MB/s";
    let disk = SimulatedDisk::from_constants(constants).unwrap();
    let kept = Arc::new(Mutex::new(Buckets::new(&disk)));
    let near = |found: f64, truth: f64| assert!((found - truth).abs() <= 2e5, "{found}, not {truth}");
    // 10 MB in 10 ms, then 50 MB/s: 0.5 MB in the other 10 ms, and 20 MB in 400 ms in all.
    let (soon, ended_us) = burst_of_writes(&disk, &kept, 0);
    near(soon, 10.5e6);
    assert!(ended_us.abs_diff(410_000) < 3_000, "{ended_us}");
    // Nothing has left it meanwhile.
    let (soon, ended_us) = burst_of_writes(&disk, &kept, ended_us);
    near(soon, 1e6);
    // 0.2 s at 25 MB/s: 5 MB in 5 ms, then 0.75 MB.
    let (soon, ended_us) = burst_of_writes(&disk, &kept, ended_us + 200_000);
    near(soon, 5.75e6);
    // After a long time it is empty, and not emptier.
    let (soon, _) = burst_of_writes(&disk, &kept, ended_us + 100_000_000);
    near(soon, 10.5e6);
}

#[test]
fn a_fast_part_leaves_reads_as_they_are() {
    let constants = "fixed=0us,rate=1GB/s,fast_part=1MiB,sustained=50MB/s";
    near_rate(left_by(&mut path(constants), 100_000, at_us(100_000)), 100e6);
}

fn near_rate(found: u64, expected: f64) {
    assert!((found as f64 / expected - 1.0).abs() < 0.01, "{found}, {expected}");
}

#[test]
fn slices_pass_as_they_begin() {
    let path = || path("fixed=0us,rate=10GB/s,shared=50MB/s,slice=100ms");
    let at = |us| left_by(&mut path(), 100_000, at_us(us)) / 100_000;
    // A request whose time ends with a slice belongs to the next one.
    assert_eq!([50_000, 99_000, 150_000, 950_000].map(at), [49, 49, 99, 499]);
}
