//! Ends halfpower in every way, and checks that no setting stays changed.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::program::{command, folder, skip};

/// Folder of the notes about changed settings.
const NOTES: &str = "/var/lib/halfpower";

fn begin(folder: &Path, words: &[&str]) -> Child {
    command(folder, words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The note that a process keeps about its trace instance.
fn note_of(process: u32) -> Option<String> {
    let names = fs::read_dir(NOTES).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.into_iter().find(|name| name.starts_with(&format!("tracing-halfpower-{process}-")))
}

#[test]
fn a_trace_instance_of_a_killed_run_is_removed_by_the_next_start_of_any_command() {
    let folder = folder();
    let words = ["run", ".", "--size", "64MiB", "--rw", "randread", "--pass", "traced", "-d", "60s"];
    let mut run = begin(folder.path(), &words);
    let note = loop {
        if let Some(note) = note_of(run.id()) {
            break note;
        }
        if run.try_wait().unwrap().is_some() {
            let said = String::from_utf8(run.wait_with_output().unwrap().stderr).unwrap();
            return skip(&format!("runs cannot be traced here: {said}"));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    // Another start does not touch the settings of a running process.
    let other = begin(folder.path(), &["systems"]).wait_with_output().unwrap();
    let instance = note.strip_prefix("tracing-").unwrap();
    assert!(!String::from_utf8_lossy(&other.stderr).contains(instance));
    std::thread::sleep(Duration::from_millis(300));
    run.kill().unwrap();
    run.wait().unwrap();
    // Other tests also start commands, and any of them may clean up first.
    for _ in 0..100 {
        let next = begin(folder.path(), &["systems"]).wait_with_output().unwrap();
        assert!(next.status.success());
        if note_of(run.id()).is_none() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{note} is still there");
}

#[test]
fn every_signal_that_asks_for_an_end_gets_an_orderly_one() {
    for signal in ["-INT", "-TERM", "-HUP", "-QUIT"] {
        let ended = || {
            let folder = folder();
            let words = ["study", "sim:fixed=20us,rate=1GB/s,disks=8,noise=3%,jitter=10%", "--budget", "200s"];
            let study = begin(folder.path(), &words);
            while !folder.path().join("study.halfpower").exists() {
                std::thread::sleep(Duration::from_millis(2));
            }
            Command::new("kill").args([signal, &study.id().to_string()]).status().unwrap();
            study.wait_with_output().unwrap()
        };
        // A study of simulated time may be over before the signal comes.
        let output = (0..10).map(|_| ended()).find(|output| !output.status.success()).expect("an end by a signal");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("interrupted"), "{signal}: {said}");
    }
}

#[test]
fn a_signal_that_was_ignored_from_the_beginning_ends_nothing() {
    // As `nohup` does it, and as a shell without job control begins what goes to the background.
    let folder = folder();
    let study = "study sim:fixed=20us,rate=1GB/s,disks=8,noise=3%,jitter=10% --budget 30s";
    let shell = format!("trap '' HUP INT QUIT; exec '{}' {study}", env!("CARGO_BIN_EXE_halfpower"));
    let mut begun = crate::program::of("sh", folder.path(), &["-c", &shell]);
    let mut begun = begun.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !folder.path().join("study.halfpower").exists() && begun.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(2));
    }
    for signal in ["-HUP", "-INT", "-QUIT"] {
        Command::new("kill").args([signal, &begun.id().to_string()]).stderr(Stdio::null()).status().unwrap();
    }
    let output = begun.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_study_whose_first_run_is_refused_leaves_no_file_that_would_refuse_the_next() {
    let folder = folder();
    let here = folder.path();
    std::fs::create_dir(here.join("data")).unwrap();
    let words = ["study", "data", "--size", "4MiB", "--bs", "4KiB", "--iodepth", "1", "--budget", "1s", "--rw", "read"];
    let said = |output: std::process::Output| String::from_utf8(output.stderr).unwrap();
    let mapped = begin(here, &[&words[..], &["--engine", "mmap"]].concat()).wait_with_output().unwrap();
    assert_eq!(mapped.status.code(), Some(2));
    let why = said(mapped);
    assert!(why.contains("use --cache both") && !here.join("study.halfpower").exists(), "{why}");
    let advised = begin(here, &[&words[..], &["--engine", "mmap", "--cache", "both"]].concat());
    let advised = advised.wait_with_output().unwrap();
    assert!(advised.status.success(), "{}", said(advised));
    // What only the first run meets: a file for each of its threads.
    let program = env!("CARGO_BIN_EXE_halfpower");
    let shell = format!("ulimit -n 60; exec '{program}' {} --threads 64 --engine sync --output s", words.join(" "));
    let few = crate::program::of("sh", here, &["-c", &shell]).output().unwrap();
    assert_eq!(few.status.code(), Some(2));
    assert!(!here.join("s").exists(), "{}", said(few));
}
