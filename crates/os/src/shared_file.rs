//! Creates a file that several processes open by name, and removes it at the end; the next start removes a file that
//! killed processes left.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::{DataFile, OsError};

/// Prefix of the names of such files.
const PREFIX: &str = ".halfpower-hosts-";

/// A file that other processes open too; it is removed when this value is dropped.
#[derive(Debug)]
pub struct SharedFile {
    path: PathBuf,
    /// Held so that no sweep removes the file.
    _lock: File,
}

impl SharedFile {
    /// Creates an empty file in `folder`, which other processes find by `word`. Also returns the opened file.
    ///
    /// # Errors
    /// If `folder` is not a folder, or may not be written to.
    pub fn new(folder: &Path, word: &str) -> Result<(Self, DataFile), OsError> {
        let path = folder.join(format!("{PREFIX}{word}"));
        let refused = |error| OsError::of("open", "written to", folder, error);
        let file =
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path).map_err(refused)?;
        // Not every file system has locks.
        let _ = file.try_lock();
        let shared = Self { path, _lock: file };
        let data = DataFile::open(&shared.path, true)?;
        Ok((shared, data))
    }

    /// Opens the file that another process created with `word`.
    ///
    /// # Errors
    /// If it does not exist, or may not be written to.
    pub fn open(folder: &Path, word: &str) -> Result<DataFile, OsError> {
        DataFile::open(&folder.join(format!("{PREFIX}{word}")), true)
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        // It may have been removed already.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes such files that killed processes left in `folder`, and returns their paths. A file that a process holds
/// stays.
pub fn sweep_shared(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    ours.map(|entry| entry.path())
        .filter(|path| is_left(path).unwrap_or(false) && fs::remove_file(path).is_ok())
        .collect()
}

/// Whether no process holds the file.
fn is_left(path: &Path) -> io::Result<bool> {
    if !path.symlink_metadata()?.is_file() {
        return Ok(false);
    }
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file.metadata()?.ino() == path.symlink_metadata()?.ino()),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_file_goes_with_its_maker_and_is_swept_where_that_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let (shared, data) = SharedFile::new(folder.path(), "ab").unwrap();
        let other = SharedFile::open(folder.path(), "ab").unwrap();
        data.write_all_at(b"seen", 3).unwrap();
        let mut bytes = [0; 4];
        other.read_at(&mut bytes, 3).unwrap();
        assert_eq!(&bytes, b"seen");
        assert!(SharedFile::new(folder.path(), "ab").is_err(), "the name is taken");
        assert_eq!(sweep_shared(folder.path()), Vec::<PathBuf>::new(), "somebody holds it");
        drop((shared, data, other));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let left = folder.path().join(".halfpower-hosts-cd");
        fs::write(&left, b"left").unwrap();
        fs::write(folder.path().join("mine"), b"kept").unwrap();
        assert_eq!(sweep_shared(folder.path()), [left]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
