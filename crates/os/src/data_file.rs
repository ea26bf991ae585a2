//! Opens the data that requests reach: an unnamed file that vanishes with the process, an existing file, or a block
//! device.
//!
//! A [`DataFile`] prepares the data and opens a [`RunFile`] for each mode of access. Its page cache is handled in
//! `page_cache`, its extents in `extents`.
//!
//! Some file systems know no files without a name. Most let a file lose its name at once. An SMB mount opens no file
//! again whose name is gone: there the name stays until the file is closed, and the next start removes those that
//! killed processes left.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FallocateFlags, SeekFrom};
use rustix::io::Errno;

use crate::interrupt::resumed;
use crate::mounts::mounted_at;
use crate::{DeviceNumber, Mode, OsError, RunFile};

/// `f_type` of overlayfs (<linux/magic.h>).
pub(crate) const OVERLAYFS_SUPER_MAGIC: i64 = 0x794c_7630;

/// The kind of object at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A regular file.
    Regular,
    /// A block device.
    Block,
    /// Anything else: a character device, a pipe, a socket.
    Other,
}

/// The data that runs work on. While it exists, a device opened for writing cannot be mounted.
#[derive(Debug)]
pub struct DataFile {
    file: File,
    kind: Kind,
    path: PathBuf,
    /// Whether it may be written to; reopening respects this.
    writable: bool,
    /// The name of a file of our own that cannot do without one.
    _name: Option<KeptName>,
}

/// Tells one object from all others, whatever names lead to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    file_system: u64,
    inode: u64,
    /// The number of a device.
    device: u64,
    kind: Kind,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        let kind = kind_of(metadata.file_type());
        Self { file_system: metadata.dev(), inode: metadata.ino(), device: metadata.rdev(), kind }
    }
}

/// Which object is at `path`, following links.
///
/// # Errors
/// As [`kind`].
pub fn identity(path: &Path) -> Result<Identity, OsError> {
    let metadata = path.metadata().map_err(|error| OsError::of("stat", "looked at", path, error))?;
    Ok(Identity::of(&metadata))
}

/// Whether an open file is the object that was seen at its path.
fn is_same(file: &File, seen: Identity) -> io::Result<bool> {
    let found = Identity::of(&file.metadata()?);
    // Overlayfs may give a file other numbers as it copies it to be written to.
    let are_files = (found.kind, seen.kind) == (Kind::Regular, Kind::Regular);
    Ok(found == seen || are_files && rustix::fs::fstatfs(file)?.f_type == OVERLAYFS_SUPER_MAGIC)
}

/// The kind of object at `path`, following links.
///
/// # Errors
/// If it does not exist or may not be examined.
pub fn kind(path: &Path) -> Result<Kind, OsError> {
    let metadata = path.metadata().map_err(|error| OsError::of("stat", "looked at", path, error))?;
    Ok(kind_of(metadata.file_type()))
}

fn kind_of(file_type: FileType) -> Kind {
    if file_type.is_dir() {
        Kind::Folder
    } else if file_type.is_file() {
        Kind::Regular
    } else if file_type.is_block_device() {
        Kind::Block
    } else {
        Kind::Other
    }
}

/// Whether `folder` lies in the system's folder of devices: on the same file system as `/dev`, and below it.
pub fn holds_devices(folder: &Path) -> bool {
    let devices = Path::new("/dev");
    let is_below = folder.canonicalize().is_ok_and(|folder| folder.starts_with(devices));
    let on = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    is_below && on(folder) == on(devices)
}

/// Bytes that an ordinary user can still write under `folder`.
///
/// # Errors
/// If the file system does not report it.
pub fn free_bytes(folder: &Path) -> Result<u64, OsError> {
    let space = rustix::fs::statvfs(folder).map_err(|error| OsError::of("statvfs", "looked at", folder, error))?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

/// [`free_bytes`], or if these are less than `wanted`, those after a commit of the file system: the blocks of a file that
/// was just removed are free only then (ext4).
///
/// # Errors
/// If the file system does not report it.
pub fn free_bytes_of(folder: &Path, wanted: u64) -> Result<u64, OsError> {
    let free = free_bytes(folder)?;
    if free >= wanted {
        return Ok(free);
    }
    // If it cannot be committed, what is free stays as it was.
    if let Ok(opened) = std::fs::File::open(folder) {
        let _ = rustix::fs::syncfs(&opened);
    }
    free_bytes(folder)
}

impl DataFile {
    /// Creates an empty, unnamed file in `folder`: nothing is left behind, however the process ends.
    ///
    /// # Errors
    /// If `folder` is not a folder, or may not be written to.
    pub fn unnamed_in(folder: &Path) -> Result<Self, OsError> {
        let refused = |error| OsError::of("open", "written to", folder, error);
        let unnamed = OpenOptions::new()
            .read(true)
            .write(true)
            .mode(0o600)
            .custom_flags(libc::O_TMPFILE | libc::O_EXCL)
            .open(folder);
        let file = match unnamed {
            Err(error) if no_unnamed_files(&error) && folder.is_dir() => {
                return Self::of_unlinked(folder).map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound if folder.is_dir() => OsError::NoFiles { path: folder.to_path_buf() },
                    _ => refused(error),
                });
            }
            other => other.map_err(refused)?,
        };
        Ok(Self { file, kind: Kind::Regular, path: folder.to_path_buf(), writable: true, _name: None })
    }

    fn of_unlinked(folder: &Path) -> io::Result<Self> {
        sweep(folder);
        let (file, name) = short_lived_in(folder)?;
        Ok(Self { file, kind: Kind::Regular, path: folder.to_path_buf(), writable: true, _name: name })
    }

    /// Opens an existing file or block device. A device opened for writing is opened exclusively, which fails if it is
    /// mounted or in other use.
    ///
    /// # Errors
    /// [`OsError::Busy`] for a device in use, [`OsError::NotData`] for anything but a file or device,
    /// [`OsError::Replaced`] if something else was put there meanwhile, else the system's error.
    pub fn open(path: &Path, writable: bool) -> Result<Self, OsError> {
        let seen = identity(path)?;
        let kind = seen.kind;
        let claim = match kind {
            // Checked first because some kernels answer EPERM here, which would look like missing permission.
            Kind::Block if writable && is_mounted(path) => return Err(OsError::Busy { path: path.to_path_buf() }),
            Kind::Block if writable => libc::O_EXCL,
            Kind::Regular | Kind::Block => 0,
            Kind::Folder | Kind::Other => return Err(OsError::NotData { path: path.to_path_buf() }),
        };
        let action = if writable { "written to" } else { "read" };
        let refused = |error| OsError::of("open", action, path, error);
        let file = OpenOptions::new().read(true).write(writable).custom_flags(claim).open(path).map_err(refused)?;
        // A device that took the place of a file in between would be open without the claim.
        if !is_same(&file, seen).map_err(refused)? {
            return Err(OsError::Replaced { path: path.to_path_buf() });
        }
        if writable && kind == Kind::Regular && !locks_bar_io(&file) {
            // Held while this value exists, so that another run sees the file in use. Not every file system has locks.
            let _ = file.try_lock();
        }
        Ok(Self { file, kind, path: path.to_path_buf(), writable, _name: None })
    }

    /// Checks that it is the object that was `seen` at its path before.
    ///
    /// # Errors
    /// [`OsError::Replaced`] if it is another one.
    pub fn is_still(&self, seen: Identity) -> Result<(), OsError> {
        let is_same = is_same(&self.file, seen);
        match is_same.map_err(|error| OsError::of("fstat", "looked at", &self.path, error))? {
            true => Ok(()),
            false => Err(OsError::Replaced { path: self.path.clone() }),
        }
    }

    /// Whether it is a regular file or a block device.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.writable
    }

    /// Its path, or the folder of an unnamed file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size in bytes; for a device, the capacity.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn size_bytes(&self) -> Result<u64, OsError> {
        // The kernel's own files, as in /proc, have no end to seek to.
        if self.kind == Kind::Regular {
            let metadata = self.file.metadata().map_err(|error| OsError::of("fstat", "looked at", &self.path, error));
            return Ok(metadata?.len());
        }
        rustix::fs::seek(&self.file, SeekFrom::End(0)).map_err(|error| self.refusal("lseek", error))
    }

    /// Makes a regular file `size_bytes` long and reserves its blocks if the file system can. Unwritten parts read as
    /// zeros.
    ///
    /// # Errors
    /// [`OsError::Full`] if there is no room.
    pub fn allocate(&self, size_bytes: u64) -> Result<(), OsError> {
        self.has_room(size_bytes)?;
        let reserve = || rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, size_bytes);
        let reserved = match resumed(reserve) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS)) => {
                self.file.set_len(size_bytes)
            }
            other => other,
        };
        reserved.map_err(|error| OsError::of("fallocate", "extended", &self.path, error).wanting(size_bytes))
    }

    /// Refuses a size that the file system has no blocks for. Checked before reserving them: the kernel takes all
    /// remaining blocks before it fails, and other writers would find none meanwhile.
    ///
    /// # Errors
    /// [`OsError::Full`] if there is no room.
    pub(crate) fn has_room(&self, size_bytes: u64) -> Result<(), OsError> {
        let own_bytes =
            rustix::fs::fstat(&self.file).map_or(0, |reported| u64::try_from(reported.st_blocks).unwrap_or(0) * 512);
        // Blocks reserved for root count too, because the kernel decides by who asks.
        let room = rustix::fs::fstatvfs(&self.file).map(|reported| reported.f_bfree.saturating_mul(reported.f_frsize));
        match room {
            Ok(free) if size_bytes > free.saturating_add(own_bytes) => {
                let error = io::Error::from(Errno::NOSPC);
                Err(OsError::of("fallocate", "extended", &self.path, error).wanting(size_bytes))
            }
            _ => Ok(()),
        }
    }

    /// Makes a regular file `size_bytes` long without allocating blocks; unwritten parts read as zeros.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn set_size(&self, size_bytes: u64) -> Result<(), OsError> {
        let refused = |error| OsError::of("ftruncate", "extended", &self.path, error).wanting(size_bytes);
        self.file.set_len(size_bytes).map_err(refused)
    }

    /// Reads into `bytes` from `offset` on, through the page cache; returns the number of bytes read.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<usize, OsError> {
        let read = resumed(|| self.file.read_at(bytes, offset));
        read.map_err(|error| OsError::of("pread", "read", &self.path, error))
    }

    /// Writes all of `bytes` from `offset` on, into the page cache.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> Result<(), OsError> {
        let refused = |error| OsError::of("pwrite", "written to", &self.path, error).wanting(bytes.len() as u64);
        let mut written = 0;
        while written < bytes.len() {
            match resumed(|| self.file.write_at(&bytes[written..], offset + written as u64)).map_err(refused)? {
                0 => return Err(refused(io::ErrorKind::WriteZero.into())),
                more => written += more,
            }
        }
        Ok(())
    }

    /// Makes everything written durable.
    ///
    /// # Errors
    /// The error that the system reports; data may be lost then.
    pub fn sync(&self) -> Result<(), OsError> {
        resumed(|| rustix::fs::fdatasync(&self.file))
            .map_err(|error| OsError::of("fdatasync", "written to", &self.path, error))
    }

    /// Reopens the same data in `mode`.
    ///
    /// # Errors
    /// [`OsError::NoDirect`] if direct I/O is refused, else the system's error.
    pub fn reopen(&self, mode: Mode) -> Result<RunFile, OsError> {
        self.reopen_with(mode, 0)
    }

    pub(crate) fn reopen_with(&self, mode: Mode, more_flags: i32) -> Result<RunFile, OsError> {
        if mode.write && !self.writable {
            return Err(OsError::ReadOnly { path: self.path.clone() });
        }
        if mode.commands {
            return self.reopen_for_commands(mode);
        }
        let flags = more_flags | mode.open_flags();
        let link = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let file = OpenOptions::new().read(true).write(mode.write).custom_flags(flags).open(link);
        match file {
            Ok(file) => Ok(RunFile::new(file, mode)),
            Err(error) if mode.direct && matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)) => {
                Err(OsError::NoDirect { path: self.path.clone() })
            }
            Err(_) if !has_proc() => Err(OsError::NoProc { path: self.path.clone() }),
            // It was there when it was opened first.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENXIO | libc::ENODEV)) => {
                Err(OsError::Gone { path: self.path.clone() })
            }
            Err(error) => Err(OsError::of("open", if mode.write { "written to" } else { "read" }, &self.path, error)),
        }
    }

    /// The block device that it is or lies on.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn device(&self) -> Result<DeviceNumber, OsError> {
        let metadata = self.file.metadata().map_err(|error| OsError::of("fstat", "looked at", &self.path, error))?;
        Ok(DeviceNumber::of(if self.kind == Kind::Block { metadata.rdev() } else { metadata.dev() }))
    }

    fn refusal(&self, call: &'static str, error: Errno) -> OsError {
        OsError::of(call, "looked at", &self.path, error)
    }
}

impl AsFd for DataFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn is_mounted(device: &Path) -> bool {
    device.metadata().is_ok_and(|metadata| mounted_at(DeviceNumber::of(metadata.rdev())).is_some())
}

/// Whether the error means that the file system or kernel does not support unnamed files.
fn no_unnamed_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT | libc::EINVAL))
}

/// Whether a lock on the file would keep this process's other descriptors of it from reading and writing, as locks of SMB
/// mounts do.
fn locks_bar_io(file: &File) -> bool {
    const SMB: [i64; 2] = [0xff53_4d42, 0xfe53_4d42];
    rustix::fs::fstatfs(file).is_ok_and(|system| SMB.contains(&(system.f_type & 0xffff_ffff)))
}

impl DataFile {
    /// Makes a regular file `size_bytes` long with blocks that are reserved and marked as unwritten. Unlike
    /// [`DataFile::allocate`] it fails if the file system cannot reserve blocks, instead of leaving a hole.
    ///
    /// # Errors
    /// If the file system cannot reserve blocks, or has no room.
    pub fn reserve(&self, size_bytes: u64) -> Result<(), OsError> {
        self.has_room(size_bytes)?;
        resumed(|| rustix::fs::fallocate(self, FallocateFlags::empty(), 0, size_bytes))
            .map_err(|error| OsError::of("fallocate", "extended", self.path(), error).wanting(size_bytes))
    }

    /// Opens a regular file as a program does that rewrites it (`O_TRUNC`): the file becomes empty and its blocks are
    /// freed.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn truncate(&self) -> Result<(), OsError> {
        if !self.is_writable() {
            return Err(OsError::ReadOnly { path: self.path().to_path_buf() });
        }
        let link = format!("/proc/self/fd/{}", self.as_fd().as_raw_fd());
        let opened = OpenOptions::new().write(true).truncate(true).open(link);
        opened.map(drop).map_err(|error| OsError::of("open", "written to", self.path(), error))
    }

    /// Reopens the same data in `mode` so that each write goes to the end, whatever its offset (`O_APPEND`).
    ///
    /// # Errors
    /// As [`DataFile::reopen`].
    pub fn reopen_to_append(&self, mode: Mode) -> Result<RunFile, OsError> {
        self.reopen_with(mode, libc::O_APPEND)
    }
}

/// The name of a file of our own; it goes with this value.
#[derive(Debug)]
struct KeptName(PathBuf);

impl Drop for KeptName {
    fn drop(&mut self) {
        // What is gone need not be removed.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A new, empty file in `folder`, which is gone when it is closed; its name where it has to keep one until then.
///
/// # Errors
/// The error that the system reports.
fn short_lived_in(folder: &Path) -> io::Result<(File, Option<KeptName>)> {
    let (path, file) = named_in(folder)?;
    std::fs::remove_file(&path)?;
    if !has_proc() || reopens(&file) {
        return Ok((file, None));
    }
    let (path, file) = named_in(folder)?;
    Ok((file, Some(KeptName(path))))
}

fn named_in(folder: &Path) -> io::Result<(PathBuf, File)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("{}{}-{number}", prefix(), std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    Ok((path, file))
}

/// What the names of this host's files begin with; the number of the process follows, and one of the file.
fn prefix() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().replace('/', "_");
    format!(".halfpower-at-{host}-")
}

/// Whether this process sees its own descriptors.
fn has_proc() -> bool {
    Path::new("/proc/self/fd").exists()
}

fn reopens(file: &File) -> bool {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).is_ok()
}

/// Removes files of this host from `folder` whose processes are no more.
pub(crate) fn sweep(folder: &Path) {
    let prefix = prefix();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let numbers = name.to_str().and_then(|name| name.strip_prefix(&prefix)?.split_once('-'));
        // Another host's name may begin with this one's: then more than two numbers follow.
        let numbers = numbers.filter(|(_, number)| number.parse::<u32>().is_ok());
        let Some(process) = numbers.and_then(|(process, _)| process.parse::<u32>().ok()) else { continue };
        if entry.file_type().is_ok_and(|kind| kind.is_file()) && !Path::new(&format!("/proc/{process}")).exists() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::Buffers;
    use crate::skip;

    const HERE: &str = env!("CARGO_MANIFEST_DIR");

    #[test]
    fn the_folder_of_devices_is_known_and_what_is_mounted_in_it_is_another() {
        assert!(holds_devices(Path::new("/dev")) && !holds_devices(Path::new(HERE)));
        let on = |path: &str| Path::new(path).metadata().map(|metadata| metadata.dev()).ok();
        if on("/dev/shm").is_none() || on("/dev/shm") == on("/dev") {
            return skip("/dev/shm is no file system of its own");
        }
        assert!(!holds_devices(Path::new("/dev/shm")));
    }

    #[test]
    fn what_took_the_place_of_a_file_is_seen() {
        let folder = tempfile::tempdir_in(HERE).unwrap();
        let path = folder.path().join("data");
        let other = folder.path().join("other");
        fs::write(&path, b"checked").unwrap();
        fs::write(&other, b"another").unwrap();
        let seen = identity(&path).unwrap();
        DataFile::open(&path, true).unwrap().is_still(seen).unwrap();
        fs::rename(&other, &path).unwrap();
        let opened = DataFile::open(&path, true).unwrap();
        if rustix::fs::fstatfs(&opened.file).unwrap().f_type != OVERLAYFS_SUPER_MAGIC {
            let refused = opened.is_still(seen).unwrap_err().to_string();
            assert!(refused.contains("was replaced by something else"), "{refused}");
        }
        // A device is never the file that was seen, wherever its name lies.
        let device = File::open("/dev/null").unwrap();
        assert!(!is_same(&device, seen).unwrap());
        assert!(is_same(&device, identity(Path::new("/dev/null")).unwrap()).unwrap());
    }

    #[test]
    fn an_unnamed_file_works_and_leaves_nothing() {
        let folder = tempfile::tempdir_in(HERE).unwrap();
        for file in [DataFile::unnamed_in(folder.path()).unwrap(), DataFile::of_unlinked(folder.path()).unwrap()] {
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name while it lives");
            file.allocate(1 << 20).unwrap();
            file.write_all_at(b"bytes", 7).unwrap();
            file.sync().unwrap();
            assert_eq!((file.size_bytes().unwrap(), file.kind()), (1 << 20, Kind::Regular));
            let mut bytes = [0; 5];
            let run = file.reopen(Mode { durable: true, write: true, ..Mode::default() }).unwrap();
            assert_eq!(run.read_at(&mut bytes, 7).unwrap(), 5);
            assert_eq!(&bytes, b"bytes");
            run.write_at(b"other", 7).unwrap();
            assert_eq!(file.read_at(&mut bytes, 7).unwrap(), 5);
            assert_eq!(&bytes, b"other");
        }
    }

    #[test]
    fn a_file_opened_for_reading_cannot_be_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        fs::write(&path, b"keep").unwrap();
        let file = DataFile::open(&path, false).unwrap();
        assert!(file.write_all_at(b"lost", 0).is_err());
        assert!(matches!(file.reopen(Mode { write: true, ..Mode::default() }), Err(OsError::ReadOnly { .. })));
        let run = file.reopen(Mode::default()).unwrap();
        assert_eq!(run.write_at(b"lost", 0).unwrap_err().raw_os_error(), Some(libc::EBADF));
        assert_eq!(fs::read(&path).unwrap(), b"keep");
    }

    #[test]
    fn what_is_no_data_is_refused_in_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let said = |result: Result<DataFile, OsError>| result.unwrap_err().to_string();
        assert!(said(DataFile::open(&missing, false)).contains("does not exist"));
        assert!(said(DataFile::unnamed_in(&missing)).contains("does not exist"));
        assert!(said(DataFile::open(folder.path(), false)).contains("neither a regular file nor a block device"));
        assert!(said(DataFile::open(Path::new("/dev/null"), true)).contains("neither"));
        fs::write(folder.path().join("file"), b"").unwrap();
        assert!(DataFile::unnamed_in(&folder.path().join("file")).is_err());
        assert_eq!(kind(folder.path()).unwrap(), Kind::Folder);
        assert_eq!(kind(Path::new("/dev/null")).unwrap(), Kind::Other);
    }

    #[test]
    fn the_free_space_bounds_what_can_be_allocated() {
        let folder = Path::new(HERE);
        let free = free_bytes(folder).unwrap();
        assert!(free > 0);
        // Far more than is free, whatever others remove meanwhile.
        let more = free + (1 << 43);
        let refusal = DataFile::unnamed_in(folder).unwrap().allocate(more).unwrap_err();
        assert!(refusal.to_string().contains(&format!("no room for {more} bytes")), "{refusal}");
        let reserved = DataFile::unnamed_in(folder).unwrap();
        assert!(matches!(reserved.reserve(more), Err(OsError::Full { .. })));
        let blocks = rustix::fs::fstat(&reserved).unwrap().st_blocks;
        assert_eq!(blocks, 0, "nothing was taken from others before it was refused");
    }

    #[test]
    fn a_mounted_device_is_refused_for_writing() {
        let mounted = || -> Option<PathBuf> {
            let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
            let mut devices = mounts.lines().filter_map(|line| Some(PathBuf::from(line.split(' ').next()?)));
            devices.find(|device| kind(device).is_ok_and(|kind| kind == Kind::Block))
        };
        if mounted().is_none() {
            return skip("no block device is mounted here");
        }
        // Another test may unmount the first one before it is opened.
        let is_refused = |device: PathBuf| matches!(DataFile::open(&device, true), Err(OsError::Busy { .. }));
        assert!(crate::in_time(|| mounted().is_none_or(is_refused)), "{:?}", mounted());
    }

    #[test]
    fn a_device_is_claimed_while_it_is_open_for_writing() {
        let folder = tempfile::tempdir_in(HERE).unwrap();
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(4 << 20).unwrap();
        let made = std::process::Command::new("losetup").args(["--find", "--show"]).arg(&image).output();
        let Some(made) = made.ok().filter(|made| made.status.success()) else {
            return skip("a loop device needs root and losetup");
        };
        let device = PathBuf::from(String::from_utf8(made.stdout).unwrap().trim());
        let outcome = std::panic::catch_unwind(|| look_at_device(&device));
        std::process::Command::new("losetup").arg("--detach").arg(&device).status().unwrap();
        outcome.unwrap();
    }

    fn look_at_device(path: &Path) {
        let device = DataFile::open(path, true).unwrap();
        assert_eq!((device.kind(), device.size_bytes().unwrap()), (Kind::Block, 4 << 20));
        assert!(matches!(DataFile::open(path, true), Err(OsError::Busy { .. })), "it is ours already");
        assert_eq!(device.unwritten_bytes(0..4096).unwrap(), None);
        assert!(device.device().unwrap().sysfs().join("queue").exists());
        assert!(mounted_at(device.device().unwrap()).is_none());
        let run = device.reopen(Mode { direct: true, write: true, ..Mode::default() }).unwrap();
        let buffers = Buffers::new(1, 4096, 5).unwrap();
        assert_eq!(run.write_at(buffers.slot(0), 8192).unwrap(), 4096);
        let mut bytes = vec![0; 4096];
        assert_eq!(device.read_at(&mut bytes, 8192).unwrap(), 4096);
        assert_eq!(bytes, buffers.slot(0));
        let past = run.write_at(buffers.slot(0), 4 << 20).unwrap_err();
        assert_eq!(past.raw_os_error(), Some(libc::ENOSPC));
        assert_eq!(device.direct_alignment().unwrap().unwrap().offset_bytes % 512, 0);
        assert!(device.cached_bytes(0..4 << 20).unwrap() > 0, "the plain read went through the page cache");
        drop(device);
        assert!(crate::in_time(|| DataFile::open(path, true).is_ok()), "the claim ends with the data file");
    }

    fn file() -> DataFile {
        DataFile::unnamed_in(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn what_is_reserved_was_never_written_and_what_is_truncated_is_gone() {
        let data = file();
        match data.reserve(1 << 20) {
            Ok(()) => assert!(matches!(data.unwritten_bytes(0..1 << 20).unwrap(), None | Some(0x10_0000))),
            Err(error) => crate::skip(&error.to_string()),
        }
        data.write_all_at(b"bytes", 0).unwrap();
        data.truncate().unwrap();
        assert_eq!(data.size_bytes().unwrap(), 0);
        assert_eq!(data.read_at(&mut [0; 5], 0).unwrap(), 0);
    }

    #[test]
    fn what_is_appended_lands_at_the_end() {
        let data = file();
        let run = data.reopen_to_append(Mode { write: true, ..Mode::default() }).unwrap();
        for bytes in [b"one", b"two"] {
            assert_eq!(run.write_at(bytes, 0).unwrap(), 3);
        }
        let mut read = [0; 6];
        assert_eq!(data.read_at(&mut read, 0).unwrap(), 6);
        assert_eq!(&read, b"onetwo");
    }

    #[test]
    fn a_kept_name_goes_with_its_file_and_is_swept_where_its_process_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        let (path, file) = named_in(folder.path()).unwrap();
        let kept = KeptName(path);
        sweep(folder.path());
        assert!(names() == 1 && reopens(&file), "this process lives");
        drop(kept);
        assert_eq!(names(), 0);
        // No process has a number beyond the kernel's largest.
        let left = folder.path().join(format!("{}4194999-0", prefix()));
        std::fs::write(left, b"left").unwrap();
        let of_others = [".halfpower-at-elsewhere-4194999-0".to_string(), format!("{}4194999-123-0", prefix())];
        of_others.iter().for_each(|name| std::fs::write(folder.path().join(name), b"another host's").unwrap());
        sweep(folder.path());
        assert_eq!(names(), 2, "one is of a host whose name goes on with a number");
    }
}
