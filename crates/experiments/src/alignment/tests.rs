//! Checks that `alignment` returns the loss that was built into shifted requests, and claims no more than the runs
//! support.

use crate::built::{disk, normal, record_at};
use crate::study_findings::{StudyFindings, analyse};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Bytes, Cache, Experiment, Pass, Question, Run, Rw, Workload, WorkloadOptions};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Runs of one kind: access pattern, cache setting, KiB, depth, shift, and the share that shifted requests keep.
type Kind = (Rw, Cache, u64, u32, u64, f64);

fn findings(kinds: &[Kind], scatter: f64) -> StudyFindings {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut records: Vec<Record> = Vec::new();
    for (rw, cache, kib, iodepth, shift, keeps) in kinds {
        for (shift, factor) in [(0, 1.0), (*shift, *keeps)] {
            let options = WorkloadOptions { misalign: Bytes(shift), ..WorkloadOptions::default() };
            let workload = Workload { options, ..crate::built::workload(*rw, *cache, *kib, *iodepth) };
            for repeat in 0..3 {
                let rate = 200e6 * factor * (1.0 + scatter * normal(&mut random));
                let record = record_at(&disk(""), workload, repeat, Pass::Plain, rate);
                let run = Run { experiment: Some(Experiment::Alignment), ..record.run };
                records.push(Record { run, ..record });
            }
        }
    }
    let question = Question { experiments: vec![Experiment::Alignment], ..Question::about("d") };
    analyse(&question, &Environment::default(), &records)
}

const LOSING: Kind = (Rw::Randwrite, Cache::Device, 4, 8, 512, 0.4);
const KEEPING: Kind = (Rw::Randread, Cache::Device, 64, 8, 4096, 1.0);

#[test]
fn what_shifted_requests_keep_comes_back_with_its_interval() {
    let findings = findings(&[LOSING, KEEPING, (Rw::Read, Cache::Both, 4, 1, 512, 0.97)], 0.01);
    let rows = &findings.rows.alignment.alignment;
    assert_eq!(rows.len(), 6);
    let of = |bs: u64, shift: u64, cache: Cache| {
        rows.iter().find(|row| (row.bs_bytes, row.shift_bytes, row.cache) == (bs, shift, cache)).unwrap()
    };
    let loses = of(4096, 512, Cache::Device).of_aligned.unwrap();
    assert!(loses.low <= 0.4 && 0.4 <= loses.high && loses.high / loses.low < 1.1, "{loses:?}");
    assert_eq!(of(4096, 0, Cache::Device).of_aligned, None, "aligned ones are their own measure");
    let row = of(65536, 4096, Cache::Device);
    assert!((row.iops * 65536.0 / 1e6 / row.mbps - 1.0).abs() < 0.01, "{row:?}");
    let answer = &findings.experiments[0].answer;
    assert!(answer.starts_with("Random direct writes of 4 KiB, 8 deep, keep 40%"), "{answer}");
    assert!(
        answer.contains("when they begin 512 B later")
            && answer.contains("2 of 3 kinds of shifted requests come within 10%"),
        "{answer}"
    );
}

#[test]
fn what_runs_do_not_carry_is_not_said() {
    let answer = |kinds: &[Kind], scatter| findings(kinds, scatter).experiments[0].answer.clone();
    let unsure = answer(&[(Rw::Randread, Cache::Device, 4, 8, 512, 0.9), KEEPING], 0.3);
    assert!(
        unsure.contains("hese runs cannot tell whether any of 2 kinds of shifted requests loses")
            && !unsure.contains("keep"),
        "{unsure}"
    );
    let alike = answer(&[KEEPING], 0.01);
    assert_eq!(alike, "1 of 1 kinds of shifted requests come within 10% of aligned ones.");
}

#[test]
fn kinds_that_shifting_makes_faster_are_not_among_those_that_runs_cannot_tell() {
    let reported = findings(&[(Rw::Randwrite, Cache::Device, 4, 8, 512, 1.5), KEEPING], 0.01);
    let answer = &reported.experiments[0].answer;
    assert!(
        answer.starts_with("1 of 2 kinds of shifted requests are faster") && !answer.contains("cannot tell"),
        "{answer}"
    );
}

#[test]
fn of_several_shifts_the_worst_is_named_once() {
    let kinds =
        [512u64, 1024, 2048].map(|shift| (Rw::Randwrite, Cache::Device, 4, 8, shift, 1.0 - shift as f64 / 4096.0));
    let findings = findings(&kinds, 0.01);
    let answer = &findings.experiments[0].answer;
    assert_eq!(answer.matches("keep").count(), 1, "{answer}");
    assert!(answer.contains("keep 50%") && answer.contains("begin 2 KiB later"), "{answer}");
}
