//! Names error numbers as <errno.h> does, and gives words for bytes that are wrong.

use std::borrow::Cow;
use std::fmt;

/// An error number of the operating system, as a request's outcome: data, not a failure of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// Somebody else has it; a server: it has too much to do.
    pub const BUSY: Self = Self(16);
    /// A file would grow beyond the limit on file sizes, or beyond what its file system can hold.
    pub const TOO_LARGE: Self = Self(27);
    /// The kernel gave a request up before it began, as where it can start no worker for it.
    pub const CANCELED: Self = Self(125);
    /// A read brought bytes that nobody wrote. This and the next three are no numbers of the system, whose end at 4095.
    pub const CORRUPT: Self = Self(5001);
    /// A read brought a part of one write and a part of another.
    pub const TORN: Self = Self(5002);
    /// A read brought what was there before the last write, which was lost.
    pub const LOST: Self = Self(5003);
    /// A read brought bytes that were written to another place.
    pub const MISDIRECTED: Self = Self(5004);

    /// Nothing came back until the run was given up.
    pub const UNANSWERED: Self = Self(5005);

    /// The number of an error of the system; `EOPNOTSUPP` for one that carries none, which no request gives.
    pub(crate) fn of(error: &std::io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(95))
    }

    /// Its name, such as `EIO`; `errno 123` for one that storage does not usually give.
    pub fn name(self) -> Cow<'static, str> {
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
        assert_eq!(Errno::MISDIRECTED.name(), "misdirected");
    }
}
