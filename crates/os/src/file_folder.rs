//! Makes a folder of our own for small files, and removes it with them at the end; the next start removes what killed
//! processes left.
//!
//! Nothing is removed but files and folders of the names that are given here, within a folder of the name that is given
//! here, which this user owns and no process holds.
//!
//! ext4 without a journal passes over each inode that was freed in the last minutes before it gives one to a new file, so
//! after some thousands of removals in the same block group a creation takes twenty times as long. The folder is therefore
//! marked as the top of a tree of its own (`chattr +T`), for which ext4 puts the folder within it into another block group.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, DirEntry, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

use crate::OsError;

/// What the names of such folders begin with, of the folders of threads in them, and of the files. A folder has one of the
/// same name within it, which holds all else: ext4 chooses the block group of a folder by its name.
const PREFIX: &str = ".halfpower-files-";
const THREAD: &str = "thread-";
const FILE: &str = "file-";
/// What the other name of a file ends with.
const RENAMED: &str = "-renamed";

/// A folder for small files; it is emptied and removed when this value is dropped.
#[derive(Debug)]
pub struct FileFolder {
    path: PathBuf,
    /// The folder of all threads within it.
    all: PathBuf,
    /// Held so that no sweep empties the folder.
    _lock: File,
}

impl FileFolder {
    /// Creates an empty folder in `folder`.
    ///
    /// # Errors
    /// If `folder` is not a folder, or may not be written to.
    pub fn new_in(folder: &Path) -> Result<Self, OsError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let refused = |error: io::Error| OsError::of("mkdir", "written to", folder, error);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                // A process of this number on another host, or one that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(refused(error)),
            }
            let lock = match File::open(&path) {
                Ok(lock) => lock,
                // A sweep may have removed it before it was held.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(refused(error)),
            };
            // Not every file system has locks; where one is held, it is a sweep's.
            if !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) && is_at(&lock, &path) {
                mark_as_top(&lock);
                let all = path.join(path.file_name().unwrap_or_default());
                let made = Self { path, all: all.clone(), _lock: lock };
                return fs::create_dir(&all)
                    .map(|()| made)
                    .map_err(|error| OsError::of("mkdir", "written to", &all, error));
            }
        }
    }

    /// The folder that a thread has its files in: one of its own, or the one of all threads.
    pub fn of_thread(&self, thread: u32, is_own: bool) -> PathBuf {
        if is_own { self.all.join(format!("{THREAD}{thread}")) } else { self.all.clone() }
    }
}

/// Marks a folder of ours as the top of a tree, where the file system knows such.
fn mark_as_top(folder: &File) {
    if let Ok(flags) = ioctl_getflags(folder) {
        // A file system without the flag refuses it, and places folders by rules of its own.
        let _ = ioctl_setflags(folder, flags | IFlags::TOPDIR);
    }
}

impl Drop for FileFolder {
    fn drop(&mut self) {
        // What cannot be removed now, the next start removes.
        let _ = clear(&self.path, Holds::All);
    }
}

/// Both names of a file in its folder: the one that it is made with, and the one that it may be renamed to.
pub fn file_names(number: u64) -> [String; 2] {
    [format!("{FILE}{number}"), format!("{FILE}{number}{RENAMED}")]
}

/// Removes such folders that killed processes left in `folder`, and returns their paths. A folder that a process holds
/// stays, and so does one with anything else in it.
pub fn sweep_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    ours.map(|entry| entry.path()).filter(|path| sweep(path).unwrap_or(false)).collect()
}

/// Removes one such folder if nobody holds it; whether it did.
fn sweep(path: &Path) -> io::Result<bool> {
    let metadata = path.symlink_metadata()?;
    if !metadata.is_dir() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Ok(false);
    }
    // Held until it is gone.
    let lock = File::open(path)?;
    match lock.try_lock() {
        Ok(()) if is_at(&lock, path) => clear(path, Holds::All).map(|()| true),
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether the opened folder is the one at the path.
fn is_at(opened: &File, path: &Path) -> bool {
    let numbers = |metadata: io::Result<fs::Metadata>| metadata.map(|metadata| (metadata.dev(), metadata.ino())).ok();
    let of_path = numbers(path.symlink_metadata());
    of_path.is_some() && numbers(opened.metadata()) == of_path
}

/// Which folders a folder of ours may have in it.
#[derive(Clone, Copy)]
enum Holds {
    /// The one of all threads.
    All,
    /// Those of threads.
    Threads,
    Files,
}

impl Holds {
    /// What is in the folder of this name within `folder`, if it is one of those.
    fn within(self, folder: &Path, name: &OsStr) -> Option<Self> {
        match self {
            Self::All => (folder.file_name() == Some(name)).then_some(Self::Threads),
            Self::Threads => has_number(name, THREAD, "").then_some(Self::Files),
            Self::Files => None,
        }
    }
}

/// Removes the files of our names in a folder, what it holds, and then itself.
fn clear(folder: &Path, holds: Holds) -> io::Result<()> {
    // Read as a whole: some file systems leave names out while others are removed.
    let entries: Vec<DirEntry> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    for entry in entries {
        let name = entry.file_name();
        let kind = entry.file_type()?;
        if kind.is_file() && is_file_name(&name) {
            fs::remove_file(entry.path())?;
        } else if let Some(within) = holds.within(folder, &name).filter(|_| kind.is_dir()) {
            clear(&entry.path(), within)?;
        }
    }
    fs::remove_dir(folder)
}

fn is_file_name(name: &OsStr) -> bool {
    has_number(name, FILE, "") || has_number(name, FILE, RENAMED)
}

/// Whether the name is a number between these two.
fn has_number(name: &OsStr, before: &str, after: &str) -> bool {
    let number = name.to_str().and_then(|name| name.strip_prefix(before)?.strip_suffix(after));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether the file system of `folder` has room for so many more files of `bytes_each`, in a quarter of what is free.
///
/// # Errors
/// If the file system does not report it.
pub fn has_room_for_files(folder: &Path, files: u64, bytes_each: u64) -> Result<bool, OsError> {
    let space = rustix::fs::statvfs(folder).map_err(|error| OsError::of("statvfs", "looked at", folder, error))?;
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    // A file has whole blocks. Some file systems make inodes as they need them, and report none.
    let block_bytes = bytes_each.next_multiple_of(space.f_frsize.max(1));
    let has_bytes = files.saturating_mul(block_bytes) <= free_bytes / 4;
    Ok(has_bytes && (space.f_files == 0 || files <= space.f_favail / 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    fn is_top(folder: &Path) -> bool {
        ioctl_getflags(File::open(folder).unwrap()).is_ok_and(|flags| flags.contains(IFlags::TOPDIR))
    }

    /// Whether the file system of `place` keeps the flag for the top of a tree.
    fn is_top_known(place: &Path) -> bool {
        let tried = place.join("tried");
        fs::create_dir(&tried).unwrap();
        let _ = ioctl_setflags(File::open(&tried).unwrap(), IFlags::TOPDIR);
        let is_known = is_top(&tried);
        fs::remove_dir(&tried).unwrap();
        is_known
    }

    #[test]
    fn a_folder_goes_with_its_maker_and_all_its_files() {
        let place = tempfile::tempdir().unwrap();
        let folder = FileFolder::new_in(place.path()).unwrap();
        let other = FileFolder::new_in(place.path()).unwrap();
        let inner = |folder: &FileFolder| folder.of_thread(0, false).file_name().map(OsStr::to_os_string);
        assert_ne!(inner(&folder), inner(&other), "each is placed by its name");
        let own = folder.of_thread(3, true);
        fs::create_dir(&own).unwrap();
        assert_eq!(folder.of_thread(3, false), own.parent().unwrap());
        let [first, renamed] = file_names(17);
        fs::write(own.join(&first), b"small").unwrap();
        assert_eq!(is_top(&folder.path), is_top_known(place.path()), "where the file system has the flag");
        fs::write(folder.of_thread(0, false).join(&renamed), b"small").unwrap();
        assert_eq!(sweep_files(place.path()), Vec::<PathBuf>::new(), "somebody holds them");
        drop((folder, other));
        assert_eq!(names(place.path()), 0);
        assert!(FileFolder::new_in(&place.path().join("nowhere")).is_err());
    }

    #[test]
    fn what_a_killed_process_left_is_swept_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let left = place.path().join(format!("{PREFIX}1-0"));
        let left_all = left.join(format!("{PREFIX}1-0"));
        fs::create_dir_all(left_all.join("thread-0")).unwrap();
        fs::write(left_all.join("thread-0/file-0"), b"left").unwrap();
        fs::write(left_all.join("file-9-renamed"), b"left").unwrap();
        let used = place.path().join(format!("{PREFIX}1-1"));
        fs::create_dir_all(used.join("thread-x")).unwrap();
        for name in ["file-", "file-1x", "file-1-renamed-2", "thread-x/file-1"] {
            fs::write(used.join(name), b"somebody's").unwrap();
        }
        std::os::unix::fs::symlink(place.path(), used.join(format!("{PREFIX}1-1"))).unwrap();
        std::os::unix::fs::symlink(&used, place.path().join(format!("{PREFIX}1-2"))).unwrap();
        fs::write(place.path().join("file-5"), b"somebody's").unwrap();
        assert_eq!(sweep_files(place.path()), [left]);
        assert_eq!((names(place.path()), names(&used), names(&used.join("thread-x"))), (3, 5, 1));
    }

    #[test]
    fn files_take_whole_blocks_of_what_is_free() {
        let place = tempfile::tempdir().unwrap();
        assert!(has_room_for_files(place.path(), 1, 1).unwrap());
        assert!(!has_room_for_files(place.path(), 1 << 50, 1).unwrap());
    }
}
