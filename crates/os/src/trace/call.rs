//! Lists the system calls that move or sync data.

/// Makes the calls of rows: the variant and its documentation, its number in `libc`, its name in the kernel's events.
macro_rules! calls {
    ($($(#[$about:meta])* $call:ident, $number:ident, $name:literal;)*) => {
        /// A system call that moves or syncs data.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Call {
            $($(#[$about])* $call,)*
        }

        /// All of them.
        pub(crate) const CALLS: &[CallEvents] = &[$(CallEvents {
            call: Call::$call,
            number: libc::$number,
            enter: concat!("sys_enter_", $name),
            exit: concat!("sys_exit_", $name),
        },)*];
    };
}

/// A call, its number, and the names of the events of its beginning and its end.
pub(crate) struct CallEvents {
    pub(crate) call: Call,
    number: libc::c_long,
    pub(crate) enter: &'static str,
    pub(crate) exit: &'static str,
}

calls! {
    /// `read`
    Read, SYS_read, "read";
    /// `pread64`
    Pread, SYS_pread64, "pread64";
    /// `readv`
    Readv, SYS_readv, "readv";
    /// `preadv`
    Preadv, SYS_preadv, "preadv";
    /// `preadv2`
    Preadv2, SYS_preadv2, "preadv2";
    /// `write`
    Write, SYS_write, "write";
    /// `pwrite64`
    Pwrite, SYS_pwrite64, "pwrite64";
    /// `writev`
    Writev, SYS_writev, "writev";
    /// `pwritev`
    Pwritev, SYS_pwritev, "pwritev";
    /// `pwritev2`
    Pwritev2, SYS_pwritev2, "pwritev2";
    /// `fsync`
    Fsync, SYS_fsync, "fsync";
    /// `fdatasync`
    Fdatasync, SYS_fdatasync, "fdatasync";
    /// `sync_file_range`
    SyncFileRange, SYS_sync_file_range, "sync_file_range";
    /// `sync`
    Sync, SYS_sync, "sync";
    /// `syncfs`
    Syncfs, SYS_syncfs, "syncfs";
    /// `io_submit`
    IoSubmit, SYS_io_submit, "io_submit";
    /// `io_getevents`
    IoGetevents, SYS_io_getevents, "io_getevents";
    /// `io_uring_enter`
    IoUringEnter, SYS_io_uring_enter, "io_uring_enter";
    /// `sendfile`
    Sendfile, SYS_sendfile, "sendfile64";
    /// `copy_file_range`
    CopyFileRange, SYS_copy_file_range, "copy_file_range";
    /// `msync`
    Msync, SYS_msync, "msync";
}

/// How a call itself moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    /// From a file.
    Reads,
    /// To a file.
    Writes,
    /// From one file to another.
    Copies,
}

impl Call {
    /// The call of a number, as this machine's kernel counts them; `None` if it neither moves nor syncs data.
    pub fn of_number(number: i64) -> Option<Self> {
        CALLS.iter().find(|row| row.number == number).map(|row| row.call)
    }

    /// How it moves data; `None` if it syncs data, or submits to or waits for an asynchronous interface.
    pub fn moves(self) -> Option<Moves> {
        match self {
            Self::Read | Self::Pread | Self::Readv | Self::Preadv | Self::Preadv2 => Some(Moves::Reads),
            Self::Write | Self::Pwrite | Self::Writev | Self::Pwritev | Self::Pwritev2 => Some(Moves::Writes),
            Self::Sendfile | Self::CopyFileRange => Some(Moves::Copies),
            _ => None,
        }
    }

    /// Whether it makes data durable.
    pub fn syncs(self) -> bool {
        matches!(self, Self::Fsync | Self::Fdatasync | Self::SyncFileRange | Self::Sync | Self::Syncfs | Self::Msync)
    }

    /// The argument that is the offset in the file, counted from 0; `None` if the call goes on at the file's position, or
    /// takes no offset. In `preadv2` and `pwritev2` an offset of -1 means the file's position too.
    pub fn offset_argument(self) -> Option<usize> {
        match self {
            Self::Pread | Self::Preadv | Self::Preadv2 | Self::Pwrite | Self::Pwritev | Self::Pwritev2 => Some(3),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_their_numbers() {
        assert_eq!(Call::of_number(libc::SYS_pread64), Some(Call::Pread));
        assert_eq!(Call::of_number(libc::SYS_io_uring_enter), Some(Call::IoUringEnter));
        assert_eq!([libc::SYS_lseek, libc::SYS_getpid, -1].map(Call::of_number), [None; 3]);
        for (at, row) in CALLS.iter().enumerate() {
            assert_eq!(CALLS.iter().position(|other| other.number == row.number), Some(at), "{}", row.enter);
            assert_eq!(row.enter.strip_prefix("sys_enter_"), row.exit.strip_prefix("sys_exit_"));
        }
    }

    #[test]
    fn a_call_moves_or_syncs_or_serves_an_asynchronous_interface() {
        for row in CALLS {
            assert!(row.call.moves().is_none() || !row.call.syncs(), "{:?}", row.call);
        }
        assert_eq!((Call::Pwritev2.moves(), Call::Pwritev2.offset_argument()), (Some(Moves::Writes), Some(3)));
        assert_eq!((Call::Readv.moves(), Call::Readv.offset_argument()), (Some(Moves::Reads), None));
        assert!(Call::Fdatasync.syncs() && !Call::IoSubmit.syncs());
    }
}
