//! Checks that `durability` returns what its records were made with, and names no number that chance could explain.

use super::rows::DurabilityRow;
use crate::built::{disk, record_at};
use crate::study_findings::{StudyFindings, analyse};
use halfpower_record::{Environment, Latency, Record};
use halfpower_spec::{Bytes, Cache, Experiment, Pass, Question, Rw, Switch, Workload, WorkloadOptions};

const PLAIN_MBPS: f64 = 100.0;
const FLUSH_NS: u64 = 1_500_000;

/// Three runs of sequential writes at this rate, with a relative deviation of `chance`.
fn runs(cache: Cache, iodepth: u32, options: WorkloadOptions, mbps: f64, chance: f64) -> Vec<Record> {
    let workload = Workload { rw: Rw::Write, cache, bs: Bytes(4096), iodepth, options, ..Workload::default() };
    let run = |repeat: u32| {
        let rate = mbps * 1e6 * (1.0 + chance * (f64::from(repeat) - 1.0));
        let mut record = record_at(&disk("fixed=80us,rate=500MB/s"), workload, repeat, Pass::Plain, rate);
        record.run.experiment = Some(Experiment::Durability);
        record.syncs = Latency::default();
        (0..options.fdatasync.min(1)).for_each(|_| record.syncs.add(FLUSH_NS));
        record
    };
    (0..3).map(run).collect()
}

fn usual() -> WorkloadOptions {
    WorkloadOptions::default()
}

/// Runs with a flush after every N writes, at these shares of the plain rate.
fn flushed(shares: [f64; 5], chance: f64) -> Vec<Record> {
    let each = [1, 4, 16, 64, 256].into_iter().zip(shares);
    let runs_of = |(fdatasync, share): (u32, f64)| {
        runs(Cache::Device, 1, WorkloadOptions { fdatasync, ..usual() }, share * PLAIN_MBPS, chance)
    };
    each.flat_map(runs_of).collect()
}

fn findings(records: &[Vec<Record>]) -> StudyFindings {
    let question = Question { experiments: vec![Experiment::Durability], ..Question::about("d") };
    analyse(&question, &Environment::default(), &records.concat())
}

fn answer(records: &[Vec<Record>]) -> String {
    findings(records).experiments[0].answer.clone()
}

fn near(found: f64, truth: f64) -> bool {
    (found / truth - 1.0).abs() < 0.01
}

#[test]
fn each_promise_is_held_against_the_same_writes_without_it() {
    let write_cache = |write_cache| WorkloadOptions { write_cache: Some(write_cache), ..usual() };
    let reported = findings(&[
        runs(Cache::Both, 1, usual(), 4.0 * PLAIN_MBPS, 0.02),
        runs(Cache::Os, 1, usual(), 8.0, 0.02),
        runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.02),
        runs(Cache::None, 1, usual(), 5.0, 0.02),
        runs(Cache::None, 16, usual(), 40.0, 0.02),
        runs(Cache::Device, 1, write_cache(Switch::On), PLAIN_MBPS, 0.02),
        runs(Cache::Device, 1, write_cache(Switch::Off), 10.0, 0.02),
        flushed([0.05, 0.2, 0.45, 0.7, 0.9], 0.02),
    ]);
    let share = |wanted: &dyn Fn(&DurabilityRow) -> bool| {
        reported
            .rows
            .durability
            .durability
            .iter()
            .find(|row| wanted(row))
            .and_then(|row| row.of_plain)
            .map(|share| share.value)
    };
    let one = |row: &DurabilityRow| row.iodepth == 1;
    assert!(near(share(&|row| row.cache == Cache::None && one(row)).unwrap(), 0.05));
    assert!(near(share(&|row| row.cache == Cache::Os).unwrap(), 0.02));
    assert!(near(share(&|row| row.fdatasync == 16).unwrap(), 0.45));
    assert!(near(share(&|row| row.write_cache == Some(Switch::Off)).unwrap(), 0.1));
    assert_eq!(share(&|row| row.cache == Cache::Both), None, "a plain write is held against nothing");
    let answer = &reported.experiments[0].answer;
    assert!(answer.contains("durable one by one are, direct, 20 times"), "{answer}");
    assert!(answer.contains("16 at once are 8.00 times"), "{answer}");
    assert!(answer.contains("at least half of the plain rate from 64 a flush on: 70%"), "{answer}");
    assert!(answer.contains("a flush of a single write takes 1.5 ms in the median"), "{answer}");
    assert!(answer.contains("Without the device's write cache, direct writes of 4 KiB get 10%"), "{answer}");
}

#[test]
fn half_of_the_rate_is_reached_where_the_interval_says_so() {
    let plain = || runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.02);
    // A share of 60% with an interval from 40% to 90% may be less than half.
    let uncertain = answer(&[plain(), flushed([0.05, 0.2, 0.45, 0.6, 0.95], 0.15)]);
    assert!(uncertain.contains("from 256 a flush on"), "{uncertain}");
    let never = answer(&[plain(), flushed([0.05, 0.1, 0.2, 0.3, 0.4], 0.02)]);
    assert!(never.contains("do not surely get half of the plain rate even with 256 a flush: 40%"), "{never}");
}

#[test]
fn half_of_the_rate_is_reached_from_a_number_on_and_not_by_chance_below_it() {
    let plain = runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.02);
    let dips = answer(&[plain.clone(), flushed([0.05, 0.6, 0.3, 0.7, 0.9], 0.02)]);
    assert!(dips.contains("at least half of the plain rate from 64 a flush on: 70%"), "{dips}");
    let mut once = [plain, flushed([0.05, 0.6, 0.7, 0.8, 0.9], 0.02)].concat();
    once.retain(|record| record.run.repeat == 0);
    let once = answer(&[once]);
    assert!(once.contains("direct ones get 90% (by one run each) of the plain rate with 256 a flush"), "{once}");
}

/// Others use the disk during the whole second round, and it is free again in the third.
#[test]
fn a_slow_round_hides_no_difference() {
    let mut runs = [
        runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.02),
        runs(Cache::None, 1, usual(), 50.0, 0.02),
        flushed([0.05, 0.2, 0.45, 0.7, 0.9], 0.02),
    ];
    let slow = |record: &&mut Record| record.run.repeat == 1;
    runs.iter_mut().flatten().filter(slow).for_each(|record| record.elapsed_ns *= 3);
    let answer = answer(&runs);
    assert!(answer.contains("durable one by one are, direct, 2.00 times"), "{answer}");
    assert!(answer.contains("at least half of the plain rate from 64 a flush on: 70%"), "{answer}");
}

#[test]
fn single_runs_show_their_ratio_and_no_judgement() {
    let mut once = [
        runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.0),
        runs(Cache::None, 1, usual(), 5.0, 0.0),
        runs(Cache::None, 16, usual(), 40.0, 0.0),
    ]
    .concat();
    once.retain(|record| record.run.repeat == 0);
    let reported = answer(&[once]);
    assert!(reported.contains("direct, 20 times (by one run each) slower"), "{reported}");
    assert!(reported.contains("16 at once are 8.00 times (by one run each) as fast"), "{reported}");
}

/// The smallest blocks have no durable cell, so the answer does not mention them.
#[test]
fn blocks_of_one_size_are_held_against_each_other_alone() {
    let large = |cache, iodepth, mbps| {
        let mut records = runs(cache, iodepth, usual(), mbps, 0.02);
        records.iter_mut().for_each(|record| record.run.workload.bs = Bytes(65536));
        records
    };
    let reported = answer(&[
        runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.02),
        runs(Cache::None, 16, usual(), 40.0, 0.02),
        large(Cache::Device, 1, PLAIN_MBPS),
        large(Cache::None, 1, 50.0),
    ]);
    assert!(!reported.contains("4 KiB") && !reported.contains("at once"), "{reported}");
}

#[test]
fn what_chance_could_have_made_is_not_called_slower() {
    let reported = answer(&[
        runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.4),
        runs(Cache::None, 1, usual(), 0.7 * PLAIN_MBPS, 0.4),
        runs(Cache::None, 16, usual(), PLAIN_MBPS, 0.4),
    ]);
    assert!(
        reported.contains("no slower that these runs could tell")
            && reported.contains("bring nothing that these runs show"),
        "{reported}"
    );
    let alike =
        answer(&[runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.001), runs(Cache::None, 1, usual(), PLAIN_MBPS, 0.001)]);
    assert!(alike.contains("as fast as plain ones"), "{alike}");
}
