//! What does the report say of each experiment? Studies of simulated targets, whose truth is known, and the section
//! that stands in their reports.

mod page;

use std::process::Command;

use page::golden;
use serde_json::Value;
use tempfile::TempDir;

/// The findings of a study, and its page.
fn study(target: &str, experiment: &str, more: &[&str]) -> (Value, String) {
    let folder = TempDir::new().unwrap();
    let words = ["study", target, "--experiments", experiment, "--budget", "60s", "--json"];
    let output = Command::new(env!("CARGO_BIN_EXE_halfpower"))
        .current_dir(folder.path())
        .args(words)
        .args(more)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(folder.path().join("study.html")).unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), page)
}

#[test]
fn a_disk_without_tracks_is_one_zone() {
    let (findings, page) = study("sim:fixed=80us,rate=500MB/s,noise=1%", "zones", &[]);
    let zones = findings["zones"].as_array().unwrap();
    assert_eq!(
        (zones.len(), zones[0]["from_bytes"].as_u64(), zones[0]["to_bytes"].as_u64()),
        (1, Some(0), Some(1 << 30))
    );
    // One at a time, a request of 1 MiB takes 80 us and 1 MiB at 500 MB/s.
    let truth = 1_048_576.0 / (80.0 + 1_048_576.0 / 500.0);
    assert!((zones[0]["mbps"].as_f64().unwrap() / truth - 1.0).abs() < 0.02, "{zones:?}, {truth}");
    golden(&page, "zones", "zones");
}
