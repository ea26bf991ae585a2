//! Says what a system call, or a request of io_uring, asks for.

use halfpower_os::trace::Call;
use halfpower_record::OperationKind;

/// Flags of `preadv2` and `pwritev2` (linux/fs.h).
const RWF_DSYNC: u64 = 0x02;
const RWF_SYNC: u64 = 0x04;
const RWF_APPEND: u64 = 0x10;
/// Flag of `msync` without which it waits for nothing.
const MS_SYNC: u64 = 4;

/// What an operation is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) kind: OperationKind,
    /// The descriptor that it names; `None` if it names none.
    pub(crate) fd: Option<u32>,
    /// Bytes; `None` if the arguments do not tell.
    pub(crate) bytes: Option<u64>,
    /// Where in the file; `None` if at its position, or elsewhere.
    pub(crate) offset: Option<u64>,
    /// Whether it is at an offset that stands in memory, which no event tells. The position of the descriptor stays.
    pub(crate) elsewhere: bool,
    /// Whether a write is to be durable, or to append, by its own flags.
    pub(crate) durable: bool,
    pub(crate) appends: bool,
}

impl Asked {
    fn new(kind: OperationKind, fd: u64) -> Self {
        Self { kind, fd: Some(fd as u32), bytes: None, offset: None, elsewhere: false, durable: false, appends: false }
    }

    fn bytes(self, bytes: u64) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    fn at(self, offset: u64) -> Self {
        // -1 stands for the position.
        Self { offset: (offset != u64::MAX).then_some(offset), ..self }
    }

    /// At the offset that this pointer leads to, unless it leads nowhere.
    fn at_pointer(self, pointer: u64) -> Self {
        Self { elsewhere: pointer != 0, ..self }
    }

    fn flags(self, flags: u64) -> Self {
        Self { durable: flags & (RWF_DSYNC | RWF_SYNC) != 0, appends: flags & RWF_APPEND != 0, ..self }
    }
}

/// What a call with these arguments asks for; `None` if it is no operation itself.
pub(crate) fn asked(call: Call, args: &[u64; 6]) -> Option<Asked> {
    let read = |fd: u64| Asked::new(OperationKind::Read, fd);
    let write = |fd: u64| Asked::new(OperationKind::Write, fd);
    Some(match call {
        Call::Read => read(args[0]).bytes(args[2]),
        Call::Pread => read(args[0]).bytes(args[2]).at(args[3]),
        Call::Readv => read(args[0]),
        Call::Preadv => read(args[0]).at(args[3]),
        Call::Preadv2 => read(args[0]).at(args[3]),
        Call::Write => write(args[0]).bytes(args[2]),
        Call::Pwrite => write(args[0]).bytes(args[2]).at(args[3]),
        Call::Writev => write(args[0]),
        Call::Pwritev => write(args[0]).at(args[3]),
        Call::Pwritev2 => write(args[0]).at(args[3]).flags(args[5]),
        Call::Sendfile => read(args[1]).bytes(args[3]).at_pointer(args[2]),
        Call::CopyFileRange => write(args[2]).bytes(args[4]).at_pointer(args[3]),
        Call::Fsync => Asked::new(OperationKind::Fsync, args[0]),
        Call::Fdatasync => Asked::new(OperationKind::Fdatasync, args[0]),
        Call::SyncFileRange | Call::Syncfs => Asked::new(OperationKind::OtherSync, args[0]),
        Call::Sync => Asked { fd: None, ..Asked::new(OperationKind::OtherSync, 0) },
        Call::Msync if args[2] & MS_SYNC != 0 => Asked { fd: None, ..Asked::new(OperationKind::OtherSync, 0) },
        Call::Msync | Call::IoSubmit | Call::IoGetevents | Call::IoUringEnter => return None,
    })
}

/// What a request of io_uring does, by its opcode (enum io_uring_op of linux/io_uring.h); `None` for those that move no
/// data of files.
pub(crate) fn asked_of_ring(opcode: u8) -> Option<OperationKind> {
    Some(match opcode {
        // READV, READ_FIXED, READ, READ_MULTISHOT, READV_FIXED
        1 | 4 | 22 | 49 | 60 => OperationKind::Read,
        // WRITEV, WRITE_FIXED, WRITE, WRITEV_FIXED
        2 | 5 | 23 | 61 => OperationKind::Write,
        3 => OperationKind::Fsync,
        8 => OperationKind::OtherSync,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_sizes_and_flags_are_taken_from_where_each_call_has_them() {
        let of = |call, args| asked(call, &args).unwrap();
        let read = of(Call::Pread, [3, 9, 4096, 8192, 0, 0]);
        assert_eq!(
            (read.kind, read.fd, read.bytes, read.offset),
            (OperationKind::Read, Some(3), Some(4096), Some(8192))
        );
        assert_eq!(of(Call::Read, [3, 9, 4096, 77, 0, 0]).offset, None);
        let write = of(Call::Pwritev2, [4, 9, 2, u64::MAX, 0, RWF_DSYNC | RWF_APPEND]);
        assert_eq!((write.bytes, write.offset, write.durable, write.appends), (None, None, true, true));
        for (call, args, fd) in
            [(Call::Sendfile, [7, 3, 0, 500, 0, 0], 3), (Call::CopyFileRange, [3, 0x7f00, 4, 0, 900, 0], 4)]
        {
            assert_eq!((of(call, args).fd, of(call, args).elsewhere), (Some(fd), false), "{call:?}");
        }
        assert!(of(Call::Sendfile, [7, 3, 0x7f00, 500, 0, 0]).elsewhere);
        assert!(of(Call::CopyFileRange, [3, 0, 4, 0x7f00, 900, 0]).elsewhere);
        assert_eq!(of(Call::Sync, [0; 6]).fd, None);
        assert_eq!(asked(Call::Msync, &[0, 0, 1, 0, 0, 0]), None);
        assert_eq!(asked(Call::IoUringEnter, &[0; 6]), None);
    }

    #[test]
    fn only_what_moves_or_syncs_data_is_asked_of_a_ring() {
        let kinds: Vec<u8> = (0..=u8::MAX).filter(|opcode| asked_of_ring(*opcode).is_some()).collect();
        assert_eq!(kinds, [1, 2, 3, 4, 5, 8, 22, 23, 49, 60, 61]);
    }
}
