//! Checks what a user sees of faults: exit codes, the report's section on faults, and runs that always end.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::program::folder;

fn halfpower(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_halfpower"));
    command.current_dir(folder).args(words.split(' ')).stdin(Stdio::null()).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn wrong_data_and_failed_requests_exit_with_1_and_a_run_that_failed_whole_with_2() {
    let folder = folder();
    let run = |constants: &str, words: &str| {
        halfpower(folder.path(), &format!("run sim:size=1MiB,{constants} --bs 4KiB -d 200ms {words}"))
    };
    let wrong = run("flip=20%", "--verify --rw read");
    assert_eq!(wrong.status.code(), Some(1), "{}", stderr(&wrong));
    assert!(stderr(&wrong).contains("wrong data"), "{}", stderr(&wrong));
    let failed = run("errors=100%", "--rw read");
    assert_eq!(failed.status.code(), Some(2), "{}", stderr(&failed));
    assert!(stderr(&failed).contains("every request failed (EIO)"), "{}", stderr(&failed));
    let some = run("errors=1%", "--rw read");
    assert_eq!(some.status.code(), Some(1), "{}", stderr(&some));
    let said = stderr(&some);
    assert!(
        said.contains("requests failed: ") && said.contains(" (EIO ") && said.contains("of those that succeeded"),
        "{said}"
    );
    let none = run("jitter=1%", "--rw read");
    assert_eq!(none.status.code(), Some(0), "{}", stderr(&none));
}

#[test]
fn faults_of_any_experiment_are_in_text_page_and_json() {
    let folder = folder();
    let target = "sim:size=64MiB,errors=2%,short=2%";
    let study = format!("study {target} --experiments engines,processors --budget 20s --output s.halfpower");
    let output = halfpower(folder.path(), &study);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("! ") && text.contains("failed with EIO"), "{text}{}", stderr(&output));
    let json = halfpower(folder.path(), "report s.halfpower --json");
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let faults = json["faults"].as_array().unwrap();
    assert!(faults.iter().any(|fault| fault["error"] == "EIO" && fault["requests"].as_u64() > Some(0)), "{faults:?}");
    assert!(faults.iter().any(|fault| fault["kind"] == "short"), "{faults:?}");
    let page = std::fs::read_to_string(folder.path().join("s.html")).unwrap();
    assert!(page.contains("id=\"faults\""));
}

#[test]
fn a_study_in_which_nothing_succeeded_exits_with_2() {
    let folder = folder();
    let output = halfpower(
        folder.path(),
        "study sim:size=64MiB,errors=100% --experiments engines --budget 5s --output s.halfpower",
    );
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("every request failed"), "{}", stderr(&output));
}

#[test]
fn readers_without_room_are_refused() {
    let words = "run . --size 64MiB --rw read --bs 4KiB --region 0+4KiB --random-readers 1 -d 1s";
    let output = halfpower(folder().path(), words);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--random-readers"), "{}", stderr(&output));
}

#[test]
fn buffers_that_a_limit_of_the_process_leaves_no_room_for_are_told_with_that_limit() {
    let folder = folder();
    std::fs::write(folder.path().join("data"), vec![1; 16 << 20]).unwrap();
    let program = env!("CARGO_BIN_EXE_halfpower");
    for limit in ["ulimit -v", "ulimit -d"] {
        let script =
            format!("{limit} 250000; exec timeout 60 {program} run data --rw read --bs 16MiB --iodepth 24 -d 100ms");
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && !said.contains("panicked"), "{limit}: {said}");
        // A machine with less than 768 MiB refuses for its own memory.
        assert!(said.contains(&format!("256000000 bytes, `{limit}`")) || said.contains("may be used here"), "{said}");
    }
}

/// Threads that cannot get their stacks give an error, never a hang.
#[test]
fn little_address_space_ends_the_run() {
    let folder = folder();
    let program = env!("CARGO_BIN_EXE_halfpower");
    for limit_kib in [90_000, 120_000, 150_000, 200_000] {
        let script =
            format!("ulimit -v {limit_kib}; exec timeout 60 {program} run null: --threads 64 --engine null -d 100ms");
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        let code = output.status.code();
        assert!(code == Some(0) || code == Some(2), "{limit_kib}: {code:?} {}", stderr(&output));
    }
}
