//! Declares the enums of settings; each value has one spelling in flags, files and output.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ParseError;

/// Declares an enum whose variants have exactly one spelling, in flags, files and output alike.
///
/// Variants after `never asked for:` stand in files and output alone: no flag takes them, and no list has them.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal: $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)?
        $(; never asked for: $($(#[$hdoc:meta])* $hidden:ident = $hidden_word:literal),+ $(,)?)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant,)+
            $($($(#[$hdoc])* #[serde(rename = $hidden_word)] $hidden,)+)?
        }

        impl $name {
            /// Every value that can be asked for, in its usual order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word for it.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                    $($(Self::$hidden => $hidden_word,)+)?
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl FromStr for $name {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<Self, ParseError> {
                Self::ALL.iter().copied().find(|value| value.word() == text).ok_or_else(|| {
                    let known: Vec<&str> = Self::ALL.iter().map(|value| value.word()).collect();
                    ParseError::new(text, 0, format!("there is no such {}; write one of {}", $what, known.join(", ")))
                })
            }
        }
    };
}
pub(crate) use words;

words! {
    /// Which way the bytes go.
    Direction, "direction":
    Read = "read",
    Write = "write",
}

words! {
    /// In which order the offsets come.
    Pattern, "pattern":
    Sequential = "sequential",
    Random = "random",
    ; never asked for:
    /// Not told by the tool that measured it.
    Unknown = "unknown",
}

words! {
    /// fio's access patterns.
    Rw, "access pattern":
    Read = "read",
    Write = "write",
    Randread = "randread",
    Randwrite = "randwrite",
    Mixed = "rw",
    Randmixed = "randrw",
    /// Blocks are given back (discarded on a device, punched out of a file), one after the other.
    Trim = "trim",
    /// The same in no order.
    Randtrim = "randtrim",
    /// Each block is given back and then written, one after the other.
    Trimwrite = "trimwrite",
    ; never asked for:
    /// Reads in an order that the tool that measured them does not tell.
    UnknownRead = "read-unknown",
    /// Writes in such an order.
    UnknownWrite = "write-unknown",
    /// Both in such an order.
    UnknownMixed = "rw-unknown",
}

words! {
    /// Which caches take part, in SQLIO's four settings.
    Cache, "cache setting":
    /// The page cache and the device's own (SQLIO's Y): plain buffered I/O.
    Both = "both",
    /// The page cache, but each write reaches the medium (SQLIO's S): `O_DSYNC`.
    Os = "os",
    /// The device's cache alone (SQLIO's H): `O_DIRECT`.
    Device = "device",
    /// Neither (SQLIO's N): `O_DIRECT` and `O_DSYNC`.
    None = "none",
}

words! {
    /// What the page cache holds of the target when a buffered run begins.
    PageCache, "state of the page cache":
    /// Nothing, and each block is read once: the path is measured.
    Empty = "empty",
    /// All of it, and blocks are read again and again: the page cache itself is measured.
    Warm = "warm",
}

words! {
    /// Whether messages to a file server are signed or encrypted.
    Sealing, "sealing":
    /// As the server asks for it.
    AsAsked = "as-asked",
    /// Each is signed, and each answer's signature is checked.
    Signed = "signed",
    /// All are encrypted, which signs them too.
    Encrypted = "encrypted",
}

words! {
    /// Which way requests go to the files of a server.
    Way, "way":
    /// From here, as to any target: of a share, over the network.
    Wire = "wire",
    /// From the server itself, through its own share.
    SameMachine = "same-machine",
    /// From the server itself, past the share.
    Local = "local",
}

words! {
    /// How requests are issued: fio's ioengine, sqlio2's personality.
    EngineName, "engine":
    /// io_uring where the kernel allows it, else a pool of threads (sync at depth 1).
    Auto = "auto",
    /// Completes at once and touches nothing: what the harness itself costs.
    Null = "null",
    /// A simulated system in virtual time.
    Simulated = "simulated",
    /// pread and pwrite, one at a time.
    Sync = "sync",
    /// A thread for each unit of depth, each doing pread and pwrite.
    Pool = "pool",
    /// io_uring with registered buffers and files.
    IoUring = "io_uring",
    /// io_uring with nothing registered: what registering saves.
    Plain = "io_uring_plain",
    /// io_uring whose kernel thread polls for submissions, so that none takes a system call.
    Sqpoll = "io_uring_sqpoll",
    /// io_uring that polls the device for completions instead of waiting for its interrupt.
    Iopoll = "io_uring_iopoll",
    /// The kernel's older asynchronous interface, io_submit and io_getevents.
    Libaio = "libaio",
    /// Loads and stores on mapped memory; the page faults are the requests.
    Mmap = "mmap",
    /// SMB2 requests in flight over TCP connections of our own, without a mount.
    Smb = "smb",
    /// NFSv3 requests in flight over TCP connections of our own, without a mount.
    Nfs = "nfs",
    /// S3 requests over HTTP/1.1, each in flight on a TCP connection of its own, without a mount.
    S3 = "s3",
    /// No storage at all: the processors' own loops over memory (the kernels of `memory`).
    Memory = "memory",
    ; never asked for:
    /// Another tool's own way of issuing them, or one that it does not tell.
    Unknown = "unknown",
}

words! {
    /// When requests come, where they come at a rate of their own.
    Arrivals, "kind of arrivals":
    /// At equal distances.
    Fixed = "fixed",
    /// At exponentially distributed distances, as from many independent users.
    Poisson = "poisson",
}

words! {
    /// A setting with two positions.
    Switch, "position":
    On = "on",
    Off = "off",
}

words! {
    /// What a run is measured for.
    Pass, "pass":
    /// Throughput, latency and the charged processor time.
    Plain = "plain",
    /// The same workload beside the soaker, for the processor time that nobody is charged for.
    Soaker = "soaker",
    /// The same workload with the block layer's tracepoints on, for where a request's time goes.
    Traced = "traced",
    /// The same workload again, after plain runs have chosen it: what is reported of a choice comes from other runs
    /// than those that made it.
    Confirm = "confirm",
}

words! {
    /// How the file is there when a run begins, and how the run's writes find their place in it.
    Layout, "layout":
    /// Preallocated and written: a write finds its blocks there.
    Written = "written",
    /// A file just created, written from its first byte on: each write extends it.
    New = "new",
    /// A file opened for appending, as a log is.
    Append = "append",
    /// A file just created whose last block is written first: its size stands from then on, its blocks do not.
    LastFirst = "last-first",
    /// `fallocate`d: its blocks are there, and marked as never written.
    Fallocated = "fallocated",
    /// Written whole, then cut to nothing on opening: each write extends it again.
    Truncated = "truncated",
}

words! {
    /// Which processors the submitting threads may use.
    Affinity, "affinity":
    /// Any.
    All = "all",
    /// One for all of them, the first that the process may use.
    One = "one",
    /// The one that takes most of the device's interrupts.
    Interrupt = "interrupt",
    /// One that takes none of them, or the fewest.
    Other = "other",
}

words! {
    /// What the kernel is told of the order of reads (`posix_fadvise`): how far it reads ahead.
    Fadvise, "advice to the kernel":
    /// Nothing: its own read-ahead.
    Normal = "normal",
    /// Reads will be sequential: twice its read-ahead.
    Sequential = "sequential",
    /// Reads will be random: no read-ahead.
    Random = "random",
}

words! {
    /// How several members make one target.
    VolumeLayout, "volume layout":
    /// Each for itself: as many lanes as members, none knows of the others.
    Each = "each",
    /// Chunk after chunk, as RAID 0.
    Stripe = "stripe",
    /// Two copies, as RAID 1; reads by TwinStor's rule.
    Mirror = "mirror",
}

words! {
    /// A loop over memory: memspeed's eight tests, and what processors have learnt since.
    Kernel, "memory kernel":
    /// The loop alone; its time is taken from the others'.
    Null = "null",
    /// Reads 64 bits at a time.
    Read = "read64",
    /// Writes 64 bits at a time.
    Write = "write64",
    /// Reads with the widest vectors there are.
    ReadVector = "read-vector",
    /// Writes with the widest vectors there are.
    WriteVector = "write-vector",
    /// Writes past the caches, with non-temporal stores.
    WriteStream = "write-stream",
    /// The C library's memcpy.
    Copy = "memcpy",
    /// Copies with vectors, by ordinary stores.
    CopyVector = "copy-vector",
    /// Copies with vectors, storing past the caches.
    CopyStream = "copy-stream",
    /// Reads a file that the page cache holds, 64 KiB at a time.
    FileRead = "file-read",
    /// Writes such a file, 64 KiB at a time; it is deleted on close, before anything is written back.
    FileWrite = "file-write",
}

impl Rw {
    /// The access pattern that moves bytes one way in one order.
    pub fn of(pattern: Pattern, direction: Direction) -> Self {
        match (pattern, direction) {
            (Pattern::Sequential, Direction::Read) => Self::Read,
            (Pattern::Sequential, Direction::Write) => Self::Write,
            (Pattern::Random, Direction::Read) => Self::Randread,
            (Pattern::Random, Direction::Write) => Self::Randwrite,
            (Pattern::Unknown, Direction::Read) => Self::UnknownRead,
            (Pattern::Unknown, Direction::Write) => Self::UnknownWrite,
        }
    }

    /// The order of its offsets.
    pub fn pattern(self) -> Pattern {
        match self {
            Self::Read | Self::Write | Self::Mixed | Self::Trim | Self::Trimwrite => Pattern::Sequential,
            Self::Randread | Self::Randwrite | Self::Randmixed | Self::Randtrim => Pattern::Random,
            Self::UnknownRead | Self::UnknownWrite | Self::UnknownMixed => Pattern::Unknown,
        }
    }

    /// The way its bytes go; `None` where they go both ways. Trims are changes of the target, as writes are.
    pub fn direction(self) -> Option<Direction> {
        match self {
            Self::Read | Self::Randread | Self::UnknownRead => Some(Direction::Read),
            Self::Write | Self::Randwrite | Self::UnknownWrite => Some(Direction::Write),
            Self::Trim | Self::Randtrim | Self::Trimwrite => Some(Direction::Write),
            Self::Mixed | Self::Randmixed | Self::UnknownMixed => None,
        }
    }

    /// Whether it gives blocks back.
    pub fn trims(self) -> bool {
        matches!(self, Self::Trim | Self::Randtrim | Self::Trimwrite)
    }

    /// Whether it may write to the target.
    pub fn writes(self) -> bool {
        self.direction() != Some(Direction::Read)
    }
}

impl EngineName {
    /// Whether it carries requests to files or devices of this machine that are really there.
    pub fn is_for_storage(self) -> bool {
        let is_elsewhere = matches!(self, Self::Null | Self::Simulated | Self::Memory | Self::Unknown);
        self != Self::Auto && !is_elsewhere && !self.is_of_a_share()
    }

    /// Whether it speaks to a file server itself.
    pub fn is_of_a_share(self) -> bool {
        matches!(self, Self::Smb | Self::Nfs | Self::S3)
    }

    /// Whether it carries out one request after the other, whatever the depth.
    pub fn is_in_turn(self) -> bool {
        matches!(self, Self::Sync | Self::Mmap)
    }

    /// Whether several requests can go out with one system call.
    pub fn shares_calls(self) -> bool {
        matches!(self, Self::Auto | Self::IoUring | Self::Plain | Self::Iopoll | Self::Libaio)
    }

    /// Whether it is io_uring in one of its forms.
    pub fn is_io_uring(self) -> bool {
        matches!(self, Self::IoUring | Self::Plain | Self::Sqpoll | Self::Iopoll)
    }
}

impl Cache {
    /// Whether the page cache is bypassed.
    pub fn direct(self) -> bool {
        matches!(self, Self::Device | Self::None)
    }

    /// Whether each write is on the medium before it completes.
    pub fn durable(self) -> bool {
        matches!(self, Self::Os | Self::None)
    }

    /// SQLIO's letter in its trace.
    pub fn sqlio_letter(self) -> char {
        match self {
            Self::Both => 'Y',
            Self::Os => 'S',
            Self::Device => 'H',
            Self::None => 'N',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back() {
        for rw in Rw::ALL {
            assert_eq!(rw.word().parse::<Rw>().as_ref(), Ok(rw));
        }
        assert!("unknown".parse::<Pattern>().is_err() && "read-unknown".parse::<Rw>().is_err());
        assert!("sequental".parse::<Pattern>().unwrap_err().to_string().contains("sequential, random"));
    }
}
