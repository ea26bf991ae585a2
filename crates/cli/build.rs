//! Passes commit, features, target and profile to the program; without git, the commit is `unknown`.

use std::process::Command;

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (!text.is_empty()).then_some(text)
}

fn main() {
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    let commit = git(&["rev-parse", "--short=10", "HEAD"]).unwrap_or_else(|| "unknown".to_string());
    println!("cargo::rustc-env=HALFPOWER_COMMIT={commit}");
    let mut features: Vec<String> = std::env::vars()
        .filter_map(|(name, _)| name.strip_prefix("CARGO_FEATURE_").map(|feature| feature.to_lowercase()))
        .filter(|feature| feature != "default")
        .collect();
    features.sort();
    let features = if features.is_empty() { "none".to_string() } else { features.join(", ") };
    println!("cargo::rustc-env=HALFPOWER_FEATURES={features}");
    for (name, variable) in [("HALFPOWER_TARGET", "TARGET"), ("HALFPOWER_PROFILE", "PROFILE")] {
        println!("cargo::rustc-env={name}={}", std::env::var(variable).unwrap_or_default());
    }
}
