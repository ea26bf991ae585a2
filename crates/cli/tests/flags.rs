//! Checks that flags with fio's names mean the same as in fio, and that both spellings of a setting give the same run.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::program::{folder, run};

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

#[test]
fn flags_that_would_do_nothing_are_refused() {
    let folder = folder();
    let here = folder.path();
    std::fs::create_dir(here.join("data")).unwrap();
    let small = ["study", "sim:", "--bs", "4k", "--iodepth", "1", "--budget", "5s", "--output", "s.halfpower"];
    assert!(run(here, &small).status.success());
    assert!(run(here, &["watch", "--no-trace", "-o", "w.json", "--", "true"]).status.success());
    for (line, expected) in [
        ("study data --engine null", "--engine null sends no request to data"),
        ("plan each:data,. --engine null", "--engine null sends no request"),
        ("study sim: --runtime 20s --budget 2s", "--runtime 20s is longer than --budget 2s"),
        ("study data --runtime 3m", "longer than --budget 120s"),
        ("study sim: --price 209", "add --experiments price"),
        ("export s.halfpower --format fio -o out --force", "leave --force out"),
        ("run data --credentials /nonexist", "is neither on a file server nor in a bucket"),
        ("study sim: --credentials /nonexist --output t", "is neither on a file server nor in a bucket"),
        ("probe data --credentials /nonexist", "is neither on a file server nor in a bucket"),
        ("compare --live data sim: --credentials /nonexist", "is neither on a file server nor in a bucket"),
        ("run sim: --drop-caches", "--drop-caches is about the page caches of this machine"),
        ("run sim: --timeout 5s", "--timeout 5s is for a target that may fail to answer"),
        ("watch --show w.json --for 5m", "--for <TIME>"),
        ("study sim: --direct 0", "leave --direct out"),
        ("study sim: --sync dsync", "leave --sync out"),
        ("study sim: --cache both", "leave --cache out"),
        ("study /proc", "no file can be made in this folder"),
    ] {
        let output = run(here, &line.split(' ').collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(expected) && output.stdout.is_empty(), "{line}: {said}");
    }
    let mut left: Vec<_> = std::fs::read_dir(here).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["data", "s.halfpower", "s.html", "w.json"]);
}

#[test]
fn a_peak_is_a_rate_as_the_help_writes_them_and_has_an_end() {
    let folder = folder();
    let study = |peak: &str| {
        let small = ["study", "sim:", "--bs", "4k", "--iodepth", "1", "--budget", "5s", "--peak", peak, "--json"];
        run(folder.path(), &small)
    };
    let endless = study(&format!("{}GB/s", "9".repeat(400)));
    let said = String::from_utf8_lossy(&endless.stderr);
    assert!(endless.status.code() == Some(2) && said.contains("no rate is as large as that"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let ended = study("500m");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    // The same rate in another spelling is the same question.
    assert!(study("500MiB/s").status.success());
}
