//! Checks that the analysis returns the memory rates that the records were made from, given a known loop cost.

use super::rows::MemoryRow;
use super::{loop_ns_per_kib, memory};
use crate::built::{disk, normal, record_at, workload};
use halfpower_record::Record;
use halfpower_spec::{Bytes, Cache, EngineName, Kernel, Pass, Rw, Workload, WorkloadOptions};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const BLOCK: f64 = (8 << 20) as f64;
/// Loop time per block in nanoseconds, large enough that subtracting it matters.
const LOOP_NS: f64 = 100_000.0;

/// A run of `kernel` whose memory takes `memory_ns` per block, plus the loop's time, on parallel threads.
fn run(kernel: Kernel, threads: u32, memory_ns: f64, has_loop: bool) -> Record {
    let block_ns = memory_ns + if has_loop { LOOP_NS } else { 0.0 };
    let options = WorkloadOptions { kernel: Some(kernel), ..WorkloadOptions::default() };
    let engine = EngineName::Memory;
    let workload = Workload { bs: Bytes(8 << 20), threads, engine, options, ..workload(Rw::Read, Cache::Both, 8, 1) };
    record_at(&disk("fixed=1us,rate=1GB/s"), workload, 0, Pass::Plain, BLOCK * f64::from(threads) / block_ns * 1e9)
}

#[track_caller]
fn found(findings: &[MemoryRow], kernel: Kernel, threads: u32) -> MemoryRow {
    *findings.iter().find(|row| (row.kernel, row.threads) == (kernel, threads)).expect("it was run")
}

#[test]
fn the_loop_is_taken_off_our_own_loops_alone() {
    let null = |threads| run(Kernel::Null, threads, 0.0, true);
    let records = [
        run(Kernel::Read, 1, 1e6, true),
        run(Kernel::CopyStream, 4, 4e6, true),
        run(Kernel::Copy, 1, 2e6, false),
        run(Kernel::FileWrite, 1, 3e6, false),
        null(1),
        null(4),
    ];
    let findings = memory(&records);
    assert!(findings.iter().all(|row| row.kernel != Kernel::Null), "the loop alone moves nothing");
    for (kernel, threads, memory_ns) in
        [(Kernel::Read, 1, 1e6), (Kernel::CopyStream, 4, 4e6), (Kernel::Copy, 1, 2e6), (Kernel::FileWrite, 1, 3e6)]
    {
        let truth = BLOCK * f64::from(threads) / memory_ns * 1e3;
        let row = found(&findings, kernel, threads);
        assert!((row.mbps / truth - 1.0).abs() < 1e-3, "{kernel}: {} instead of {truth}", row.mbps);
        assert_eq!((row.low, row.high), (row.mbps, row.mbps), "one run has no interval");
    }
    let per_kib = loop_ns_per_kib(&records).unwrap();
    assert!((per_kib - LOOP_NS / 8192.0).abs() < 1e-2, "{per_kib}");
}

#[test]
fn without_the_null_kernel_rates_stand_as_they_were() {
    let records = [run(Kernel::Write, 2, 1e6, true)];
    let row = found(&memory(&records), Kernel::Write, 2);
    assert!((row.mbps - records[0].mbps()).abs() < 1e-6);
    assert_eq!(loop_ns_per_kib(&records), None);
}

/// 1,000 trials of five runs with 3% between runs; the binomial margin at 95% is ±1.4%.
#[test]
fn the_interval_holds_the_true_rate_as_often_as_it_says() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let trials = 1000;
    let covered = (0..trials).filter(|_| {
        let truth = 8000.0;
        let mut records = vec![run(Kernel::Null, 1, 0.0, true)];
        let block_ns = |factor: f64| BLOCK / (truth * factor) * 1e3;
        records.extend((0..5).map(|_| run(Kernel::ReadVector, 1, block_ns(1.0 + 0.03 * normal(&mut random)), true)));
        let row = found(&memory(&records), Kernel::ReadVector, 1);
        row.low <= truth && truth <= row.high
    });
    let share = covered.count() as f64 / f64::from(trials);
    assert!((0.93..=0.97).contains(&share), "{share}");
}

#[test]
fn runs_that_moved_nothing_and_other_records_say_nothing() {
    let failed = Record { bytes: 0, ios: 0, ..run(Kernel::FileRead, 1, 1e6, false) };
    let beside_soaker = {
        let mut record = run(Kernel::Read, 1, 1e6, true);
        record.run.pass = Pass::Soaker;
        record
    };
    let of_a_disk = record_at(&disk("fixed=1us,rate=1GB/s"), Workload::default(), 0, Pass::Plain, 1e9);
    assert_eq!(memory(&[failed, beside_soaker, of_a_disk]), []);
    // A null kernel slower than the run itself was measured in another machine state; no rate may become infinite.
    let slow = Record { elapsed_ns: u64::MAX / 1024, ..run(Kernel::Null, 1, 0.0, true) };
    let row = found(&memory(&[run(Kernel::Read, 1, 1e6, true), slow]), Kernel::Read, 1);
    assert!(row.mbps.is_finite() && row.mbps > 0.0);
}
