//! What does the report say of each experiment? Studies of simulated targets, whose truth is known, and the section
//! that stands in their reports.
//!
//! The sections are kept in `golden/`; `HALFPOWER_BLESS=1` writes them anew, for a reader to look at.

use std::path::{Path, PathBuf};
use std::process::Command;

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

/// The section of one experiment, a tag a line.
fn section(page: &str, experiment: &str) -> String {
    let begin = page.find(&format!("<section class=\"experiment\" id=\"{experiment}\">")).expect("no such section");
    let end = begin + page[begin..].find("</section>").unwrap() + "</section>".len();
    page[begin..end]
        .replace('<', "\n<")
        .replace('>', ">\n")
        .lines()
        .filter(|line| !line.is_empty())
        .fold(String::new(), |text, line| text + line + "\n")
}

fn golden(page: &str, experiment: &str, name: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    let found = section(page, experiment);
    if std::env::var_os("HALFPOWER_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, kept, "{}: look at it, and bless it with HALFPOWER_BLESS=1 if it is right", path.display());
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
