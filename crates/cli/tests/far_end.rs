//! Tests the account of both ends, with a witness on this machine in place of the server's.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{folder, run};

const WITNESS: &str = concat!("'", env!("CARGO_BIN_EXE_halfpower"), "' witness --processes halfpower");

/// A folder with a file to read.
fn with_data() -> TempDir {
    let folder = folder();
    std::fs::write(folder.path().join("data"), vec![7u8; 8 << 20]).unwrap();
    folder
}

fn small(far_end: &str) -> Vec<&str> {
    let words = "run data --runtime 0.3s --rw randread --bs 4k --cache both --far-end";
    words.split(' ').chain([far_end]).collect()
}

fn measured(folder: &Path, far_end: &str, more: &[&str]) -> Value {
    let words: Vec<&str> = small(far_end).into_iter().chain(["--json"]).chain(more.iter().copied()).collect();
    let output = run(folder, &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn notes(run: &Value) -> Vec<String> {
    run["environment"]["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap().to_string()).collect()
}

#[test]
fn a_run_tells_what_the_far_end_spent() {
    let folder = with_data();
    let reported = measured(folder.path(), WITNESS, &[]);
    let end = &reported["far_end"];
    assert!(end["span_ns"].as_u64() >= reported["elapsed_ns"].as_u64(), "it holds the window: {end}");
    let busy = end["machine_ns"]["user"].as_u64().unwrap() + end["machine_ns"]["idle"].as_u64().unwrap();
    assert!(busy > 0 && end["processors"].as_u64() > Some(0), "{end}");
    // On one machine, the witness sees the measuring process itself.
    let process = &end["processes"][0];
    assert!(process["name"] == "halfpower" && process["charged_ns"].as_u64() > Some(0), "{end}");
    let at = &reported["environment"]["far_end"];
    assert!(at["is_this_machine"] == true && at["idle_cores"].as_f64() >= Some(0.0), "{at}");
    assert_eq!(at["machine"]["kernel"], reported["environment"]["machine"]["kernel"]);
    let text = run(folder.path(), &small(WITNESS));
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("\n  far end     busy ") && text.contains("; halfpower charged "), "{text}");
}

#[test]
fn a_far_end_that_is_lost_ends_nothing() {
    let folder = with_data();
    // The greeting, five clock readings and the idle window are eight replies.
    let reported = measured(folder.path(), &format!("{WITNESS} | sed -u 8q"), &[]);
    assert!(reported["far_end"].is_null() && reported["ios"].as_u64() > Some(0));
    let notes = notes(&reported);
    let lost = notes.iter().filter(|note| note.contains("the far end is not asked again")).count();
    assert_eq!(lost, 1, "{notes:?}");
}

#[test]
fn a_far_end_that_is_none_is_refused_before_anything_is_measured() {
    let folder = with_data();
    for (far_end, why) in
        [("false", "ended with exit status 1"), ("echo Hello", "answered `Hello`"), (" ", "name a command")]
    {
        let output = run(folder.path(), &small(far_end));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(why), "{far_end}: {error}");
    }
    let simulated = run(folder.path(), &["run", "sim:", "--far-end", WITNESS]);
    assert!(String::from_utf8(simulated.stderr).unwrap().contains("no machine at its far end"));
    let planned = run(folder.path(), &["plan", "data", "--budget", "2s", "--bs", "4k", "--far-end", "ssh a b"]);
    let planned = String::from_utf8(planned.stdout).unwrap();
    assert!(planned.contains(" --far-end 'ssh a b'"), "a plan starts nothing: {planned}");
}

/// The folder of a study whose far end ends after some replies, and which of its records have what that told.
fn with_a_far_end_that_ends_early(budget: &str) -> (TempDir, Vec<bool>) {
    let folder = with_data();
    let far_end = format!("{WITNESS} | sed -u 36q");
    let words = "study data --bs 4k,64k -o 1 --rw read --experiments sequential --cache both --repeats 3 \
                 --runtime 0.1s --budget";
    let words: Vec<&str> = words.split_whitespace().chain([budget, "--far-end", far_end.as_str()]).collect();
    let output = run(folder.path(), &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let csv = run(folder.path(), &["export", "study.halfpower", "--format", "csv"]);
    let csv = String::from_utf8(csv.stdout).unwrap();
    let heading: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let column = heading.iter().position(|name| *name == "far_end_span_ns").unwrap();
    let spans = csv.lines().skip(1).map(|row| row.split(',').nth(column) != Some("")).collect();
    (folder, spans)
}

/// If a study loses its far end, it keeps what the far end had reported.
#[test]
fn a_study_keeps_what_the_far_end_told() {
    // How many runs there are within a time is for the machine to say.
    let mut studied = ["4s", "20s", "100s"].into_iter().map(with_a_far_end_that_ends_early);
    let (folder, spans) = studied.find(|(_, spans)| spans.last() == Some(&false)).expect("the far end is lost");
    assert!(spans.first() == Some(&true) && spans.is_sorted_by(|a, b| a >= b), "{spans:?}");
    let report = run(folder.path(), &["report", "study.halfpower", "--full"]);
    let report = String::from_utf8(report.stdout).unwrap();
    assert_eq!(report.matches("is not asked again").count(), 1, "{report}");
}

/// A child process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A process with a unique name that uses part of a processor.
fn burner(folder: &Path) -> Ended {
    let shell = folder.join("hp-burner");
    // A link instead of a copy: a copy cannot be executed while another test's fork holds it open for writing.
    std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
    let work = "while :; do i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; sleep 0.03; done";
    Ended(Command::new(shell).args(["-c", work]).spawn().unwrap())
}

fn schedstat_ns(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

/// Tests for the laboratory.
mod lab {
    use halfpower_lab::{Figure, judge};

    use super::*;

    #[test]
    #[ignore = "lab: takes seconds of a burner"]
    fn the_bill_agrees_with_the_schedulers_own_account() {
        let figure = Figure::near("the bill over the scheduler's own account", 1.0, "", 0.05);
        judge("processors", vec![figure], || Some(vec![bill_over_account()]));
    }

    /// A burner's processor time by the witness, divided by the scheduler's figure.
    fn bill_over_account() -> f64 {
        let folder = folder();
        let burner = burner(folder.path());
        let mut witness = Command::new(env!("CARGO_BIN_EXE_halfpower"));
        witness.args(["witness", "--processes", "hp-burner"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut witness = Ended(witness.spawn().unwrap());
        let mut asked = witness.0.stdin.take().unwrap();
        let said = witness.0.stdout.take().unwrap();
        let mut said = BufReader::new(said).lines();
        let mut ask = |line: &str| -> Value {
            writeln!(asked, "{line}").unwrap();
            serde_json::from_str(&said.next().unwrap().unwrap()).unwrap()
        };
        std::thread::sleep(Duration::from_millis(500));
        ask(r#"{"id":0,"do":"begin","soaker":false}"#);
        let begun_ns = schedstat_ns(burner.0.id());
        std::thread::sleep(Duration::from_secs(4));
        let bill = ask(r#"{"id":1,"do":"end"}"#)["bill"].clone();
        let charged_ns = schedstat_ns(burner.0.id()) - begun_ns;
        let told_ns = bill["processes"][0]["charged_ns"].as_u64().unwrap();
        eprintln!("the scheduler says {charged_ns} ns, the bill {told_ns} ns of {}", bill["span_ns"]);
        assert!(charged_ns > 100_000_000, "the burner burns: {charged_ns}");
        let busy: u64 = bill["machine"].as_array().unwrap().iter().map(|cpu| cpu["user_ns"].as_u64().unwrap()).sum();
        assert!(busy * 10 >= charged_ns * 9, "the machine's own account holds it: {busy} of {charged_ns}");
        let span_ns = bill["span_ns"].as_u64().unwrap();
        assert!(told_ns < span_ns * 19 / 20, "it is a part of a processor: {told_ns} of {span_ns}");
        told_ns as f64 / charged_ns as f64
    }
}
