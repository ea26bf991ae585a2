//! Checks the report section of `anatomy` against a golden file, from records with known phases.

use std::process::Command;

use crate::page::golden;
use halfpower_record::{Anatomy, Cpu, Environment, Latency, Phase, PhaseTime, Record, StudyFile};
use halfpower_spec::{Bytes, EngineName, Experiment, Nanos, Pass, Question, Run, Rw, Workload};
use serde_json::Value;
use tempfile::TempDir;

/// A traced run of random reads with these mean nanoseconds in its phases, and 2,000 more of latency.
fn traced(bs: u64, iodepth: u32, repeat: u32, pass: Pass, means: [f64; 7]) -> Record {
    let workload = Workload { rw: Rw::Randread, bs: Bytes(bs), iodepth, ..Workload::default() };
    let phases = Phase::ALL.into_iter().zip(means);
    let phases = phases.map(|(phase, mean_ns)| PhaseTime { phase, mean_ns, requests: 1000 }).collect();
    let anatomy = Anatomy { requests: 1000, block_requests: 1000, phases, ..Anatomy::default() };
    let latency_ns = anatomy.total_ns() as u64 + 2000;
    let mut latency = Latency::default();
    (0..1000).for_each(|_| latency.add(latency_ns));
    let elapsed_ns = 1000 * latency_ns / u64::from(iodepth);
    let run =
        Run { experiment: Some(Experiment::Anatomy), workload, repeat, pass, runtime: Nanos(elapsed_ns), seed: 1 };
    Record {
        span_bytes: 1 << 30,
        spent_ns: elapsed_ns,
        elapsed_ns,
        bytes: 1000 * bs,
        ios: 1000,
        read_ios: 1000,
        latency,
        achieved_depth: f64::from(iodepth),
        cpu: Cpu { span_ns: elapsed_ns, ios: 1000, ..Cpu::default() },
        harness_ns_per_io: 100.0,
        anatomy: (pass == Pass::Traced).then_some(anatomy),
        ..Record::empty(run, EngineName::IoUring)
    }
}

#[test]
fn the_phases_of_a_request_fill_its_section() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("study.hp");
    let question = Question { experiments: vec![Experiment::Anatomy], ..Question::about("/data") };
    let mut file = StudyFile::create(&path, &question, &Environment::default()).unwrap();
    let small = [2e3, 1e3, 1e3, 1e3, 3e4, 1e3, 2e3];
    let large = [4e3, 2e3, 1e3, 1e3, 6e5, 4e3, 1e4];
    for (bs, iodepth, means) in [(4096, 1, small), (1 << 20, 1, large), (4096, 16, small.map(|ns| ns * 5.0))] {
        for (repeat, pass) in [(0, Pass::Plain), (0, Pass::Traced), (1, Pass::Plain), (1, Pass::Traced)] {
            file.append(&traced(bs, iodepth, repeat, pass, means)).unwrap();
        }
    }
    drop(file);
    let html = folder.path().join("page.html");
    let report = |more: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_halfpower")).arg("report").arg(&path).args(more).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    report(&["--html", html.to_str().unwrap()]);
    golden(&std::fs::read_to_string(&html).unwrap(), "anatomy", "anatomy");
    let findings: Value = serde_json::from_slice(&report(&["--json"])).unwrap();
    let rows = findings["anatomy"].as_array().unwrap();
    assert_eq!(rows.len(), 3 * 8);
    let device = rows.iter().find(|row| row["phase"] == "device" && row["bs_bytes"] == 1 << 20).unwrap();
    assert!((device["share"].as_f64().unwrap() - 6e5 / 6.24e5).abs() < 1e-3, "{device}");
}

#[test]
fn what_has_no_tracepoints_says_so() {
    let folder = TempDir::new().unwrap();
    let words = ["study", "sim:fixed=80us,rate=500MB/s", "--experiments", "zones,anatomy", "--budget", "60s"];
    let output = Command::new(env!("CARGO_BIN_EXE_halfpower")).current_dir(folder.path()).args(words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    golden(&std::fs::read_to_string(folder.path().join("study.html")).unwrap(), "anatomy", "anatomy-left-out");
}
