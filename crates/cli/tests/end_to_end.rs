//! Checks the program end to end, on simulated and real targets.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

use crate::program::{command as halfpower, folder, run, said_of_its_own};

fn json(folder: &Path, words: &[&str]) -> Value {
    let output = run(folder, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const DISK: &str = "sim:fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s,cpu_fixed=6us,cpu_per_kib=60ns,unseen=20%";

fn find<'a>(list: &'a Value, conditions: &[(&str, Value)]) -> Vec<&'a Value> {
    let fits = |item: &&Value| conditions.iter().all(|(key, value)| item[*key] == *value);
    list.as_array().unwrap().iter().filter(fits).collect()
}

fn close(found: &Value, expected: f64, tolerance: f64, what: &str) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{what} is {found}"));
    assert!((found / expected - 1.0).abs() <= tolerance, "{what}: {found}, expected {expected}");
}

#[test]
fn a_study_returns_the_constants_of_a_simulated_disk() {
    let folder = folder();
    let findings = json(folder.path(), &["study", DISK, "--json"]);
    for limits in findings["limits"].as_array().unwrap() {
        close(&limits["fixed_us"]["value"], 80.0, 0.02, "fixed cost");
        close(&limits["stream_mbps"]["value"], 500.0, 0.02, "rate of one request's bytes");
        close(&limits["ceiling_mbps"]["value"], 1200.0, 0.02, "shared limit");
    }
    for (bound, share) in [("charged", 0.8), ("soaker", 1.0)] {
        let costs = find(&findings["cost"], &[("bound", bound.into())]);
        assert_eq!(costs.len(), 4, "a cost for each path");
        for cost in costs {
            close(&cost["fixed_us"]["value"], 6.0 * share, 0.02, "fixed processor cost");
            close(&cost["marginal_us_per_kib"]["value"], 0.06 * share, 0.02, "marginal processor cost");
        }
    }
    let disk = halfpower_spec::SimulatedDisk::from_constants(&DISK[4..]).unwrap();
    let curves = findings["curves"].as_array().unwrap();
    assert!(!curves.is_empty());
    for curve in curves {
        let depth = curve["iodepth"].as_u64().unwrap() as u32;
        let axis: Vec<halfpower_spec::Bytes> = (12..=20).map(|power| halfpower_spec::Bytes(1 << power)).collect();
        let expected = halfpower_model::half_power_bs(&disk, &axis, depth).unwrap();
        if curve["half_power_bracketed"] == true {
            assert_eq!(curve["half_power_bs_bytes"], expected.0, "{curve}");
        }
    }
    for depth in [1, 4, 32] {
        let sure = [("iodepth", depth.into()), ("half_power_bracketed", true.into())];
        assert_eq!(find(&findings["curves"], &sure).len(), 4, "half power is bracketed at depth {depth} on each path");
    }
}

#[test]
fn a_study_leaves_its_files_and_says_what_it_found() {
    let folder = folder();
    let output = run(folder.path(), &["study", DISK, "--budget", "20s"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert_eq!(names(folder.path()), ["study.halfpower", "study.html"]);
    assert!(text.lines().count() <= 45, "more than a screen:\n{text}");
    assert!(text.contains("MB/s") && text.contains("study.html"), "{text}");
    assert!(!text.contains('\u{1b}'), "colours without a terminal");
    let again = run(folder.path(), &["report", "study.halfpower"]);
    assert!(text.starts_with(std::str::from_utf8(&again.stdout).unwrap()), "the report is the study's summary");
}

#[test]
fn the_findings_have_the_promised_keys() {
    let folder = folder();
    run(folder.path(), &["study", DISK, "--budget", "20s"]);
    let findings = json(folder.path(), &["report", "study.halfpower", "--json"]);
    let keys = |value: &Value, keys: &[&str]| {
        for key in keys {
            assert!(value.get(key).is_some(), "{key} is missing in {value}");
        }
    };
    keys(&findings, &["target", "machine", "levels", "bottleneck", "curves", "cost", "advice", "warnings"]);
    keys(&findings["levels"][0], &["level", "pap_mbps", "rap_mbps"]);
    let curve = ["rw", "pattern", "cache", "iodepth", "peak_mbps", "half_power_bs_bytes", "n_half_bytes"];
    keys(&findings["curves"][0], &curve);
    keys(&findings["cost"][0], &["path", "bound", "fixed_us", "marginal_us_per_kib"]);
    keys(&findings["cost"][0]["fixed_us"], &["value", "low", "high"]);
}

#[test]
fn one_run_is_one_json_object() {
    let folder = folder();
    let words = ["run", DISK, "--rw", "randread", "--bs", "4KiB", "-o", "4", "-d", "100ms", "--json"];
    let record = json(folder.path(), &words);
    assert_eq!((record["rw"].as_str(), record["bs_bytes"].as_u64()), (Some("randread"), Some(4096)));
    assert_eq!((record["iodepth"].as_u64(), record["threads"].as_u64()), (Some(4), Some(1)));
    assert_eq!((record["cache"].as_str(), record["engine"].as_str()), (Some("device"), Some("simulated")));
    assert_eq!(record["errors"], 0);
    assert_eq!(record["bytes"].as_u64().unwrap(), record["ios"].as_u64().unwrap() * 4096);
    for key in ["min", "p50", "p90", "p99", "p999", "mean"] {
        close(&record["latency_ns"][key], 88_192.0, 0.01, key);
    }
    close(&record["achieved_depth"], 4.0, 0.01, "achieved depth");
    for key in ["user_ns", "system_ns", "machine_busy_ns"] {
        assert!(record["cpu"][key].is_number(), "{key}");
    }
    assert!(record["harness_ns_per_io"].is_number());
    assert!(names(folder.path()).is_empty(), "a run leaves nothing");
}

#[test]
fn exports_are_whole() {
    let folder = folder();
    run(folder.path(), &["study", DISK, "--budget", "10s"]);
    let whole = json(folder.path(), &["export", "study.halfpower", "--format", "json"]);
    let runs = whole.as_array().unwrap().len();
    let output = run(folder.path(), &["export", "study.halfpower", "--format", "csv"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), runs + 1);
    let output = run(folder.path(), &["export", "study.halfpower", "--format", "sqlio", "--output", "trace.csv"]);
    assert!(output.status.success() && output.stdout.is_empty());
    let trace = fs::read_to_string(folder.path().join("trace.csv")).unwrap();
    assert_eq!(halfpower_dialects::sqlio::read_trace(&trace).unwrap().len(), runs);
}

/// Findings and page.
type TargetMessage = (Vec<u8>, Vec<u8>);

/// The report's data must not depend on when or in how many parts a study was made.
fn reported(folder: &Path) -> TargetMessage {
    let findings = run(folder, &["report", "study.halfpower", "--json"]).stdout;
    (findings, fs::read(folder.join("study.html")).unwrap())
}

/// A study long enough in virtual time for a signal to arrive in the middle.
const LONG: [&str; 4] = ["study", "sim:fixed=20us,rate=1GB/s,disks=8,noise=3%,jitter=10%", "--budget", "200s"];

fn kept(folder: &Path) -> usize {
    // One that was killed may have left a commit to undo.
    let file = halfpower_record::StudyFile::open_mended(&folder.join("study.halfpower")).unwrap();
    file.records().unwrap().len()
}

/// Report of the uninterrupted long study, and its number of runs.
static WHOLE: LazyLock<(TargetMessage, usize)> = LazyLock::new(|| {
    let folder = folder();
    assert!(run(folder.path(), &LONG).status.success());
    (reported(folder.path()), kept(folder.path()))
});

/// The folder of the long study that `signal` ended after some records; nothing if the study was over before, as one may be
/// while this process waits for a processor.
fn ended_by(signal: &str) -> Option<tempfile::TempDir> {
    let broken = folder();
    let mut child = halfpower(broken.path(), &LONG).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let file = broken.path().join("study.halfpower");
    while fs::metadata(&file).map_or(0, |metadata| metadata.len()) < 300_000 {
        if let Some(ended) = child.try_wait().unwrap() {
            assert!(ended.success(), "{ended}");
            return None;
        }
        std::thread::yield_now();
    }
    Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    let was_over = child.wait().unwrap().success() || kept(broken.path()) == WHOLE.1;
    (!was_over).then_some(broken)
}

/// Ends the long study by `signal` after some records, and resumes it.
fn broken_off(signal: &str) {
    let (whole, all) = &*WHOLE;
    let broken = (0..20).find_map(|_| ended_by(signal)).expect("a study that did not end before the signal");
    assert!(!broken.path().join("study.html").exists());
    let kept = kept(broken.path());
    assert!(kept > 0 && kept < *all, "{kept} of {all} runs were kept");
    assert!(run(broken.path(), &LONG).status.success());
    assert!(*whole == reported(broken.path()), "the report depends on the interruption");
    assert_eq!(names(broken.path()), ["study.halfpower", "study.html"]);
}

#[test]
fn a_study_interrupted_by_sigint_goes_on() {
    broken_off("-INT");
}

#[test]
fn a_study_killed_at_any_moment_goes_on() {
    broken_off("-KILL");
}

#[test]
fn a_finished_study_is_told_again_and_a_different_question_refused() {
    let folder = folder();
    let words = ["study", DISK, "--budget", "10s"];
    assert!(run(folder.path(), &words).status.success());
    let before = fs::read(folder.path().join("study.halfpower")).unwrap();
    assert!(run(folder.path(), &words).status.success());
    let other = run(folder.path(), &["study", DISK, "--budget", "9s"]);
    let said = String::from_utf8(other.stderr).unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(said.contains("budget") && said.contains("--output"), "{said}");
    assert_eq!(fs::read(folder.path().join("study.halfpower")).unwrap(), before);
}

#[test]
fn a_real_folder_is_measured_and_left_as_it_was() {
    let folder = folder();
    fs::create_dir(folder.path().join("data")).unwrap();
    let words = ["study", "data", "--budget", "3s", "--size", "64MiB", "--cache", "both", "--bs", "4KiB,64KiB"];
    let output = run(folder.path(), &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(names(folder.path()), ["data", "study.halfpower", "study.html"]);
    assert!(names(&folder.path().join("data")).is_empty());
    let findings = json(folder.path(), &["report", "study.halfpower", "--json"]);
    for cell in findings["cells"].as_array().unwrap() {
        assert_eq!(cell["errors"], 0, "{cell}");
    }
    let seen = findings["checks"]["before"][0]["checks"].as_array().expect("the checks of settings were run");
    assert_eq!(seen.len(), halfpower_doctor::CHECKS.len());
    let page = fs::read_to_string(folder.path().join("study.html")).unwrap();
    assert!(page.contains("id=\"checks\""), "the page lists what they found");
}

#[test]
fn bad_input_gets_one_clear_sentence_and_leaves_nothing() {
    let folder = folder();
    let here = folder.path();
    fs::write(here.join("text"), "this is no study file").unwrap();
    fs::write(here.join("data"), vec![1u8; 1 << 20]).unwrap();
    let before = names(here);
    let cases: &[(&[&str], &str)] = &[
        (&["study", "nowhere"], "nowhere"),
        (&["study", "sim:fixed=80parsec"], "character 13"),
        (&["study", ".", "--size", "1000000GiB"], "ask for less"),
        (&["study", ".", "--bs", "3000", "--size", "64MiB"], "multiple of"),
        (&["study", ".", "--iodepth", "0"], "a depth must be at least 1"),
        (&["study", ".", "--budget", "0"], "--budget"),
        (&["study", "sim:", "--output", "text"], "not a study file"),
        (&["study", "sim:", "--output", "nowhere/x.halfpower"], "nowhere/x.halfpower"),
        (&["study", "sim:", "--cache", "both"], "no page cache"),
        (&["study", "data", "--rw", "write"], "--overwrite"),
        (&["run", "data", "--rw", "randwrite"], "--overwrite"),
        (&["run", "sim:", "--iodepth", "0"], "a depth must be at least 1"),
        (&["run", "sim:", "--runtime", "0"], "--runtime"),
        (&["run", "sim:", "--rate", "2000"], "use --rate-iops"),
        (&["run", "sim:cpus=1000000000"], "cpus must be from 1 to 4096"),
        (&["run", "sim:", "--sync", "sync"], "--sync dsync"),
        (&["study", "no\u{1b}[2Jwhere"], "no\\u001b[2Jwhere"),
        (&["run", "sim:", "--bs", "4KiX"], "character 2"),
        (&["report", "text"], "not a study file"),
        (&["report", "."], "."),
        (&["export", "nowhere.halfpower", "--format", "csv"], "nowhere.halfpower"),
    ];
    for (words, expected) in cases {
        let output = run(here, words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
        assert!(output.stdout.is_empty() && !said.contains("panicked"), "{words:?}: {said}");
        assert_eq!(names(here), before, "{words:?} left something");
    }
    assert_eq!(fs::read(here.join("data")).unwrap(), vec![1u8; 1 << 20]);
    assert_eq!(fs::read(here.join("text")).unwrap(), b"this is no study file");
}

#[test]
fn a_folder_that_may_not_be_written_is_refused() {
    // Even root cannot write here.
    let output = run(folder().path(), &["study", "/proc"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("/proc"), "{said}");
}

#[test]
fn what_goes_into_a_pipe_that_closes_is_no_error() {
    let folder = folder();
    run(folder.path(), &["study", DISK, "--budget", "10s"]);
    for format in ["json", "csv", "fio", "sqlio"] {
        let mut child = halfpower(folder.path(), &["export", "study.halfpower", "--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && said_of_its_own(&output).is_empty(), "{format}: {output:?}");
    }
}

#[test]
fn a_verdict_is_the_same_whether_or_not_somebody_reads_it() {
    let folder = folder();
    let here = folder.path();
    for (target, name) in [(DISK, "a"), ("sim:fixed=160us,rate=250MB/s,noise=1%", "b")] {
        let words =
            ["study", target, "--bs", "4KiB", "--iodepth", "1,4", "--budget", "10s", "--rw", "read", "--output", name];
        assert!(run(here, &words).status.success());
    }
    let slower = ["--fail-if", "all throughput < -5%"];
    for words in [
        &["run", "sim:", "--latency-target", "1us", "--runtime", "20ms"][..],
        &["watch", "--no-trace", "--", "false"],
        &[&["compare", "a", "b", "--full"], &slower[..]].concat(),
        &[&["compare", "a", "b", "--html", "-"], &slower[..]].concat(),
        &[&["compare", "a", "b", "--html", "/dev/stdout"], &slower[..]].concat(),
    ] {
        let mut child = halfpower(here, words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {}", said_of_its_own(&output));
    }
}
