//! Runs the program as its users do, in a separate folder.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use tempfile::TempDir;

/// A folder on the build's disk, and not in a memory file system, which may lack direct I/O.
pub fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A command for the program with these words in this folder, with empty input.
pub fn command(folder: &Path, words: &[&str]) -> Command {
    of(env!("CARGO_BIN_EXE_halfpower"), folder, words)
}

/// The program built without features: this one, or the one that `HALFPOWER_DEFAULT` names.
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

/// A command for another program with these words. It ends by Ctrl-C also where the tests themselves do not.
pub fn of(program: impl AsRef<OsStr>, folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(if ignores_signals() { OsStr::new("env") } else { program.as_ref() });
    if ignores_signals() {
        command.arg("--default-signal=HUP,INT,QUIT").arg(program);
    }
    // Keep baselines of tests in their folder, apart from the user's; lines are as wide as the program decides.
    command.current_dir(folder).args(words).stdin(Stdio::null()).env("XDG_DATA_HOME", folder.join(".data"));
    command.env("XDG_CACHE_HOME", folder.join(".cache"));
    command.env_remove("COLUMNS");
    command
}

/// Whether these tests ignore SIGHUP, SIGINT or SIGQUIT, as a shell without job control lets what it begins in the background.
fn ignores_signals() -> bool {
    static IGNORES: LazyLock<bool> = LazyLock::new(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // Bit 0 is signal 1, SIGHUP.
        ignored.unwrap_or(0) & 0b111 != 0
    });
    *IGNORES
}

/// Runs the program, and returns its exit status and its output, of which what it said of its own work.
pub fn run(folder: &Path, words: &[&str]) -> Output {
    let output = command(folder, words).output().unwrap();
    let stderr = output.stderr.split_inclusive(|byte| *byte == b'\n').filter(|line| !is_of_another(line));
    Output { stderr: stderr.flatten().copied().collect(), ..output }
}

/// What it said on standard error of its own work, without the files that killed ones left where it writes.
pub fn said_of_its_own(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let is_its_own = |line: &&str| !is_of_another(line.as_bytes()) && !line.contains("which a killed halfpower left");
    said.split_inclusive('\n').filter(is_its_own).collect()
}

/// Whether a line is of another process: whichever program starts next removes what a killed halfpower left on the machine and
/// puts back what it had switched, and says so, and tests that run meanwhile kill theirs.
fn is_of_another(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    let tells = ["the trace instance ", " switched (it was `", " again, as before a halfpower that was killed"];
    tells.iter().any(|words| line.contains(words))
}

/// Whether the tests run as root, who can start programs as other users.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// A copy of the program: another user may be kept from the folder of the build.
pub fn for_other_users() -> (TempDir, PathBuf) {
    let copy = tempfile::tempdir().unwrap();
    let program: PathBuf = copy.path().join("halfpower");
    // Another process writes it: what other tests start meanwhile would hold it open for writing, which nobody may execute.
    let copied = Command::new("cp").args([Path::new(env!("CARGO_BIN_EXE_halfpower")), &program]).status().unwrap();
    assert!(copied.success());
    for path in [copy.path(), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    (copy, program)
}

/// Runs the program at this path as this user.
pub fn as_user(program: &Path, user: u32, words: &[&str]) -> Output {
    Command::new(program).args(words).current_dir("/").uid(user).gid(user).output().unwrap()
}

/// Prints that a test is skipped; fails if tests must not be skipped.
pub fn skip(what: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
    eprintln!("skipped: {what}");
}
