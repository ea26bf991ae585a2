//! Reads small text files of /proc and /sys below a given root; a file that is missing or malformed is `None`.
//!
//! Paths enter relative to the root, without a leading slash, and leave the same way.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use halfpower_os::DeviceNumber;

/// The folder that /proc, /sys and /run are looked for in: `/` of the running system, or a tree that a test
/// laid out.
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

    /// The text of a file, without the white space around it.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.base.join(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_string())
    }

    /// A file that holds one number, or whose first word is one.
    pub(crate) fn number<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.split_whitespace().next()?.parse().ok()
    }

    /// The names in a folder, sorted; none where there is no folder.
    pub(crate) fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.base.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether there is such a file or folder.
    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.base.join(path).exists()
    }

    /// The parts of a mapped device, as `dmsetup table` has them behind start and length; `None` where that is not told. In
    /// a tree that was laid out the file `mapping/MAJOR:MINOR` has them.
    pub(crate) fn mapping(&self, number: DeviceNumber) -> Option<Vec<String>> {
        match self.base == Path::new("/") {
            true => halfpower_os::device_mapper::table(number).ok(),
            false => Some(self.text(format!("mapping/{number}"))?.lines().map(str::to_string).collect()),
        }
    }

    /// The path with every symbolic link followed, as long as it stays below the root.
    pub(crate) fn resolve(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let real = fs::canonicalize(self.base.join(path)).ok()?;
        real.strip_prefix(&self.base).ok().map(Path::to_path_buf)
    }
}
