//! Checks that the report shows the phases of records with known anatomies.

use super::rows::AnatomyRow;
use crate::study_findings::{StudyFindings, analyse};
use halfpower_record::{Anatomy, Capabilities, Environment, Latency, Phase, PhaseTime, Record};
use halfpower_spec::{Experiment, Pass, Question, Rw, Workload};

/// Mean nanoseconds in each phase, for a single request; the latency has 2,000 more.
const ALONE: [f64; 7] = [2000.0, 1000.0, 1000.0, 1000.0, 30_000.0, 1000.0, 2000.0];

fn question() -> Question {
    Question { experiments: vec![Experiment::Anatomy], ..Question::about("d") }
}

fn anatomy(means: [f64; 7], scale: f64) -> Anatomy {
    let times = Phase::ALL.into_iter().zip(means);
    let phases = times.map(|(phase, mean_ns)| PhaseTime { phase, mean_ns: mean_ns * scale, requests: 1000 });
    Anatomy { requests: 1000, phases: phases.collect(), block_requests: 1000, ..Anatomy::default() }
}

fn record(workload: Workload, pass: Pass, repeat: u32, anatomy: Option<Anatomy>) -> Record {
    let mut latency = Latency::default();
    let total_ns = anatomy.as_ref().map_or(38_000.0, Anatomy::total_ns);
    (0..1000).for_each(|_| latency.add(total_ns as u64 + 2000));
    let disk = crate::built::disk("fixed=38us,rate=2GB/s");
    let mut record = crate::built::record(&disk, workload, repeat, pass, 1.0);
    record.run.experiment = Some(Experiment::Anatomy);
    Record { ios: 1000, latency, anatomy, ..record }
}

fn workload(bs_kib: u64, iodepth: u32, members: u32) -> Workload {
    let mut workload = crate::built::workload(Rw::Randread, halfpower_spec::Cache::Device, bs_kib, iodepth);
    workload.options.members = members;
    workload
}

/// A study of these workloads, three runs each; `of` gives the anatomy of a run.
fn found(workloads: &[Workload], of: impl Fn(&Workload, u32) -> Option<Anatomy>) -> StudyFindings {
    let mut records = Vec::new();
    for workload in workloads {
        for repeat in 0..3 {
            records.push(record(*workload, Pass::Plain, repeat, None));
            records.push(record(*workload, Pass::Traced, repeat, of(workload, repeat)));
        }
    }
    let capabilities = Capabilities { members: 2, ..Capabilities::default() };
    analyse(&question(), &Environment { capabilities, ..Environment::default() }, &records)
}

#[track_caller]
fn row(findings: &StudyFindings, phase: &str, iodepth: u32, n: u32) -> AnatomyRow {
    let rows = &findings.rows.anatomy.anatomy;
    *rows.iter().find(|row| (row.phase, row.iodepth, row.n) == (phase, iodepth, n)).expect("there is such a row")
}

#[test]
fn known_phases_come_back_with_their_shares_and_intervals() {
    let scales = [0.99, 1.0, 1.01];
    let findings = found(&[workload(4, 1, 1), workload(4, 16, 0)], |workload, repeat| {
        let scale = scales[repeat as usize] * f64::from(workload.iodepth);
        Some(anatomy(ALONE, scale))
    });
    assert_eq!(findings.rows.anatomy.anatomy.len(), 2 * 8);
    for (phase, mean_ns) in Phase::ALL.into_iter().zip(ALONE) {
        let found = row(&findings, phase.word(), 1, 1);
        assert!((found.ns / mean_ns - 1.0).abs() < 1e-6, "{found:?}");
        assert!(found.low < found.ns && found.ns < found.high, "{found:?}");
        assert!((found.share - mean_ns / 40_000.0).abs() < 1e-3, "{found:?}");
    }
    assert!((row(&findings, "device", 16, 2).ns / 1e3 - 480.0).abs() < 1e-6, "0 members are all of them");
    let outside = row(&findings, "outside", 1, 1);
    assert!((outside.ns / 1e3 - 2.0).abs() < 0.1, "{outside:?}");
    for columns in findings.rows.anatomy.anatomy.chunks(8) {
        assert!((columns.iter().map(|row| row.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }
    let reported = &findings.experiments[0];
    assert!(
        reported.answer.starts_with("One at a time, a request of 4 KiB takes 40 µs (75% in the device"),
        "{reported:?}"
    );
    assert_eq!(reported.pictures[0].lines.len(), 8);
}

#[test]
fn cuts_and_a_full_driver_are_told() {
    let findings = found(&[workload(1024, 16, 0)], |_, _| {
        Some(Anatomy { splits: 400, requeues: 300, block_requests: 1400, ..anatomy(ALONE, 1.0) })
    });
    let answer = &findings.experiments[0].answer;
    assert!(answer.contains("less than 1 MiB at once: 40% are cut"), "{answer}");
    assert!(answer.contains("the driver is full"), "{answer}");
}

#[test]
fn a_phase_that_was_not_passed_is_no_row() {
    let without_ring = |_: &Workload, _| {
        let mut anatomy = anatomy(ALONE, 1.0);
        anatomy.phases.retain(|time| ![Phase::Submit, Phase::Completion].contains(&time.phase));
        Some(anatomy)
    };
    let findings = found(&[workload(4, 1, 0)], without_ring);
    let phases: Vec<&str> = findings.rows.anatomy.anatomy.iter().map(|row| row.phase).collect();
    assert_eq!(phases, ["queue", "plug", "scheduler", "device", "interrupt", "outside"]);
}

#[test]
fn a_trace_that_could_not_be_read_is_said() {
    let findings = found(&[workload(4, 1, 0)], |_, _| {
        Some(Anatomy { trouble: Some("the buffer of processor 1 cannot be read".into()), ..Anatomy::default() })
    });
    assert!(findings.rows.anatomy.anatomy.is_empty());
    assert!(findings.experiments[0].answer.contains("processor 1"), "{}", findings.experiments[0].answer);
    let nothing = found(&[workload(4, 1, 0)], |_, _| None);
    assert!(nothing.experiments[0].answer.contains("no traced run"), "{}", nothing.experiments[0].answer);
}
