//! Checks the command and the experiment that measure memory.

use std::path::Path;
use std::process::Command;

use halfpower_record::{Capabilities, Environment, Latency, Level, Machine, Record, Series, StudyFile, TargetKind};
use halfpower_spec::{EngineName, Experiment, Kernel, Nanos, Question, Run};
use serde_json::Value;
use tempfile::TempDir;

fn halfpower(folder: &Path, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_halfpower")).current_dir(folder).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn rows(json: &str) -> Vec<Value> {
    let value: Value = serde_json::from_str(json).unwrap();
    value["memory"].as_array().unwrap().clone()
}

#[test]
fn the_commands_of_its_plan_are_runs_of_the_kernels() {
    let folder = TempDir::new().unwrap();
    let plan = halfpower(
        folder.path(),
        &["plan", ".", "--experiments", "memory", "--runtime", "20ms", "--repeats", "1", "--size", "64MiB"],
    );
    let line = plan.lines().find(|line| line.contains("--kernel memcpy")).expect("memcpy is planned");
    let words: Vec<&str> = line.split_whitespace().skip(1).chain(["--json"]).collect();
    // Targets are quoted only if a shell needs it; a temporary folder is not.
    let run: Value = serde_json::from_str(&halfpower(folder.path(), &words)).unwrap();
    assert_eq!((run["engine"].as_str(), run["errors"].as_u64()), (Some("memory"), Some(0)));
    assert_eq!(run["bytes"].as_u64().unwrap() % (8 << 20), 0);
}

#[test]
fn a_simulated_system_has_none_and_says_so() {
    let folder = TempDir::new().unwrap();
    let words = ["study", "sim:", "--experiments", "memory", "--budget", "5s", "--json"];
    let output = Command::new(env!("CARGO_BIN_EXE_halfpower")).current_dir(folder.path()).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "nothing was measured");
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(findings["memory"].as_array().unwrap().len(), 0);
    let section = &findings["experiments"][0];
    assert_eq!((section["ran"].as_bool(), section["experiment"].as_str()), (Some(false), Some("memory")));
    assert!(section["notes"][0].as_str().unwrap().contains("no memory that could be measured"), "{section}");
}

/// MB/s of each kernel with one thread, and with two.
const TRUTH: [(Kernel, f64, f64); 10] = [
    (Kernel::Read, 975.0, 1500.0),
    (Kernel::Write, 550.0, 800.0),
    (Kernel::ReadVector, 1100.0, 1600.0),
    (Kernel::WriteVector, 560.0, 810.0),
    (Kernel::WriteStream, 900.0, 1400.0),
    (Kernel::Copy, 327.0, 500.0),
    (Kernel::CopyVector, 330.0, 510.0),
    (Kernel::CopyStream, 450.0, 700.0),
    (Kernel::FileRead, 300.0, 520.0),
    (Kernel::FileWrite, 250.0, 400.0),
];
/// Time of the empty loop per block, in nanoseconds; large, so that a missing subtraction shows.
const LOOP_NS: f64 = 400_000.0;

fn truth(kernel: Kernel, threads: u32) -> f64 {
    let (_, one, two) = TRUTH.iter().find(|(known, ..)| *known == kernel).expect("a kernel that moves bytes");
    if threads == 1 { *one } else { *two }
}

/// The record of a run on this memory; repeats differ by 1% to either side.
fn record(run: &Run) -> Record {
    let threads = f64::from(run.workload.threads);
    let block = run.workload.bs.0 as f64;
    let kernel = run.workload.options.kernel.unwrap();
    let of_program = !matches!(kernel, Kernel::Copy | Kernel::FileRead | Kernel::FileWrite);
    let factor = 1.0 + 0.01 * (f64::from(run.repeat) - 1.0);
    let memory_ns = match kernel {
        Kernel::Null => 0.0,
        kernel => block * threads * 1e3 / (truth(kernel, run.workload.threads) * factor),
    };
    let request_ns = memory_ns + if of_program { LOOP_NS } else { 0.0 };
    let ios = 100 * u64::from(run.workload.threads);
    let mut latency = Latency::default();
    (0..ios).for_each(|_| latency.add(request_ns as u64));
    Record {
        span_bytes: 256 << 20,
        spent_ns: (request_ns * 100.0) as u64,
        elapsed_ns: (request_ns * 100.0).round() as u64,
        bytes: ios * run.workload.bs.0,
        ios,
        read_ios: ios,
        latency,
        achieved_depth: threads,
        series: Series { step_ns: 1_000_000, bytes: Vec::new() },
        harness_ns_per_io: 50.0,
        ..Record::empty(*run, EngineName::Memory)
    }
}

/// Writes a study of this memory to a file.
fn known_study(folder: &Path) {
    let question = Question {
        experiments: vec![Experiment::Memory],
        repeats: 3,
        budget: Nanos(600_000_000_000),
        ..Question::about("/data")
    };
    let unknown = |name: &str| Level { name: name.into(), source: "not advertised".into(), ..Level::default() };
    let environment = Environment {
        machine: Machine { cpus: 2, ..Machine::default() },
        levels: vec![unknown("memory"), unknown("device")],
        capabilities: Capabilities { kind: TargetKind::Folder, ..Capabilities::default() },
        ..Environment::default()
    };
    let mut file = StudyFile::create(&folder.join("study.halfpower"), &question, &environment).unwrap();
    let runs = halfpower_study::fixed_runs(&question, &environment);
    assert_eq!(runs.len(), 3 * 2 * Kernel::ALL.len());
    file.append_all(&runs.iter().map(record).collect::<Vec<_>>()).unwrap();
}

#[test]
fn known_memory_is_found_again_and_told() {
    let folder = TempDir::new().unwrap();
    known_study(folder.path());
    let findings = halfpower(folder.path(), &["report", "study.halfpower", "--json"]);
    let rows = rows(&findings);
    assert_eq!(rows.len(), 2 * TRUTH.len());
    for row in &rows {
        let kernel: Kernel = row["kernel"].as_str().unwrap().parse().unwrap();
        let truth = truth(kernel, row["threads"].as_u64().unwrap() as u32);
        let [low, mbps, high] = ["low", "mbps", "high"].map(|key| row[key].as_f64().unwrap());
        assert!((mbps / truth - 1.0).abs() < 1e-3 && low < truth && truth < high, "{row}: {truth}");
    }
    let findings: Value = serde_json::from_str(&findings).unwrap();
    let level = |name: &str| {
        let levels = findings["levels"].as_array().unwrap();
        levels.iter().find(|level| level["level"] == name).unwrap().clone()
    };
    let memory = level("memory");
    assert!((memory["pap_mbps"].as_f64().unwrap() / 700.0 - 1.0).abs() < 1e-3, "{memory}");
    assert!(memory["source"].as_str().unwrap().contains("measured: copy-stream by 2 threads"), "{memory}");
    assert!(level("device")["pap_mbps"].is_null(), "what was measured of memory is said of memory alone");

    halfpower(folder.path(), &["report", "study.halfpower", "--html", "study.html"]);
    let page = std::fs::read_to_string(folder.path().join("study.html")).unwrap();
    crate::page::golden(&page, "memory", "memory");
}

/// Tests for the laboratory.
mod lab {
    use super::*;

    #[test]
    #[ignore = "lab: measures all of the memory's kernels at full length"]
    fn every_kernel_is_printed_and_nothing_else() {
        let folder = TempDir::new().unwrap();
        let printed = halfpower(folder.path(), &["memory", ".", "--threads", "2", "--repeats", "2", "--json"]);
        let whole: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(whole.as_object().unwrap().keys().collect::<Vec<_>>(), ["memory"]);
        let rows = rows(&printed);
        for row in &rows {
            let keys: Vec<&String> = row.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["high", "kernel", "low", "mbps", "threads"]);
            let [low, mbps, high] = ["low", "mbps", "high"].map(|key| row[key].as_f64().unwrap());
            assert!(mbps > 0.0 && low <= mbps && mbps <= high, "{row}");
        }
        let found: Vec<(&str, u64)> =
            rows.iter().map(|row| (row["kernel"].as_str().unwrap(), row["threads"].as_u64().unwrap())).collect();
        let streams = cfg!(target_arch = "x86_64");
        let kernels = Kernel::ALL.iter().filter(|kernel| match kernel {
            Kernel::Null => false,
            Kernel::WriteStream | Kernel::CopyStream => streams,
            _ => true,
        });
        let expected: Vec<(&str, u64)> = kernels.flat_map(|kernel| [(kernel.word(), 1), (kernel.word(), 2)]).collect();
        assert_eq!(found, expected);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a file was left behind");
    }

    #[test]
    #[ignore = "lab: measures all of the memory's kernels at full length"]
    fn one_thread_is_one_thread() {
        let folder = TempDir::new().unwrap();
        let printed = halfpower(folder.path(), &["memory", "--threads", "1", "--repeats", "1", "--json"]);
        assert!(rows(&printed).iter().all(|row| row["threads"] == 1), "{printed}");
    }
}
