//! Collects the bytes of a file until it is complete, then gives the file its name.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::output::caller;

/// Prefix and suffix of the names of unfinished files, with sixteen random digits between them.
const PREFIX: &str = ".halfpower-";
const SUFFIX: &str = ".unfinished";

/// A folder, held by a descriptor, so that renaming it does not matter.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// Device and inode of the file `name` in this folder.
    pub(crate) fn inode(&self, name: &OsStr) -> Option<(u64, u64)> {
        let stat = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        #[allow(clippy::unnecessary_cast, reason = "its types differ between architectures")]
        Some((stat.st_dev as u64, stat.st_ino as u64))
    }

    /// Opens a regular file for reading, without blocking and without following links.
    pub(crate) fn look(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    /// Makes the names in the folder durable. Skips a folder that it may not read.
    fn sync(&self) -> io::Result<()> {
        match rustix::fs::openat(&self.0, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(readable) => match rustix::fs::fsync(readable) {
                // Some file systems cannot sync folders.
                Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
                other => Ok(other?),
            },
            Err(_) => Ok(()),
        }
    }
}

/// A file without a name, or with a name that nobody else knows.
#[derive(Debug)]
pub(crate) struct Unfinished<'a> {
    pub(crate) file: File,
    folder: &'a Folder,
    /// The temporary name; `None` for an unnamed file.
    name: Option<OsString>,
}

impl<'a> Unfinished<'a> {
    /// Creates an empty unfinished file, unnamed if possible.
    pub(crate) fn new(folder: &'a Folder) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(&folder.0, ".", flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => Ok(Self { file: File::from(file), folder, name: None }),
            // Some file systems and kernels do not support unnamed files.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => Self::named(folder),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates an empty file under an unpredictable name, locked so that no sweep removes it.
    pub(crate) fn named(folder: &'a Folder) -> io::Result<Self> {
        loop {
            let name = random_name();
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = match rustix::fs::openat(&folder.0, &name, flags, Mode::from_raw_mode(0o666)) {
                Err(Errno::EXIST) => continue,
                other => File::from(other?),
            };
            let _ = file.lock();
            let unfinished = Self { file, folder, name: Some(name) };
            // A sweep may have removed it between creation and locking.
            if unfinished.has_its_name()? {
                return Ok(unfinished);
            }
        }
    }

    fn has_its_name(&self) -> io::Result<bool> {
        let metadata = self.file.metadata()?;
        let there = self.name.as_ref().and_then(|name| self.folder.inode(name));
        Ok(there == Some((metadata.dev(), metadata.ino())))
    }

    /// Gives it the unused name `name`.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the name is taken.
    pub(crate) fn publish(mut self, name: &OsStr) -> io::Result<()> {
        caller::give(&self.file, &self.folder.0);
        self.file.sync_all()?;
        match &self.name {
            None => self.link(name)?,
            Some(own) => {
                match rustix::fs::renameat_with(&self.folder.0, own, &self.folder.0, name, RenameFlags::NOREPLACE) {
                    // Some file systems cannot rename without replacing; check the name first and then take it.
                    Err(Errno::INVAL | Errno::NOSYS) if self.folder.inode(name).is_none() => {
                        rustix::fs::renameat(&self.folder.0, own, &self.folder.0, name)?;
                    }
                    Err(Errno::INVAL | Errno::NOSYS) => return Err(io::ErrorKind::AlreadyExists.into()),
                    other => other?,
                }
                self.name = None;
            }
        }
        self.folder.sync()
    }

    /// Replaces the file `name` with it, whose group and permissions it takes if `old` tells them.
    pub(crate) fn replace(mut self, name: &OsStr, old: Option<&Metadata>) -> io::Result<()> {
        caller::give(&self.file, &self.folder.0);
        // By now it belongs to whom it will belong.
        old.into_iter().for_each(|old| take_after(&self.file, old));
        self.file.sync_all()?;
        if self.name.is_none() {
            let _ = self.file.lock();
            let own = random_name();
            self.link(&own)?;
            self.name = Some(own);
        }
        if let Some(own) = &self.name {
            rustix::fs::renameat(&self.folder.0, own, &self.folder.0, name)?;
        }
        self.name = None;
        self.folder.sync()
    }

    fn link(&self, name: &OsStr) -> io::Result<()> {
        let shown = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        match rustix::fs::linkat(CWD, shown, &self.folder.0, name, AtFlags::SYMLINK_FOLLOW) {
            // Without /proc, privileged processes can still link the descriptor.
            Err(Errno::NOENT) => Ok(rustix::fs::linkat(&self.file, "", &self.folder.0, name, AtFlags::EMPTY_PATH)?),
            other => Ok(other?),
        }
    }
}

/// Gives the new file the old one's group and permissions, if it is the same user's: rights that somebody else chose are not
/// given to a file of ours, and whoever runs a file never becomes its owner or group.
fn take_after(file: &File, old: &Metadata) {
    let Ok(new) = file.metadata() else { return };
    if new.uid() != old.uid() {
        return;
    }
    let has_its_group = new.gid() == old.gid() || std::os::unix::fs::fchown(file, None, Some(old.gid())).is_ok();
    if has_its_group {
        let _ = file.set_permissions(Permissions::from_mode(old.mode() & 0o777));
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name
            && self.has_its_name().unwrap_or(false)
        {
            let _ = rustix::fs::unlinkat(&self.folder.0, name, AtFlags::empty());
        }
    }
}

/// An unpredictable name: the standard library keys its hashes with the system's randomness.
fn random_name() -> OsString {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{PREFIX}{:016x}{SUFFIX}", hasher.finish()).into()
}

fn is_unfinished(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    digits.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Removes unfinished files of killed processes of this user from the folder of `path`, and returns their paths.
pub fn sweep(path: &Path) -> Vec<PathBuf> {
    let whole = crate::output::followed(path);
    let folder = whole.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let unfinished = entries.filter_map(|entry| entry.ok()).filter(|entry| is_unfinished(&entry.file_name()));
    unfinished.map(|entry| entry.path()).filter(|path| removed(path).unwrap_or(false)).collect()
}

/// Removes `path` if it belongs to this user and nobody holds it.
fn removed(path: &Path) -> io::Result<bool> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags.bits() as i32).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.uid() != rustix::process::geteuid().as_raw() || file.try_lock().is_err() {
        return Ok(false);
    }
    let there = path.symlink_metadata()?;
    if (there.dev(), there.ino()) != (metadata.dev(), metadata.ino()) {
        return Ok(false);
    }
    fs::remove_file(path)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn files_with_and_without_a_name_come_to_their_own() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        for (round, make) in [Unfinished::new, Unfinished::named].iter().enumerate() {
            let name = OsString::from(format!("file-{round}"));
            for text in ["one", "two"] {
                let mut unfinished = make(&folder).unwrap();
                unfinished.file.write_all(text.as_bytes()).unwrap();
                match text {
                    "one" => unfinished.publish(&name).unwrap(),
                    _ => unfinished.replace(&name, None).unwrap(),
                }
                assert_eq!(fs::read_to_string(place.path().join(&name)).unwrap(), text);
            }
            let taken = make(&folder).unwrap().publish(&name);
            assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            drop(make(&folder).unwrap());
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), round + 1, "nothing stays beside it");
        }
    }

    #[test]
    fn a_sweep_takes_what_nobody_holds() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let living = Unfinished::named(&folder).unwrap();
        assert!(sweep(&place.path().join("any")).is_empty());
        // A killed process removes no file, but its lock ends.
        let name = living.name.clone().unwrap();
        living.file.unlock().unwrap();
        assert_eq!(sweep(&place.path().join("any")), [place.path().canonicalize().unwrap().join(name)]);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
