//! Checks that `processors` returns what its records were made with, and claims no difference that the runs do not
//! support.

use crate::built::{disk, record_at};
use crate::study_findings::{StudyFindings, analyse};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Affinity, Bytes, Cache, Experiment, Pass, Question, Rw, Workload, WorkloadOptions};

const ALL_MBPS: f64 = 400.0;
const CHARGED_NS: f64 = 4_000.0;

/// Three runs on one set of processors: rate and charge are shares of those on all processors, with a relative
/// deviation of `chance`.
fn runs(affinity: Affinity, threads: u32, rate: f64, charge: f64, chance: f64) -> Vec<Record> {
    let options = WorkloadOptions { affinity, ..WorkloadOptions::default() };
    let (rw, cache, bs) = (Rw::Randread, Cache::Device, Bytes(4096));
    let workload = Workload { rw, cache, bs, iodepth: 32 / threads, threads, options, ..Workload::default() };
    let run = |repeat: u32| {
        // A deviation that differs between affinities, so that a round has none in common.
        let turn = (repeat + threads + affinity as u32) % 3;
        let off = 1.0 + chance * (f64::from(turn) - 1.0);
        let rate = ALL_MBPS * 1e6 * rate * off;
        let mut record = record_at(&disk("fixed=80us,rate=500MB/s"), workload, repeat, Pass::Plain, rate);
        record.run.experiment = Some(Experiment::Processors);
        record.cpu.user_ns = 0;
        record.cpu.system_ns = (record.ios as f64 * CHARGED_NS * charge * off) as u64;
        record
    };
    (0..3).map(run).collect()
}

fn findings(records: &[Vec<Record>]) -> StudyFindings {
    let question = Question { experiments: vec![Experiment::Processors], ..Question::about("d") };
    analyse(&question, &Environment::default(), &records.concat())
}

#[test]
fn rate_and_charge_of_each_seat_come_back() {
    let reported = findings(&[
        runs(Affinity::All, 1, 1.0, 1.0, 0.01),
        runs(Affinity::One, 1, 1.0, 1.0, 0.01),
        runs(Affinity::Interrupt, 1, 0.8, 0.75, 0.01),
        runs(Affinity::Other, 1, 1.0, 1.0, 0.01),
        runs(Affinity::All, 2, 1.5, 1.0, 0.01),
        runs(Affinity::One, 2, 0.75, 0.9, 0.01),
    ]);
    let row = |affinity, threads| {
        let fits = |row: &&super::rows::ProcessorRow| (row.affinity, row.threads) == (affinity, threads);
        *reported.rows.processors.processors.iter().find(fits).expect("no such row")
    };
    assert!((row(Affinity::Interrupt, 1).mbps / (0.8 * ALL_MBPS) - 1.0).abs() < 0.001);
    assert!((row(Affinity::One, 2).charged_us / 3.6 - 1.0).abs() < 0.001);
    let answer = &reported.experiments[0].answer;
    assert!(
        answer.contains("random direct reads of 4 KiB by one thread keep their rate (97,656 IOPS) at the same charge"),
        "{answer}"
    );
    assert!(answer.contains("by 2 threads get 50% (49% to 51%) of the 146,484 IOPS on all"), "{answer}");
    assert!(answer.contains("IOPS on all at 90% (88% to 92%) of the charge"), "{answer}");
    let interrupt = answer.split(". ").find(|sentence| sentence.starts_with("Submitted on")).expect("no such sentence");
    assert!(interrupt.contains("get 80%") && interrupt.contains("IOPS on another at 75%"), "{interrupt}");
}

#[test]
fn what_is_alike_is_not_given_as_a_share() {
    let reported = findings(&[runs(Affinity::All, 1, 1.0, 1.0, 0.0), runs(Affinity::One, 1, 0.998, 1.002, 0.0)]);
    let answer = &reported.experiments[0].answer;
    assert!(answer.contains("keep their rate") && answer.contains("at the same charge"), "{answer}");
}

#[test]
fn what_the_runs_do_not_carry_is_not_claimed() {
    let reported = findings(&[runs(Affinity::All, 1, 1.0, 1.0, 0.3), runs(Affinity::One, 1, 0.8, 0.9, 0.3)]);
    let answer = &reported.experiments[0].answer;
    assert!(answer.contains("show no sure difference"), "{answer}");
    assert!(!answer.contains("charge"), "{answer}");
    assert!(!answer.contains("Submitted on"), "{answer}");
}
