//! Opens a data file in one mode for the requests of a run.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};

use rustix::fs::{Advice, FallocateFlags};
use rustix::io::ReadWriteFlags;

use crate::interrupt::resumed;
use crate::nvme_namespace::Namespace;
use crate::{DeviceNumber, nvme};

/// How a run accesses its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mode {
    /// Bypasses the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Each write is on the medium before it completes.
    pub durable: bool,
    /// What makes it so.
    pub durable_by: DurableBy,
    /// The call that makes earlier writes durable.
    pub flush_by: FlushCall,
    /// Opened for writing too.
    pub write: bool,
    /// Pages that a buffered request brings into the page cache are dropped after use (`RWF_DONTCACHE`).
    pub drop_pages: bool,
    /// Each write is on the medium whole or not at all, also if power fails (`RWF_ATOMIC`).
    pub atomic: bool,
    /// Opened as the generic device of an NVMe namespace, which takes commands past the block layer.
    pub commands: bool,
}

/// What makes each write durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DurableBy {
    /// The file is opened with `O_DSYNC`.
    #[default]
    Odsync,
    /// The file is opened with `O_SYNC`.
    Osync,
    /// Each write carries `RWF_DSYNC`.
    RwfDsync,
}

/// A call that makes earlier writes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlushCall {
    /// The data, and of the inode only what reading them needs.
    #[default]
    Fdatasync,
    /// The data and the inode.
    Fsync,
    /// The file's pages alone: neither the inode nor the device's write cache.
    SyncFileRange,
}

/// Flags of `sync_file_range` with which it starts to write all pages and waits until they are written.
pub(crate) const WHOLE_RANGE: u32 =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;

impl Mode {
    /// The flags with which a file of this mode is opened.
    pub(crate) fn open_flags(self) -> i32 {
        let durable = match self.durable_by {
            DurableBy::Odsync => libc::O_DSYNC,
            DurableBy::Osync => libc::O_SYNC,
            DurableBy::RwfDsync => 0,
        };
        let direct = if self.direct { libc::O_DIRECT } else { 0 };
        direct | if self.durable { durable } else { 0 }
    }

    /// The flags that each read carries.
    pub(crate) fn read_flags(self) -> i32 {
        if self.drop_pages { libc::RWF_DONTCACHE } else { 0 }
    }

    /// The flags that each write carries.
    pub(crate) fn write_flags(self) -> i32 {
        let durable = if self.durable && self.durable_by == DurableBy::RwfDsync { libc::RWF_DSYNC } else { 0 };
        let atomic = if self.atomic { libc::RWF_ATOMIC } else { 0 };
        durable | atomic | if self.drop_pages { libc::RWF_DONTCACHE } else { 0 }
    }
}

/// Flags of one request, as the C library has them.
fn of_a_request(flags: i32) -> ReadWriteFlags {
    ReadWriteFlags::from_bits_retain(flags as u32)
}

/// A read order that the kernel can be advised of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOrder {
    /// One block after the other: the kernel reads further ahead.
    Sequential,
    /// No order: the kernel does not read ahead.
    Random,
}

/// A data file opened in one mode, for the requests of runs.
#[derive(Debug)]
pub struct RunFile {
    file: File,
    mode: Mode,
    is_device: bool,
    /// The namespace that takes commands through it.
    namespace: Option<Namespace>,
}

impl RunFile {
    pub(crate) fn new(file: File, mode: Mode) -> Self {
        let is_device = file.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device());
        Self { file, mode, is_device, namespace: None }
    }

    /// A generic device, through which `namespace` takes commands.
    pub(crate) fn for_commands(file: File, mode: Mode, namespace: Namespace) -> Self {
        Self { file, mode, is_device: false, namespace: Some(namespace) }
    }

    /// The namespace that takes commands through it; `None` if it takes reads and writes.
    pub fn namespace(&self) -> Option<Namespace> {
        self.namespace
    }

    /// The mode that it was opened in.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Reads into `bytes` from `offset` on; returns the number of bytes read.
    ///
    /// # Errors
    /// The error of the request.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.mode.read_flags() {
            0 => self.file.read_at(bytes, offset),
            flags => Ok(rustix::io::preadv2(&self.file, &mut [IoSliceMut::new(bytes)], offset, of_a_request(flags))?),
        }
    }

    /// Writes `bytes` from `offset` on; returns the number of bytes written.
    ///
    /// # Errors
    /// The error of the request.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        match self.mode.write_flags() {
            0 => self.file.write_at(bytes, offset),
            flags => Ok(rustix::io::pwritev2(&self.file, &[IoSlice::new(bytes)], offset, of_a_request(flags))?),
        }
    }

    /// Discards a range: a device discards it (`BLKDISCARD`), a file gets a hole and keeps its length
    /// (`FALLOC_FL_PUNCH_HOLE`).
    ///
    /// # Errors
    /// The error of the request; not every device and file system supports this.
    pub fn discard(&self, offset: u64, bytes: u64) -> io::Result<()> {
        if self.is_device {
            return resumed(|| crate::device::discard(&self.file, offset, bytes));
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        resumed(|| rustix::fs::fallocate(&self.file, flags, offset, bytes))
    }

    /// Makes everything written durable, by the call of its mode.
    ///
    /// # Errors
    /// The error of the request.
    pub fn flush(&self) -> io::Result<()> {
        self.flush_by(self.mode.flush_by)
    }

    /// Makes everything written durable, by this call.
    ///
    /// # Errors
    /// The error of the request.
    pub fn flush_by(&self, call: FlushCall) -> io::Result<()> {
        if let Some(namespace) = self.namespace {
            return resumed(|| nvme::flush(&self.file, namespace.number));
        }
        match call {
            FlushCall::Fdatasync => resumed(|| rustix::fs::fdatasync(&self.file)),
            FlushCall::Fsync => resumed(|| rustix::fs::fsync(&self.file)),
            FlushCall::SyncFileRange => resumed(|| {
                // SAFETY: the call takes a descriptor, which is open, and numbers.
                let refused = unsafe { libc::sync_file_range(self.file.as_raw_fd(), 0, 0, WHOLE_RANGE) };
                if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
            }),
        }
    }

    /// Advises the kernel of the read order through this handle and its clones (`posix_fadvise`).
    ///
    /// # Errors
    /// If the system does not accept the advice.
    pub fn expect_order(&self, order: ReadOrder) -> io::Result<()> {
        let advice = match order {
            ReadOrder::Sequential => Advice::Sequential,
            ReadOrder::Random => Advice::Random,
        };
        Ok(rustix::fs::fadvise(&self.file, 0, None, advice)?)
    }

    /// Another handle of the same open file, for another thread.
    ///
    /// # Errors
    /// If the process has no descriptors left.
    pub fn try_clone(&self) -> io::Result<Self> {
        let Self { mode, is_device, namespace, .. } = *self;
        Ok(Self { file: self.file.try_clone()?, mode, is_device, namespace })
    }

    /// The block device that it is or lies on; `None` if the system does not say.
    pub fn device(&self) -> Option<DeviceNumber> {
        if let Some(namespace) = self.namespace {
            return Some(namespace.disk);
        }
        let metadata = self.file.metadata().ok()?;
        let is_device = metadata.file_type().is_block_device();
        Some(DeviceNumber::of(if is_device { metadata.rdev() } else { metadata.dev() }))
    }
}

impl AsFd for RunFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
