//! What is an error number called? The names of <errno.h> for those that storage gives.

use std::borrow::Cow;
use std::fmt;

/// An error number of the operating system, as a request's outcome: data, not a failure of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub i32);

impl Errno {
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
            104 => "ECONNRESET",
            110 => "ETIMEDOUT",
            112 => "EHOSTDOWN",
            113 => "EHOSTUNREACH",
            116 => "ESTALE",
            117 => "EUCLEAN",
            121 => "EREMOTEIO",
            122 => "EDQUOT",
            123 => "ENOMEDIUM",
            125 => "ECANCELED",
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
    }
}
