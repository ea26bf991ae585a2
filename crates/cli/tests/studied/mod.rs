//! Runs studies of some experiments and returns their findings and pages.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// The findings of a study of a minute, unless `more` says otherwise, and its page.
pub fn study(target: &str, experiment: &str, more: &[&str]) -> (Value, String) {
    let folder = TempDir::new().unwrap();
    let words = ["study", target, "--experiments", experiment, "--json"];
    let minute: &[&str] = if more.contains(&"--budget") { &[] } else { &["--budget", "60s"] };
    let output = Command::new(env!("CARGO_BIN_EXE_halfpower"))
        .current_dir(folder.path())
        .args(words)
        .args(minute)
        .args(more)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(folder.path().join("study.html")).unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), page)
}
