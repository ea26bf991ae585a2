//! Checks that flags with fio's names mean the same as in fio, and that both spellings of a setting give the same run.

use std::process::{Command, Stdio};

use serde_json::Value;

/// The settings of a run of the simulated disk with these flags.
fn workload(words: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_halfpower"))
        .args(["run", "sim:", "--runtime", "20ms", "--json"])
        .args(words)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let settings = ["rw", "bs_bytes", "iodepth", "threads", "cache", "rate_iops", "arrivals", "seed"];
    settings.iter().map(|key| (key.to_string(), record[*key].clone())).collect()
}

#[test]
fn a_rate_is_bytes_a_second_and_its_requests_follow_from_the_block_size() {
    let expected = workload(&["--bs", "4k", "--rate-iops", "2560"]);
    assert_eq!(expected["rate_iops"], 2560);
    for rate in ["10MiB/s", "10m"] {
        assert_eq!(workload(&["--bs", "4k", "--rate", rate]), expected, "{rate}");
    }
    assert_eq!(workload(&["--bs", "8k", "--rate", "10m"])["rate_iops"], 1280);
    assert_eq!(workload(&["--rate_iops", "100", "--arrivals", "poisson"])["arrivals"], "poisson");
}

#[test]
fn the_spellings_of_fio_mean_the_same() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--blocksize", "4kb", "--numjobs", "2"], &["--bs", "4KiB", "--threads", "2"]),
        (&["--direct", "1"], &["--cache", "device"]),
        (&["--cache", "direct"], &["--cache", "device"]),
        (&["--direct=1", "--sync=dsync"], &["--cache", "none"]),
    ];
    for (theirs, ours) in cases {
        assert_eq!(workload(theirs), workload(ours), "{theirs:?}");
    }
}

#[test]
fn every_command_parses_its_own_help() {
    for command in [
        "study",
        "run",
        "plan",
        "memory",
        "probe",
        "doctor",
        "watch",
        "predict",
        "report",
        "compare",
        "history",
        "export",
        "calibrate",
        "systems",
        "sqlio",
        "diskspd",
        "generate",
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_halfpower")).args([command, "--help"]).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
