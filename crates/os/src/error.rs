//! Says what the operating system refused, in one sentence each: what, where, what to do.

use std::io;
use std::path::{Path, PathBuf};

/// What the operating system refused.
#[derive(Debug, thiserror::Error)]
pub enum OsError {
    /// Nothing is there.
    #[error("{} does not exist: name a folder, a file or a device that does", path.display())]
    Missing {
        /// What was named.
        path: PathBuf,
    },
    /// The rights are missing.
    #[error("{} cannot be {action}: {error}; choose another place, or ask its owner for the rights", path.display())]
    Denied {
        /// Where.
        path: PathBuf,
        /// What was to be done there.
        action: &'static str,
        /// The refusal: no permission, or a file system that is mounted read-only.
        error: io::Error,
    },
    /// The file system has no room.
    #[error("{} has no room for {wanted_bytes} bytes: free some, or ask for a smaller --size", path.display())]
    Full {
        /// Where.
        path: PathBuf,
        /// What was wanted.
        wanted_bytes: u64,
    },
    /// Its owner may not keep so much there.
    #[error("{}: the disk quota has no room for {wanted_bytes} bytes: free some, or ask for a smaller --size", path.display())]
    OverQuota {
        /// Where.
        path: PathBuf,
        /// What was wanted.
        wanted_bytes: u64,
    },
    /// The file would be larger than this process, or the file system, admits.
    #[error(
        "{} may not grow so large: raise the limit on file sizes (`ulimit -f`), or ask for a smaller --size",
        path.display()
    )]
    TooLarge {
        /// Where.
        path: PathBuf,
    },
    /// The device, or what stands for it, failed.
    #[error(
        "{} cannot be {action}: its device reports an I/O error; the kernel's log (`dmesg`) says more",
        path.display()
    )]
    Failing {
        /// On what.
        path: PathBuf,
        /// What was to be done there.
        action: &'static str,
    },
    /// It was there and is no more: a device was taken away, a server of files ended, a file was removed elsewhere.
    #[error("{} is no longer there: its device, or the server of its file system, has gone", path.display())]
    Gone {
        /// What has gone.
        path: PathBuf,
    },
    /// There is no `/proc`, through which files are opened once more.
    #[error("/proc is not mounted, and halfpower opens {} once more through it: mount it", path.display())]
    NoProc {
        /// What was to be opened.
        path: PathBuf,
    },
    /// It was opened to be read.
    #[error("{} was opened to be read and is not written to; add --overwrite if its contents may be lost", path.display())]
    ReadOnly {
        /// What was to be written to.
        path: PathBuf,
    },
    /// Somebody else holds the device.
    #[error("{} is in use (mounted, swapped to, or part of another device): release it, or name another", path.display())]
    Busy {
        /// The device.
        path: PathBuf,
    },
    /// It is neither a regular file nor a block device.
    #[error("{} is neither a regular file nor a block device, so no requests can be sent to it", path.display())]
    NotData {
        /// What was named.
        path: PathBuf,
    },
    /// Direct I/O is refused.
    #[error("{} does not take direct I/O: use --cache both, or a file on another file system", path.display())]
    NoDirect {
        /// What was to be opened.
        path: PathBuf,
    },
    /// The buffers do not fit.
    #[error(
        "{count} buffers of {bytes_each} bytes do not fit into the memory ({memory_bytes} bytes): \
         use a smaller block size, or less depth"
    )]
    Memory {
        /// How many.
        count: u32,
        /// Bytes in each.
        bytes_each: usize,
        /// Main memory of the machine.
        memory_bytes: u64,
    },
    /// Huge pages are asked for and there are none.
    #[error(
        "the kernel gives no huge pages for the buffers: set /sys/kernel/mm/transparent_hugepage/enabled to madvise, \
         or ask for --iomem pages"
    )]
    HugePages,
    /// io_uring is not to be had.
    #[error("io_uring cannot be used here: {why}")]
    IoUring {
        /// Why, and what would help.
        why: String,
    },
    /// The kernel's older asynchronous interface is not to be had.
    #[error("libaio cannot be used here: {why}")]
    Aio {
        /// Why, and what would help.
        why: String,
    },
    /// The file cannot be mapped.
    #[error("mmap cannot be used here: {why}")]
    Mapping {
        /// Why, and what would help.
        why: String,
    },
    /// The kernel's tracepoints are not to be had.
    #[error("the block layer's tracepoints cannot be read here: {why}")]
    Tracing {
        /// Why, and what would help.
        why: String,
    },
    /// Any other refusal.
    #[error("{call} failed on {}: {error}", path.display())]
    Call {
        /// The system call.
        call: &'static str,
        /// On what.
        path: PathBuf,
        /// The refusal.
        error: io::Error,
    },
}

impl OsError {
    /// The refusal of `call`, which was to do `action` ("opened for writing") on `path`, in its plainest words.
    pub(crate) fn of(call: &'static str, action: &'static str, path: &Path, error: impl Into<io::Error>) -> Self {
        let (path, error) = (path.to_path_buf(), error.into());
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENXIO) => Self::Missing { path },
            Some(libc::EACCES | libc::EPERM | libc::EROFS) => Self::Denied { path, action, error },
            Some(libc::EFBIG) => Self::TooLarge { path },
            Some(libc::ENOSPC) => Self::Full { path, wanted_bytes: 0 },
            Some(libc::EDQUOT) => Self::OverQuota { path, wanted_bytes: 0 },
            Some(libc::ENODEV | libc::ENOTCONN | libc::ESHUTDOWN | libc::ESTALE) => Self::Gone { path },
            Some(libc::EIO) => Self::Failing { path, action },
            Some(libc::EBUSY | libc::ETXTBSY) => Self::Busy { path },
            _ => Self::Call { call, path, error },
        }
    }

    /// Whether data that were on their way to a device are lost, for lack of room or because it failed.
    pub fn is_lost_write(&self) -> bool {
        matches!(self, Self::Failing { .. } | Self::Full { .. } | Self::OverQuota { .. } | Self::TooLarge { .. })
    }

    /// The same, where `wanted_bytes` are what there may be no room for.
    pub(crate) fn wanting(self, wanted_bytes: u64) -> Self {
        match self {
            Self::Full { path, .. } => Self::Full { path, wanted_bytes },
            Self::OverQuota { path, .. } => Self::OverQuota { path, wanted_bytes },
            other => other,
        }
    }
}
