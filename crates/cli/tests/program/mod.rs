//! Runs the program as its users do, in a folder of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder on the disk that the build is on, which memory file systems would not stand for.
pub fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The program with these words, in this folder, with nothing to read.
pub fn command(folder: &Path, words: &[&str]) -> Command {
    of(env!("CARGO_BIN_EXE_halfpower"), folder, words)
}

/// The program as it is built without any feature: this one, or the one that `HALFPOWER_DEFAULT` names.
pub fn without_features() -> Option<PathBuf> {
    if !cfg!(any(feature = "mpi", feature = "s3")) {
        return Some(env!("CARGO_BIN_EXE_halfpower").into());
    }
    let named = std::env::var_os("HALFPOWER_DEFAULT").map(PathBuf::from);
    if named.is_none() {
        skip("HALFPOWER_DEFAULT names no program without features: cargo build --release -p halfpower");
    }
    named
}

/// Another program with these words.
pub fn of(program: impl AsRef<OsStr>, folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    // Whatever the user has kept: baselines of the tests are beside what they try.
    command.current_dir(folder).args(words).stdin(Stdio::null()).env("XDG_DATA_HOME", folder.join(".data"));
    command
}

/// What it printed and how it ended.
pub fn run(folder: &Path, words: &[&str]) -> Output {
    command(folder, words).output().unwrap()
}

/// Says aloud that a test cannot be run here; fails where it has to.
pub fn skip(what: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
    eprintln!("skipped: {what}");
}
