//! Names error numbers as <errno.h> does, and adds names for bytes that are wrong.

use std::borrow::Cow;
use std::fmt;

use crate::nvme_status::NvmeStatus;

/// An error number of the operating system as the result of a request. It is data, not a failure of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// The device or file is in use elsewhere; a server has too much to do.
    pub const BUSY: Self = Self(16);
    /// A request that the target cannot carry: off its blocks, or too large.
    pub(crate) const INVALID: Self = Self(22);
    /// A file would grow beyond the limit on file sizes, or beyond what its file system can hold.
    pub const TOO_LARGE: Self = Self(27);
    /// The kernel cancelled a request before it began, for example because it could not start a worker for it.
    pub const CANCELED: Self = Self(125);
    /// A read returned bytes that nobody wrote. This and the following codes are our own; the system's numbers end at
    /// 4095.
    pub const CORRUPT: Self = Self(5001);
    /// A read returned a part of one write and a part of another.
    pub const TORN: Self = Self(5002);
    /// A read returned what was there before the last write, which was lost.
    pub const LOST: Self = Self(5003);
    /// A read returned bytes that were written to another place.
    pub const MISDIRECTED: Self = Self(5004);

    /// No reply came before the run was given up.
    pub const UNANSWERED: Self = Self(5005);
    /// A request moved nothing, without an error of the system: the target ends before it.
    pub const END_OF_FILE: Self = Self(5006);

    /// The system's number of an error; `EOPNOTSUPP` for an error without a number, which no request returns.
    pub(crate) fn of(error: &std::io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(95))
    }

    /// The name, such as `EIO`; `errno 123` for a number that storage does not usually return.
    pub fn name(self) -> Cow<'static, str> {
        if let Some(status) = NvmeStatus::of(self.0) {
            return status.name();
        }
        Cow::Borrowed(match self.0 {
            1 => "EPERM",
            2 => "ENOENT",
            4 => "EINTR",
            5 => "EIO",
            6 => "ENXIO",
            9 => "EBADF",
            11 => "EAGAIN",
            12 => "ENOMEM",
            13 => "EACCES",
            14 => "EFAULT",
            16 => "EBUSY",
            19 => "ENODEV",
            22 => "EINVAL",
            27 => "EFBIG",
            28 => "ENOSPC",
            29 => "ESPIPE",
            30 => "EROFS",
            32 => "EPIPE",
            38 => "ENOSYS",
            52 => "EBADE",
            61 => "ENODATA",
            62 => "ETIME",
            75 => "EOVERFLOW",
            84 => "EILSEQ",
            95 => "EOPNOTSUPP",
            103 => "ECONNABORTED",
            104 => "ECONNRESET",
            107 => "ENOTCONN",
            108 => "ESHUTDOWN",
            110 => "ETIMEDOUT",
            112 => "EHOSTDOWN",
            113 => "EHOSTUNREACH",
            116 => "ESTALE",
            117 => "EUCLEAN",
            121 => "EREMOTEIO",
            122 => "EDQUOT",
            123 => "ENOMEDIUM",
            125 => "ECANCELED",
            5001 => "corrupt",
            5002 => "torn",
            5003 => "lost",
            5004 => "misdirected",
            5005 => "unanswered",
            5006 => "EOF",
            other => return Cow::Owned(format!("errno {other}")),
        })
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_system() {
        assert_eq!(Errno(5).name(), "EIO");
        assert_eq!(Errno(95).to_string(), "EOPNOTSUPP");
        assert_eq!(Errno(4000).name(), "errno 4000");
        assert_eq!(Errno(halfpower_os::NVME_STATUS | 0x80).name(), "NVMe-LBA-out-of-range");
        assert_eq!(Errno::MISDIRECTED.name(), "misdirected");
    }
}
