//! Checks that `scaling` finds the member from which a shared path is the limit, and only if the runs support it.

use super::rows::LimitedBy::{self, Device, Shared};
use crate::built::{disk, normal, record_at};
use crate::study_findings::{StudyFindings, analyse};
use halfpower_analyse::Warning;
use halfpower_record::{Environment, Level, Record};
use halfpower_spec::{Cache, Experiment, Pass, Question, Rate, Run, Rw, VolumeLayout, Workload, WorkloadOptions};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Sequential reads by 1, 2, 3, ... members driven separately, at these rates.
fn records(rates: &[f64], repeats: u32, scatter: f64) -> Vec<Record> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut records = Vec::new();
    for (n, mbps) in (1..).zip(rates) {
        let options = WorkloadOptions {
            members: n,
            volume_layout: (n > 1).then_some(VolumeLayout::Each),
            ..WorkloadOptions::default()
        };
        let workload = Workload { options, ..crate::built::workload(Rw::Read, Cache::Device, 64, 8) };
        for repeat in 0..repeats {
            let rate = mbps * 1e6 * (1.0 + scatter * normal(&mut random));
            let record = record_at(&disk(""), workload, repeat, Pass::Plain, rate);
            let run = Run { experiment: Some(Experiment::Scaling), ..record.run };
            records.push(Record { run, ..record });
        }
    }
    records
}

fn findings(rates: &[f64], repeats: u32, scatter: f64) -> StudyFindings {
    let question = Question { experiments: vec![Experiment::Scaling], ..Question::about("d") };
    analyse(&question, &Environment::default(), &records(rates, repeats, scatter))
}

fn limited_by(findings: &StudyFindings) -> Vec<LimitedBy> {
    findings.rows.scaling.scaling.iter().map(|row| row.limited_by).collect()
}

#[test]
fn the_member_that_a_shared_path_stops_is_named_with_its_own_rate() {
    let found = findings(&[25.0, 50.0, 60.0, 66.0], 3, 0.0);
    assert_eq!(limited_by(&found), [Device, Device, Shared, Shared]);
    let answer = &found.experiments[0].answer;
    let expected = "2 members still scale (50.0 MB/s), and a shared path stops number 3 at 60.0 MB/s: it brings 40% of \
                    what one gives, and all 4 reach 66.0 MB/s.";
    assert!(answer.contains(expected), "{answer}");
}

#[test]
fn what_chance_or_a_single_run_could_have_made_is_no_shared_path() {
    for (repeats, scatter) in [(3, 0.15), (1, 0.0)] {
        let found = findings(&[25.0, 50.0, 75.0, 90.0], repeats, scatter);
        assert_eq!(limited_by(&found), [Device; 4], "{repeats} runs");
        let answer = &found.experiments[0].answer;
        assert!(answer.contains("cannot tell whether 4 members scale"), "{answer}");
    }
}

#[test]
fn a_member_faster_than_its_own_limit_is_marked_and_bears_no_answer() {
    let limits = vec![Rate(31e6); 3];
    let level = Level { name: "cgroup limit".into(), pap: Some(Rate(93e6)), member_paps: limits, ..Level::default() };
    let environment = Environment { levels: vec![level], ..Environment::default() };
    let question = Question { experiments: vec![Experiment::Scaling], ..Question::about("d") };
    let found = analyse(&question, &environment, &records(&[36.4, 62.0, 93.0], 3, 0.0));
    assert!(found.rows.scaling.scaling.is_empty(), "nothing is said of what one member gives: {found:#?}");
    let marked = found.warnings.iter().find_map(|warning| match warning {
        Warning::ExperimentAboveKnown { experiment, cells, of_cells, mbps, known_mbps, .. } => {
            Some((*experiment, *cells, *of_cells, (mbps * 10.0).round(), known_mbps.round()))
        }
        _ => None,
    });
    assert_eq!(marked, Some((Experiment::Scaling, 1, 3, 364.0, 31.0)));
    let note = &found.experiments[0].notes[0];
    assert!(note.starts_with("1 of 3 cells is above what the path is known to let through"), "{note}");
    let within = analyse(&question, &environment, &records(&[31.2, 62.0, 93.0], 3, 0.0));
    assert_eq!((within.rows.scaling.scaling.len(), within.experiments[0].notes.len()), (3, 0));
}

#[test]
fn runs_that_never_vary_carry_any_difference() {
    let found = findings(&[25.0, 50.0, 70.0], 3, 0.0);
    assert_eq!(limited_by(&found), [Device, Device, Shared]);
}
