//! Reads small text files of /proc and /sys and the mount table below a given root; a missing or malformed file is `None`.
//!
//! Paths are relative to the root, without a leading slash, in arguments and results.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use halfpower_os::DeviceNumber;
use halfpower_os::mounts::{Mount, parse};

/// The folder that contains /proc, /sys and /run: `/` of the running system, or a tree laid out by a test.
#[derive(Debug, Clone)]
pub struct Root {
    base: PathBuf,
}

impl Root {
    /// The running system.
    pub fn live() -> Self {
        Self::at(Path::new("/"))
    }

    /// A tree laid out below `base`.
    pub fn at(base: &Path) -> Self {
        Self { base: fs::canonicalize(base).unwrap_or_else(|_| base.to_path_buf()) }
    }

    /// The text of a file, with surrounding white space removed.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.base.join(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_string())
    }

    /// The first word of a file, parsed as a number.
    pub(crate) fn number<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.split_whitespace().next()?.parse().ok()
    }

    /// The names in a folder, sorted; empty if the folder does not exist.
    pub(crate) fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.base.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether this file or folder exists.
    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.base.join(path).exists()
    }

    /// The parts of a mapped device, as `dmsetup table` prints them after start and length; `None` if unknown. A
    /// laid-out tree keeps them in the file `mapping/MAJOR:MINOR`.
    pub(crate) fn mapping(&self, number: DeviceNumber) -> Option<Vec<String>> {
        match self.base == Path::new("/") {
            true => halfpower_os::device_mapper::table(number).ok(),
            false => Some(self.text(format!("mapping/{number}"))?.lines().map(str::to_string).collect()),
        }
    }

    /// The path with every symbolic link resolved, if it stays below the root.
    pub(crate) fn resolve(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let real = fs::canonicalize(self.base.join(path)).ok()?;
        real.strip_prefix(&self.base).ok().map(Path::to_path_buf)
    }
}

/// The mount table in mount order; unreadable lines are left out.
pub(crate) fn mounts(root: &Root) -> Vec<Mount> {
    parse(root.text("proc/self/mountinfo").unwrap_or_default().as_bytes())
}
