//! Checks that study files of earlier releases open, give the same figures as then, and resume.
//!
//! `fixtures/layout-N.halfpower` was written by the release that introduced layout N, and `layout-N.figures` holds the
//! numbers of its `report --json`, one per line. `layout-N-interrupted.halfpower` is a study that SIGINT stopped, and
//! `layout-N-resumed.figures` holds the numbers after the same release had resumed it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The command that made `layout-1-interrupted.halfpower`.
const INTERRUPTED: &[&str] = &[
    "study",
    "sim:win2k-atlas10k",
    "--set",
    "disks=2",
    "--set",
    "array=stripe",
    "--experiments",
    "sequential,alignment,mirror",
    "--cache",
    "device",
    "--bs",
    "4KiB,64KiB",
    "--iodepth",
    "1,4",
    "--rw",
    "read",
    "--repeats",
    "3",
    "--runtime",
    "300ms",
    "--budget",
    "20s",
    "--seed",
    "11",
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn copy_of(name: &str) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("study.halfpower");
    fs::copy(fixture(name), &path).unwrap();
    (folder, path)
}

fn halfpower(words: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_halfpower")).args(words).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn numbers(value: &Value, found: &mut Vec<f64>) {
    match value {
        Value::Number(number) => found.extend(number.as_f64()),
        Value::Array(items) => items.iter().for_each(|item| numbers(item, found)),
        Value::Object(items) => items.values().for_each(|item| numbers(item, found)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Asserts that every figure of that release is among this one's, under any key; microseconds may be nanoseconds.
fn assert_same_figures(study: &Path, figures: &str) {
    let mut ours = Vec::new();
    let report = halfpower(&["report", study.to_str().unwrap(), "--json"]);
    numbers(&serde_json::from_slice(&report).unwrap(), &mut ours);
    let close = |ours: f64, theirs: f64| (ours - theirs).abs() <= theirs.abs() * 1e-9;
    let figures = fs::read_to_string(fixture(figures)).unwrap();
    let theirs: Vec<f64> = figures.lines().map(|line| line.parse().unwrap()).collect();
    assert!(theirs.len() > 100);
    let lost: Vec<&f64> = theirs
        .iter()
        .filter(|figure| !ours.iter().any(|own| close(*own, **figure) || close(*own, **figure * 1e3)))
        .collect();
    assert!(lost.is_empty(), "{}: {} figures changed: {lost:?}", study.display(), lost.len());
}

#[test]
fn a_study_of_layout_1_reports_its_figures() {
    let (_folder, path) = copy_of("layout-1.halfpower");
    assert_same_figures(&path, "layout-1.figures");
    assert!(fs::read(&path).unwrap() == fs::read(fixture("layout-1.halfpower")).unwrap(), "reading changed the file");
    let report: Value = serde_json::from_slice(&halfpower(&["report", path.to_str().unwrap(), "--json"])).unwrap();
    assert_eq!(report["checks"], Value::Null, "nobody looked at settings then");
}

#[test]
fn the_settings_of_its_runs_are_read() {
    let (_folder, path) = copy_of("layout-1.halfpower");
    let records = halfpower(&["export", path.to_str().unwrap(), "--format", "json"]);
    let records: Vec<Value> = serde_json::from_slice(&records).unwrap();
    let has = |key: &str, value: Value| {
        records.iter().any(|record| record["record"]["run"]["workload"]["options"][key] == value)
    };
    assert!(has("misalign", 512.into()) && has("volume_layout", "stripe".into()));
    assert!(has("random_readers", 2.into()) && has("fdatasync", 4.into()) && has("thinktime", 1_000_000.into()));
    assert!(records.iter().any(|record| record["record"]["run"]["workload"]["rate"]["iops"] == 2000));
    assert!(records.iter().any(|record| record["pass"] == "soaker"));
}

#[test]
fn an_interrupted_study_of_layout_1_ends_as_its_release_ended_it() {
    let (_folder, path) = copy_of("layout-1-interrupted.halfpower");
    let mut words = INTERRUPTED.to_vec();
    words.extend(["--output", path.to_str().unwrap()]);
    halfpower(&words);
    assert_same_figures(&path, "layout-1-resumed.figures");
}

#[test]
fn runs_are_appended_to_a_study_of_layout_1() {
    let (_folder, path) = copy_of("layout-1.halfpower");
    let target = "sim:fixed=80us,rate=500MB/s,disks=2,shared=900MB/s,noise=2%,jitter=5%";
    let words = ["run", target, "--runtime", "100ms", "--misalign", "1024", "--output", path.to_str().unwrap()];
    halfpower(&words);
    let rows = halfpower(&["export", path.to_str().unwrap(), "--format", "csv"]);
    assert_eq!(String::from_utf8(rows).unwrap().lines().count(), 1 + 38);
}
