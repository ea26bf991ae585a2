//! Lets each system call on a study's files fail in turn, and checks that the study on disk stays whole and goes on.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::{folder, run, skip};

const STUDY: [&str; 10] = [
    "study",
    "sim:fixed=80us,rate=500MB/s,noise=3%",
    "--bs",
    "4KiB,64KiB",
    "--iodepth",
    "1,4",
    "--budget",
    "5s",
    "--output",
    "s.halfpower",
];
/// The calls that fail, each of its kind for itself.
const CALLS: [&str; 8] =
    ["openat", "pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "unlinkat", "read,pread64"];
const ERRORS: [&str; 2] = ["ENOSPC", "EIO"];

/// What became of all the starts.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    tried: u32,
    ended_well: u32,
    refused: u32,
}

/// Rows of the study as CSV; none without a study. `None` where a record is half written, which a reader leaves alone.
fn rows(here: &Path) -> Option<Vec<String>> {
    if !here.join("s.halfpower").exists() {
        return Some(Vec::new());
    }
    let output = run(here, &["export", "s.halfpower", "--format", "csv"]);
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("a record was being written to s.halfpower") {
        return None;
    }
    // A study that failed before its tables were there is none yet.
    let is_begun = !said.contains("is not a study file") && !said.contains("it has no table");
    assert!(output.status.success() || !is_begun, "{said}");
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect())
}

/// A study in which the call with this number fails; `None` if there was none with this number.
fn with_one_failed(calls: &str, error: &str, number: u32, whole: &[String]) -> Option<bool> {
    let folder = folder();
    let here = folder.path();
    let log = here.join("log");
    let output = Command::new("strace")
        .current_dir(here)
        .args(["-f", "-qq", "-o"])
        .arg(&log)
        .args(["s.halfpower", "s.halfpower-journal"].into_iter().flat_map(|name| {
            ["-P".into(), here.join(name).canonicalize().unwrap_or_else(|_| here.join(name)).into_os_string()]
        }))
        .arg("-e")
        .arg(format!("trace={calls}"))
        .args(["-e", &format!("inject={calls}:error={error}:when={number}")])
        .arg(env!("CARGO_BIN_EXE_halfpower"))
        .args(STUDY)
        .output()
        .unwrap();
    if !fs::read_to_string(&log).unwrap_or_default().contains("INJECTED") {
        return None;
    }
    let what = format!("{calls} number {number} with {error}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 2)), "{what}: {:?}, {said}", output.status);
    assert!(!said.contains("panicked"), "{what}: {said}");
    if let Some(there) = rows(here) {
        assert!(whole.starts_with(&there), "{what}: {} rows that the study does not have", there.len());
    }
    fs::remove_file(&log).unwrap();
    let again = run(here, &STUDY);
    assert!(again.status.success(), "{what}, then: {}", String::from_utf8_lossy(&again.stderr));
    assert!(rows(here).as_deref() == Some(whole), "{what}: the study that goes on is another");
    let left: Vec<_> = fs::read_dir(here).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| ["s.halfpower", "s.html"].iter().any(|known| name == known)), "{what}: {left:?}");
    Some(output.status.success())
}

/// Every call of every kind fails once; of each kind at most `most`.
fn with_each_failed(most: u32) -> Option<Tally> {
    if Command::new("strace").arg("-V").output().is_err() {
        skip("strace is not installed");
        return None;
    }
    let undisturbed = folder();
    assert!(run(undisturbed.path(), &STUDY).status.success());
    let whole = rows(undisturbed.path()).unwrap();
    assert!(whole.len() > 4, "{whole:?}");
    let mut tally = Tally::default();
    for calls in CALLS {
        for error in ERRORS {
            for number in 1..=most {
                let Some(ended_well) = with_one_failed(calls, error, number, &whole) else { break };
                tally.tried += 1;
                *(if ended_well { &mut tally.ended_well } else { &mut tally.refused }) += 1;
            }
        }
    }
    Some(tally)
}

#[test]
#[ignore = "gate: takes strace"]
fn a_study_whose_file_fails_early_is_whole_and_goes_on() {
    let Some(tally) = with_each_failed(4) else { return };
    assert!(tally.refused > 10, "{tally:?}");
}

/// Tests for the laboratory.
mod lab {
    use halfpower_lab::Campaign;

    use super::*;

    #[test]
    #[ignore = "lab: hundreds of studies under strace"]
    fn a_study_whose_file_fails_at_any_call_is_whole_and_goes_on() {
        let Some(tally) = with_each_failed(u32::MAX) else { return };
        println!("{tally:?}");
        assert!(tally.tried > 100, "{tally:?}");
        let tried = u64::from(tally.tried);
        let campaign = Campaign::new("errors of system calls on a study's file");
        Campaign { tried, survived: tried, ..campaign }.judge("faults");
    }
}
