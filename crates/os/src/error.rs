//! Defines what the operating system refused, in one sentence each: what, where, what to do.

use std::io;
use std::path::{Path, PathBuf};

/// What the operating system refused.
#[derive(Debug, thiserror::Error)]
pub enum OsError {
    /// The path does not exist.
    #[error("{} does not exist: name a folder, a file or a device that does", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// The file system of the folder takes no files of users, as that of `/proc`.
    #[error("{}: no file can be made in this folder: name a folder on a disk, a file or a device", path.display())]
    NoFiles {
        /// The folder.
        path: PathBuf,
    },
    /// Permission is missing.
    #[error("{} cannot be {action}: {error}; choose another place, or ask its owner for the rights", path.display())]
    Denied {
        /// The path.
        path: PathBuf,
        /// The refused action.
        action: &'static str,
        /// The refusal: no permission, or a file system that is mounted read-only.
        error: io::Error,
    },
    /// The file system has no room.
    #[error("{} has no room for {}", path.display(), lacking(*wanted_bytes))]
    Full {
        /// The path.
        path: PathBuf,
        /// The bytes requested; 0 where a call asks for none, as one that makes a file or flushes.
        wanted_bytes: u64,
    },
    /// The owner's disk quota is exhausted.
    #[error("{}: the disk quota has no room for {}", path.display(), lacking(*wanted_bytes))]
    OverQuota {
        /// The path.
        path: PathBuf,
        /// The bytes requested; 0 likewise.
        wanted_bytes: u64,
    },
    /// The file would exceed the size limit of this process or of the file system.
    #[error(
        "{} may not grow so large: raise the limit on file sizes (`ulimit -f`), or ask for a smaller --size",
        path.display()
    )]
    TooLarge {
        /// The path.
        path: PathBuf,
    },
    /// The device, or the layer that emulates it, failed.
    #[error(
        "{} cannot be {action}: its device reports an I/O error; the kernel's log (`dmesg`) says more",
        path.display()
    )]
    Failing {
        /// The path.
        path: PathBuf,
        /// The refused action.
        action: &'static str,
    },
    /// The target disappeared: a device was removed, a file server ended, or a file was removed elsewhere.
    #[error("{} is no longer there: its device, or the server of its file system, has gone", path.display())]
    Gone {
        /// The path.
        path: PathBuf,
    },
    /// There is no `/proc`, through which files are reopened.
    #[error("/proc is not mounted, and halfpower opens {} once more through it: mount it", path.display())]
    NoProc {
        /// The file to be opened.
        path: PathBuf,
    },
    /// The file was opened for reading only.
    #[error("{} was opened to be read and is not written to; add --overwrite if its contents may be lost", path.display())]
    ReadOnly {
        /// The file to be written.
        path: PathBuf,
    },
    /// Another user holds the device.
    #[error("{} is in use (mounted, swapped to, or part of another device): release it, or name another", path.display())]
    Busy {
        /// The device.
        path: PathBuf,
    },
    /// It is neither a regular file nor a block device.
    #[error("{} is neither a regular file nor a block device, so no requests can be sent to it", path.display())]
    NotData {
        /// The path.
        path: PathBuf,
    },
    /// Something else took its place between the checks and the opening.
    #[error(
        "{} was replaced by something else while it was looked at: nothing was written; see who else may write to its \
         folder, and start again",
        path.display()
    )]
    Replaced {
        /// The path.
        path: PathBuf,
    },
    /// The file does not support direct I/O.
    #[error("{} does not take direct I/O: use --cache both, or a file on another file system", path.display())]
    NoDirect {
        /// The file to be opened.
        path: PathBuf,
    },
    /// The buffers do not fit into memory.
    #[error(
        "{count} buffers of {bytes_each} bytes do not fit into the memory ({memory_bytes} bytes): \
         use a smaller block size, or less depth"
    )]
    Memory {
        /// Number of buffers.
        count: u32,
        /// Bytes in each buffer.
        bytes_each: usize,
        /// Main memory of the machine.
        memory_bytes: u64,
    },
    /// A limit of this process leaves no room for the buffers.
    #[error(
        "{count} buffers of {bytes_each} bytes do not fit into what this process may have ({limit_bytes} bytes, `{limit}`): \
         raise that limit, use a smaller block size, or less depth"
    )]
    Limited {
        /// Number of buffers.
        count: u32,
        /// Bytes in each buffer.
        bytes_each: usize,
        /// The limit, as the shell's command that shows it.
        limit: &'static str,
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// Huge pages were requested, but the kernel gives none.
    #[error(
        "the kernel gives no huge pages for the buffers: set /sys/kernel/mm/transparent_hugepage/enabled to madvise, \
         or ask for --iomem pages"
    )]
    HugePages,
    /// io_uring is not available.
    #[error("io_uring cannot be used here: {why}")]
    IoUring {
        /// Why, and what would help.
        why: String,
    },
    /// The kernel's older asynchronous interface is not available.
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
    /// It takes no NVMe commands past the block layer.
    #[error("NVMe commands cannot be sent to {}: {why}", path.display())]
    NoCommands {
        /// The target.
        path: PathBuf,
        /// Why, and what would help.
        why: String,
    },
    /// The kernel's tracepoints are not available.
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
        /// The path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// What there is no room for, and what to do.
fn lacking(wanted_bytes: u64) -> String {
    match wanted_bytes {
        // Files may have run out as well as bytes.
        0 => "another file, or for what was written: remove files, or name another place".to_string(),
        bytes => format!("{bytes} bytes: free some, or ask for a smaller --size"),
    }
}

impl OsError {
    /// Converts the error of `call`, which tried `action` ("opened for writing") on `path`, to the most specific
    /// variant.
    pub(crate) fn of(call: &'static str, action: &'static str, path: &Path, error: impl Into<io::Error>) -> Self {
        let path = path.to_path_buf();
        let error = error.into();
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

    /// Whether data on their way to a device are lost, because of no room or a device failure.
    pub fn is_lost_write(&self) -> bool {
        matches!(self, Self::Failing { .. } | Self::Full { .. } | Self::OverQuota { .. } | Self::TooLarge { .. })
    }

    /// The same error with `wanted_bytes` as the size that may not fit.
    pub(crate) fn wanting(self, wanted_bytes: u64) -> Self {
        match self {
            Self::Full { path, .. } => Self::Full { path, wanted_bytes },
            Self::OverQuota { path, .. } => Self::OverQuota { path, wanted_bytes },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_room_lacks_bytes_only_where_bytes_were_asked_for() {
        for (number, what) in
            [(libc::ENOSPC, "/t has no room for"), (libc::EDQUOT, "/t: the disk quota has no room for")]
        {
            let refused = || OsError::of("open", "written to", Path::new("/t"), io::Error::from_raw_os_error(number));
            let another = "another file, or for what was written: remove files, or name another place";
            assert_eq!(refused().to_string(), format!("{what} {another}"));
            let asked = "8192 bytes: free some, or ask for a smaller --size";
            assert_eq!(refused().wanting(8192).to_string(), format!("{what} {asked}"));
        }
    }
}
