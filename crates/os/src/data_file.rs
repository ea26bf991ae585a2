//! What do requests reach? A file that vanishes with its process, a file that was there, or a block device.
//!
//! A folder or a path enters; a [`DataFile`] leaves, which prepares the data and hands out one [`RunFile`] for each
//! way of reaching it. Page cache and extents of a data file are asked about in `page_cache` and `extents`.

use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{AtFlags, FallocateFlags, SeekFrom, StatxFlags};
use rustix::io::Errno;

use crate::{Buffers, OsError};

/// What a path leads to.
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

/// In which way a run reaches its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mode {
    /// Past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Each write is on the medium before it completes (`O_DSYNC`).
    pub durable: bool,
    /// For writing too.
    pub write: bool,
}

/// What direct requests have to be multiples of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alignment {
    /// Of the buffer's address, in bytes.
    pub memory_bytes: u32,
    /// Of offset and length, in bytes.
    pub offset_bytes: u32,
}

/// A block device's number, by which sysfs (`/sys/dev/block/MAJOR:MINOR`) knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// The driver's part; 0 where a file system has no single device.
    pub major: u32,
    /// The device's part.
    pub minor: u32,
}

/// The data that runs work on. As long as it lives, a device opened for writing is claimed against mounting.
#[derive(Debug)]
pub struct DataFile {
    file: File,
    kind: Kind,
    path: PathBuf,
}

/// A data file opened in one mode, for the requests of runs.
#[derive(Debug)]
pub struct RunFile {
    file: File,
    mode: Mode,
}

/// What `path` leads to, links followed.
///
/// # Errors
/// Where it does not exist or may not be looked at.
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

/// Bytes that an ordinary user can still write under `folder`.
///
/// # Errors
/// Where the file system does not say.
pub fn free_bytes(folder: &Path) -> Result<u64, OsError> {
    let space = rustix::fs::statvfs(folder).map_err(|error| OsError::of("statvfs", "looked at", folder, error))?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

impl DataFile {
    /// A new, empty file in `folder` without a name: nothing is left behind, however the process ends.
    ///
    /// # Errors
    /// Where `folder` is no folder, or may not be written to.
    pub fn unnamed_in(folder: &Path) -> Result<Self, OsError> {
        let refused = |error| OsError::of("open", "written to", folder, error);
        let unnamed = OpenOptions::new()
            .read(true)
            .write(true)
            .mode(0o600)
            .custom_flags(libc::O_TMPFILE | libc::O_EXCL)
            .open(folder);
        let file = match unnamed {
            Err(error) if no_unnamed_files(&error) && folder.is_dir() => unlinked_in(folder).map_err(refused)?,
            other => other.map_err(refused)?,
        };
        Ok(Self { file, kind: Kind::Regular, path: folder.to_path_buf() })
    }

    /// A file or a block device that is already there. A device opened for writing is claimed, so that one that
    /// is mounted or in other use is refused.
    ///
    /// # Errors
    /// [`OsError::Busy`] for a device in use, [`OsError::NotData`] for what is neither file nor device, else what
    /// the system says.
    pub fn open(path: &Path, writable: bool) -> Result<Self, OsError> {
        let kind = kind(path)?;
        let claim = match kind {
            Kind::Regular => 0,
            Kind::Block if writable => libc::O_EXCL,
            Kind::Block => 0,
            Kind::Folder | Kind::Other => return Err(OsError::NotData { path: path.to_path_buf() }),
        };
        let action = if writable { "written to" } else { "read" };
        let refused = |error| OsError::of("open", action, path, error);
        let file = OpenOptions::new().read(true).write(writable).custom_flags(claim).open(path).map_err(refused)?;
        Ok(Self { file, kind, path: path.to_path_buf() })
    }

    /// Whether it is a regular file or a block device.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Where it is: its path, or the folder of an unnamed file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size in bytes, of a device its capacity.
    ///
    /// # Errors
    /// What the system says.
    pub fn size_bytes(&self) -> Result<u64, OsError> {
        rustix::fs::seek(&self.file, SeekFrom::End(0)).map_err(|error| self.refusal("lseek", error))
    }

    /// Makes a regular file `size_bytes` long and reserves its blocks where the file system can. What was not
    /// written yet reads as zeros.
    ///
    /// # Errors
    /// [`OsError::Full`] where there is no room.
    pub fn allocate(&self, size_bytes: u64) -> Result<(), OsError> {
        let reserved = match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, size_bytes) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.file.set_len(size_bytes),
            other => other.map_err(io::Error::from),
        };
        reserved.map_err(|error| OsError::of("fallocate", "extended", &self.path, error).wanting(size_bytes))
    }

    /// Reads into `bytes` from `offset` on, through the page cache; gives how many bytes came.
    ///
    /// # Errors
    /// What the system says.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<usize, OsError> {
        self.file.read_at(bytes, offset).map_err(|error| OsError::of("pread", "read", &self.path, error))
    }

    /// Writes all of `bytes` from `offset` on, into the page cache.
    ///
    /// # Errors
    /// What the system says.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> Result<(), OsError> {
        let refused = |error| OsError::of("pwrite", "written to", &self.path, error).wanting(bytes.len() as u64);
        self.file.write_all_at(bytes, offset).map_err(refused)
    }

    /// Makes durable what was written.
    ///
    /// # Errors
    /// What the system says; data may be lost then.
    pub fn sync(&self) -> Result<(), OsError> {
        self.file.sync_data().map_err(|error| OsError::of("fdatasync", "written to", &self.path, error))
    }

    /// The same data opened once more, in `mode`.
    ///
    /// # Errors
    /// [`OsError::NoDirect`] where direct I/O is refused, else what the system says.
    pub fn reopen(&self, mode: Mode) -> Result<RunFile, OsError> {
        let flag = |wanted: bool, flag| if wanted { flag } else { 0 };
        let flags = flag(mode.direct, libc::O_DIRECT) | flag(mode.durable, libc::O_DSYNC);
        let link = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let file = OpenOptions::new().read(true).write(mode.write).custom_flags(flags).open(link);
        match file {
            Ok(file) => Ok(RunFile { file, mode }),
            Err(error) if mode.direct && matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)) => {
                Err(OsError::NoDirect { path: self.path.clone() })
            }
            Err(error) => Err(OsError::of("open", if mode.write { "written to" } else { "read" }, &self.path, error)),
        }
    }

    /// What direct requests have to be aligned to; `None` where there is no direct I/O, also where a file system
    /// in memory only pretends. Surest once the file has data.
    ///
    /// # Errors
    /// Where the file cannot be opened once more.
    pub fn direct_alignment(&self) -> Result<Option<Alignment>, OsError> {
        if self.kind == Kind::Regular && self.is_in_memory() {
            return Ok(None);
        }
        let direct = match self.reopen(Mode { direct: true, ..Mode::default() }) {
            Err(OsError::NoDirect { .. }) => return Ok(None),
            other => other?,
        };
        let told = rustix::fs::statx(&self.file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok();
        if let Some(told) = told.filter(|told| told.stx_mask & StatxFlags::DIOALIGN.bits() != 0) {
            let (memory_bytes, offset_bytes) = (told.stx_dio_mem_align, told.stx_dio_offset_align);
            return Ok((offset_bytes > 0).then_some(Alignment { memory_bytes, offset_bytes }));
        }
        let block_bytes = self.logical_block_bytes().or_else(|| smallest_direct_read(&direct)).unwrap_or(4096);
        Ok(Some(Alignment { memory_bytes: block_bytes, offset_bytes: block_bytes }))
    }

    /// The block device it is, or that it lies on.
    ///
    /// # Errors
    /// What the system says.
    pub fn device(&self) -> Result<DeviceNumber, OsError> {
        let metadata = self.file.metadata().map_err(|error| OsError::of("fstat", "looked at", &self.path, error))?;
        Ok(DeviceNumber::of(if self.kind == Kind::Block { metadata.rdev() } else { metadata.dev() }))
    }

    fn is_in_memory(&self) -> bool {
        const TMPFS: i64 = 0x0102_1994;
        const RAMFS: i64 = 0x8584_58f6;
        #[allow(clippy::unnecessary_cast, reason = "its type differs between architectures")]
        rustix::fs::fstatfs(&self.file).is_ok_and(|system| matches!(system.f_type as i64, TMPFS | RAMFS))
    }

    fn logical_block_bytes(&self) -> Option<u32> {
        if self.kind == Kind::Block {
            return rustix::fs::ioctl_blksszget(&self.file).ok();
        }
        let folder = self.device().ok()?.sysfs();
        // A partition has no queue of its own; its whole device is the folder above.
        let texts = ["queue", "../queue"].map(|queue| folder.join(queue).join("logical_block_size"));
        texts.iter().find_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok())
    }

    fn refusal(&self, call: &'static str, error: Errno) -> OsError {
        OsError::of(call, "looked at", &self.path, error)
    }
}

impl DeviceNumber {
    /// The two parts of a number as `stat` gives it.
    pub(crate) fn of(number: u64) -> Self {
        Self { major: rustix::fs::major(number), minor: rustix::fs::minor(number) }
    }

    /// The folder in which sysfs describes the device; it need not exist.
    pub fn sysfs(self) -> PathBuf {
        PathBuf::from(format!("/sys/dev/block/{self}"))
    }
}

impl std::fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl AsFd for DataFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl RunFile {
    /// The mode it was opened in.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Reads into `bytes` from `offset` on; gives how many bytes came.
    ///
    /// # Errors
    /// The request's own outcome.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(bytes, offset)
    }

    /// Writes from `bytes` from `offset` on; gives how many bytes went.
    ///
    /// # Errors
    /// The request's own outcome.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(bytes, offset)
    }

    /// Makes durable what was written (`fdatasync`).
    ///
    /// # Errors
    /// The request's own outcome.
    pub fn sync_data(&self) -> io::Result<()> {
        Ok(rustix::fs::fdatasync(&self.file)?)
    }

    /// Another handle of the same opened file, for another thread.
    ///
    /// # Errors
    /// Where the process has no descriptors left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()?, mode: self.mode })
    }
}

impl AsFd for RunFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Whether the file system or the kernel knows no files without a name.
fn no_unnamed_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT | libc::EINVAL))
}

/// A file that loses its name as soon as it has one.
fn unlinked_in(folder: &Path) -> io::Result<File> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".halfpower-{}-{number}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// The smallest direct read that is let through, for file systems that do not say what they want.
fn smallest_direct_read(direct: &RunFile) -> Option<u32> {
    let mut buffer = Buffers::new(1, 4096, 0).ok()?;
    [512, 1024, 2048, 4096].into_iter().find(|bytes| {
        let read = direct.read_at(&mut buffer.slot_mut(0)[..*bytes as usize], u64::from(*bytes));
        read.is_ok_and(|came| came == *bytes as usize)
    })
}
