//! Ends halfpower in every way, and checks that no setting stays changed.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::program::{folder, skip};

/// Folder of the notes about changed settings.
const NOTES: &str = "/var/lib/halfpower";

fn begin(folder: &Path, words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_halfpower"));
    command.current_dir(folder).args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
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
        let folder = folder();
        let words = ["study", "sim:fixed=20us,rate=1GB/s,disks=8,noise=3%,jitter=10%", "--budget", "200s"];
        let study = begin(folder.path(), &words);
        while !folder.path().join("study.halfpower").exists() {
            std::thread::sleep(Duration::from_millis(2));
        }
        Command::new("kill").args([signal, &study.id().to_string()]).status().unwrap();
        let output = study.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("interrupted"), "{signal}: {said}");
    }
}
