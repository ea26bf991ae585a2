//! Tests that every injected fault of a simulated disk is counted in the record, and that verification finds bad data.

use std::sync::atomic::AtomicBool;

use halfpower_engine::{FaultKind, FaultLog};
use halfpower_measure::{SimulatedTarget, TargetBackend, measure};
use halfpower_record::Record;
use halfpower_spec::{Bytes, Nanos, Pass, Run, Rw, SimulatedDisk, Workload, WorkloadOptions};

fn measured(constants: &str, workload: Workload) -> (Record, FaultLog) {
    let disk = SimulatedDisk::from_constants(&format!("size=1MiB,disks=4,{constants}")).unwrap();
    let mut backend = SimulatedTarget::new(disk);
    let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(200_000_000), seed: 3 };
    let record = measure(&mut backend, &run, &AtomicBool::new(false)).unwrap();
    (record, backend.faults())
}

fn verified(rw: Rw, iodepth: u32) -> Workload {
    let options = WorkloadOptions { verify: true, ..WorkloadOptions::default() };
    Workload { rw, bs: Bytes(4096), iodepth, options, ..Workload::default() }
}

fn wrong_reads(record: &Record) -> u64 {
    let kinds = ["corrupt", "torn", "lost", "misdirected"];
    kinds.iter().filter_map(|kind| record.errors.get(*kind)).sum()
}

#[test]
fn a_whole_disk_is_verified_and_nothing_is_wrong() {
    for rw in Rw::ALL.iter().filter(|rw| !rw.trims()) {
        let (record, faults) = measured("", verified(*rw, 8));
        assert!(record.ios > 1000 && record.errors.is_empty(), "{rw}: {:?}", record.errors);
        assert!(faults.counts().is_empty());
    }
}

#[test]
fn every_error_and_every_short_transfer_is_counted() {
    for rw in Rw::ALL.iter().filter(|rw| !rw.trims()) {
        for readers in [0, 2] {
            let options = WorkloadOptions { random_readers: readers, ..WorkloadOptions::default() };
            let workload = Workload { options, ..verified(*rw, 8) };
            let (record, faults) = measured("errors=5%,short=5%", workload);
            let counts = faults.counts();
            let errors = counts[&FaultKind::Errors].injected;
            let short = counts[&FaultKind::Short].injected;
            assert!(errors > 50 && short > 50, "{rw}: {counts:?}");
            let nothing = record.errors["EOF"];
            assert!(nothing > 10, "some are cut to nothing: {nothing}");
            let seen = (record.errors["EIO"], record.short_transfers + nothing);
            assert_eq!(seen, (errors, short), "{rw}, {readers} readers");
            assert!(record.ios + record.error_count() <= record.cpu.ios);
        }
    }
}

#[test]
fn a_stall_is_seen_as_latency_and_costs_time() {
    let workload = Workload { options: WorkloadOptions::default(), ..verified(Rw::Randread, 2) };
    let (record, faults) = measured("stall=1%:5ms", workload);
    assert!(faults.counts()[&FaultKind::Stall].injected > 5);
    assert!((5_000_000..6_000_000).contains(&record.latency.max_ns()), "{}", record.latency.max_ns());
    let (without, _) = measured("", workload);
    assert!(record.ios * 10 < without.ios * 9, "{} of {}", record.ios, without.ios);
}

#[test]
fn bad_data_is_found_wherever_a_read_meets_it() {
    for (constants, kind, rw) in [
        ("flip=2%", FaultKind::Flip, Rw::Randread),
        ("torn=2%", FaultKind::Torn, Rw::Randwrite),
        ("lost=2%", FaultKind::Lost, Rw::Write),
        ("lost=2%", FaultKind::Lost, Rw::Randmixed),
        ("misdirect=2%", FaultKind::Misdirect, Rw::Randmixed),
        ("misdirect=2%", FaultKind::Misdirect, Rw::Randwrite),
    ] {
        // One request at a time: no write is in flight while its block is read, so every mismatch is a fault.
        let (record, faults) = measured(constants, verified(rw, 1));
        let count = faults.counts()[&kind];
        assert!(count.met > 0 && count.injected >= count.met, "{constants}, {rw}: {count:?}");
        assert_eq!(count.found, count.met, "{constants}, {rw}");
        assert_eq!((wrong_reads(&record), faults.false_alarms()), (faults.wrong_reads(), 0), "{constants}, {rw}");
    }
}

#[test]
fn side_by_side_there_is_no_false_alarm() {
    for seed in 0..20 {
        let constants = format!("seed={seed},errors=1%,short=1%,stall=1%:1ms,flip=1%,torn=1%,lost=1%,misdirect=1%");
        let (record, faults) = measured(&constants, verified(Rw::Randmixed, 16));
        assert_eq!((wrong_reads(&record), faults.false_alarms()), (faults.wrong_reads(), 0), "{constants}");
    }
}

#[test]
fn the_same_seed_gives_the_same_record_whatever_ran_before() {
    let constants = "noise=5%,errors=1%,short=1%,stall=1%:1ms,flip=1%,torn=1%,lost=1%,misdirect=1%";
    let disk = SimulatedDisk::from_constants(constants).unwrap();
    let run = |seed| Run {
        experiment: None,
        workload: verified(Rw::Randmixed, 4),
        repeat: 0,
        pass: Pass::Plain,
        runtime: Nanos(20_000_000),
        seed,
    };
    let mut backend = SimulatedTarget::new(disk.clone());
    let never = AtomicBool::new(false);
    let first = measure(&mut backend, &run(1), &never).unwrap();
    let other = measure(&mut backend, &run(2), &never).unwrap();
    let again = measure(&mut SimulatedTarget::new(disk), &run(2), &never).unwrap();
    assert_eq!(other, again);
    assert_ne!(first.errors, other.errors);
}

#[test]
fn what_cannot_be_verified_is_refused_in_a_sentence() {
    let refused = |constants: &str, workload: &Workload| {
        let disk = SimulatedDisk::from_constants(constants).unwrap();
        SimulatedTarget::new(disk).admits(workload).unwrap_err().to_string()
    };
    assert!(refused("size=1TiB", &verified(Rw::Write, 1)).contains("smaller --size"));
    assert!(refused("", &Workload { bs: Bytes(1000), ..verified(Rw::Write, 1) }).contains("512"));
}
