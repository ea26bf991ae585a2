//! Checks that `credit` returns the limits of simulated disks, whatever the window length.

use halfpower_spec::{Direction, Experiment, Nanos, SimulatedDisk};

use super::answer::{CreditAnswer, LimitCounts, LimitFinding};
use crate::built::{disk, run, workload};
use crate::study_findings::analyse;
use crate::table::ExperimentAnswer;
use halfpower_record::{Environment, Record};
use halfpower_spec::{Cache, Question, Rw};

/// The finding from runs of this length on a disk that rested before each run.
fn found(constants: &str, seconds: f64) -> LimitFinding {
    found_in(&[4, 256].map(|kib| read(constants, kib, seconds)))
}

/// A run of this length on a disk that has rested.
fn read(constants: &str, kib: u64, seconds: f64) -> Record {
    let disk: SimulatedDisk = disk(constants);
    let workload = workload(Rw::Randread, Cache::Device, kib, 32);
    let mut record = run(&disk, workload, (seconds * 1e9) as u64, 1, &|_| 1.0);
    record.run.experiment = Some(Experiment::Credit);
    record.run.runtime = Nanos((seconds * 1e9) as u64);
    record
}

fn found_in(records: &[Record]) -> LimitFinding {
    let question =
        Question { experiments: vec![Experiment::Credit], directions: vec![Direction::Read], ..Question::about("d") };
    let findings = analyse(&question, &Environment::default(), records);
    println!("{}", findings.experiments[0].answer);
    let Some(ExperimentAnswer::Credit(CreditAnswer { limits })) = &findings.experiments[0].found else { panic!() };
    limits[0]
}

#[track_caller]
fn near(found: f64, truth: f64) {
    assert!((found / truth - 1.0).abs() < 0.03, "{found} instead of {truth}");
}

#[test]
fn a_credit_in_bytes_and_what_it_sustains_are_found() {
    for seconds in [2.0, 4.0, 10.0] {
        let limit = found("fixed=10us,rate=1GB/s,disks=8,shared=50MB/s,credit=200MB", seconds);
        assert_eq!(limit.counts, LimitCounts::Bytes, "{limit:?}");
        near(limit.sustained_mbps, 50.0);
        near(limit.credit.unwrap().bytes, 200e6);
    }
}

#[test]
fn a_credit_in_requests_and_limits_on_both_are_found() {
    let limit = found("fixed=10us,rate=4GB/s,disks=8,iops=1000,credit_ios=3000", 4.0);
    assert_eq!(limit.counts, LimitCounts::Requests, "{limit:?}");
    near(limit.sustained_iops, 1000.0);
    near(limit.credit.unwrap().ios, 3000.0);
    let limit = found("fixed=10us,rate=4GB/s,disks=8,iops=1000,shared=40MB/s,slice=100ms", 4.0);
    assert_eq!(limit.counts, LimitCounts::Both, "{limit:?}");
    near(limit.sustained_iops, 1000.0);
    near(limit.sustained_mbps, 40.0);
}

#[test]
fn a_credit_that_ends_late_in_a_run_is_told_from_what_goes_on_in_the_next() {
    let spent = "fixed=10us,rate=1GB/s,disks=8,shared=50MB/s";
    for seconds in [0.22, 0.25, 0.3] {
        let first = read(&format!("{spent},credit=200MB"), 256, seconds);
        let limit = found_in(&[first, read(spent, 4, 4.0), read(spent, 256, 4.0)]);
        near(limit.sustained_mbps, 50.0);
        let credit = limit.credit.unwrap();
        assert!((credit.bytes / 200e6 - 1.0).abs() < 0.1, "{seconds}: {credit:?}");
    }
}

#[test]
fn slices_are_no_credit() {
    // The built records have a hundred steps; for 5 s, the steps would be too long to separate slices of 100 ms.
    for seconds in [0.75, 3.0, 4.0] {
        let limit = found("fixed=10us,rate=1GB/s,disks=8,shared=37MB/s,slice=100ms", seconds);
        assert_eq!((limit.counts, limit.credit), (LimitCounts::Bytes, None), "{limit:?}");
        near(limit.sustained_mbps, 37.0);
        near(limit.slices.unwrap().bytes, 3.7e6);
    }
}

#[test]
fn without_a_limit_none_is_claimed() {
    let limit = found("fixed=80us,rate=500MB/s", 3.0);
    assert_eq!((limit.counts, limit.credit, limit.slices), (LimitCounts::Nothing, None, None), "{limit:?}");
}
