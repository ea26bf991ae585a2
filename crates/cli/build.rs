//! Passes commit, features, target and profile to the program, and the schemas, deflated; without git, the commit is `unknown`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::DeflateEncoder;

const SCHEMAS: &str = "../../docs/schema";

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (!text.is_empty()).then_some(text)
}

/// Writes names and texts of all schemas in turns, each with a NUL behind it.
fn deflate_schemas(to: &Path) -> io::Result<()> {
    let entries: Vec<PathBuf> = fs::read_dir(SCHEMAS)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    let mut files: Vec<PathBuf> =
        entries.into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "json")).collect();
    files.sort();
    let mut deflated = DeflateEncoder::new(File::create(to)?, Compression::best());
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        write!(deflated, "{name}\0{}\0", fs::read_to_string(&file)?)?;
    }
    deflated.finish()?;
    Ok(())
}

fn main() -> io::Result<()> {
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SCHEMAS}");
    let built = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    deflate_schemas(&built.join("schemas"))?;
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
    Ok(())
}
