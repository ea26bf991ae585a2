//! Declares the enums of settings; each value has one spelling in flags, files and output. A path is named from them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ParseError;

/// Declares an enum whose variants have one spelling each, in flags, files and output alike.
///
/// Variants after `never asked for:` occur only in files and output: no flag accepts them, and `ALL` lacks them.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal: $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)?
        $(; never asked for: $($(#[$hdoc:meta])* $hidden:ident = $hidden_word:literal),+ $(,)?)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, crate::JsonSchema)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant,)+
            $($($(#[$hdoc])* #[serde(rename = $hidden_word)] $hidden,)+)?
        }

        impl $name {
            /// Every value that a flag accepts, in the usual order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its spelling.
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
    /// The order of offsets.
    Pattern, "pattern":
    Sequential = "sequential",
    Random = "random",
    ; never asked for:
    /// Unknown: the tool that measured it does not report it.
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
    /// Blocks are trimmed (discarded on a device, punched out of a file), one after the other.
    Trim = "trim",
    /// The same in random order.
    Randtrim = "randtrim",
    /// Each block is trimmed and then written, one after the other.
    Trimwrite = "trimwrite",
    ; never asked for:
    /// Reads in an order that the measuring tool does not report.
    UnknownRead = "read-unknown",
    /// Writes in an order that the measuring tool does not report.
    UnknownWrite = "write-unknown",
    /// Reads and writes in an order that the measuring tool does not report.
    UnknownMixed = "rw-unknown",
}

words! {
    /// The caches in use, in SQLIO's four settings.
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
    /// The call that makes earlier writes durable.
    FlushCall, "call that flushes":
    /// The data, and of the inode only what reading them needs.
    Fdatasync = "fdatasync",
    /// The data and the inode.
    Fsync = "fsync",
    /// The file's pages alone: neither the inode nor the device's write cache, so nothing is durable for sure.
    SyncFileRange = "sync_file_range",
}

words! {
    /// What makes each write durable where the cache setting asks for that.
    DurableBy, "means to make each write durable":
    /// The file is opened with `O_DSYNC`.
    Odsync = "o_dsync",
    /// The file is opened with `O_SYNC`: the inode is written too.
    Osync = "o_sync",
    /// Each write carries `RWF_DSYNC` (Linux 4.7), and the file is opened without.
    RwfDsync = "rwf_dsync",
}

words! {
    /// From when a thread's pause between requests lasts.
    ThinktimeFrom, "beginning of a pause":
    /// From when the last of its requests is done.
    Done = "done",
    /// From when the last of its requests went out, done or not.
    Issued = "issued",
}

words! {
    /// State of the page cache when a buffered run begins.
    PageCache, "state of the page cache":
    /// Holds nothing of the target, and each block is read once: the run measures the path.
    Empty = "empty",
    /// Holds all of the target, and blocks are read repeatedly: the run measures the page cache itself.
    Warm = "warm",
}

words! {
    /// Whether messages to a file server are signed or encrypted.
    Sealing, "sealing":
    /// As the server asks.
    AsAsked = "as-asked",
    /// Each message is signed, and the signature of each reply is checked.
    Signed = "signed",
    /// All messages are encrypted, which also signs them.
    Encrypted = "encrypted",
}

words! {
    /// Path of requests to the files of a server.
    Way, "way":
    /// From here: to a share, over the network.
    Wire = "wire",
    /// From the server itself, through its own share.
    SameMachine = "same-machine",
    /// From the server itself, bypassing the share.
    Local = "local",
}

words! {
    /// How requests are issued: fio's ioengine, sqlio2's personality.
    EngineName, "engine":
    /// io_uring if the kernel allows it, else a pool of threads (sync at depth 1).
    Auto = "auto",
    /// Completes at once and moves no data: measures the cost of the harness itself.
    Null = "null",
    /// A simulated system in virtual time.
    Simulated = "simulated",
    /// pread and pwrite, one at a time.
    Sync = "sync",
    /// A thread for each unit of depth, each doing pread and pwrite.
    Pool = "pool",
    /// io_uring with registered buffers and files.
    IoUring = "io_uring",
    /// io_uring with nothing registered: shows what registration saves.
    Plain = "io_uring_plain",
    /// io_uring with a kernel thread that polls for submissions, so that submitting needs no system call.
    Sqpoll = "io_uring_sqpoll",
    /// io_uring that polls the device for completions instead of waiting for its interrupt.
    Iopoll = "io_uring_iopoll",
    /// io_uring that rests for half of the time that requests took before it polls the device (Linux 6.13).
    Hybrid = "io_uring_hybrid",
    /// NVMe commands through io_uring to a namespace's generic device, past the block layer (Linux 5.19).
    Commands = "io_uring_cmd",
    /// The same, polling the device for completions instead of waiting for its interrupt (Linux 6.1).
    PolledCommands = "io_uring_cmd_iopoll",
    /// The kernel's older asynchronous interface, io_submit and io_getevents.
    Libaio = "libaio",
    /// Loads and stores on mapped memory; the page faults are the requests.
    Mmap = "mmap",
    /// SMB2 requests over halfpower's own TCP connections, without a mount.
    Smb = "smb",
    /// NFSv3 requests over halfpower's own TCP connections, without a mount.
    Nfs = "nfs",
    /// S3 requests over HTTP/1.1, one in flight on each TCP connection, without a mount.
    S3 = "s3",
    /// No storage: loops over memory (the kernels of `memory`).
    Memory = "memory",
    ; never asked for:
    /// Another tool's own engine, or one that it does not report.
    Unknown = "unknown",
}

words! {
    /// Spacing of requests in an open loop.
    Arrivals, "kind of arrivals":
    /// Equal intervals.
    Fixed = "fixed",
    /// Exponentially distributed intervals, as from many independent users.
    Poisson = "poisson",
}

words! {
    /// A setting with two positions.
    Switch, "position":
    On = "on",
    Off = "off",
}

words! {
    /// The purpose of a run.
    Pass, "pass":
    /// Measures throughput, latency and charged processor time.
    Plain = "plain",
    /// The same workload with the soaker running, for processor time that is charged to no process.
    Soaker = "soaker",
    /// The same workload with the block layer's tracepoints on, to see where a request's time goes.
    Traced = "traced",
    /// The same workload again, after plain runs have chosen it: reported values come from other runs than those that
    /// made the choice.
    Confirm = "confirm",
}

words! {
    /// State of the file when a run begins, and where the run's writes go.
    Layout, "layout":
    /// Preallocated and written: writes overwrite existing blocks.
    Written = "written",
    /// Just created and written from its first byte on: each write extends it.
    New = "new",
    /// Opened for appending, like a log.
    Append = "append",
    /// Just created, with the last block written first: this fixes its size, but its blocks are not allocated.
    LastFirst = "last-first",
    /// `fallocate`d: its blocks are allocated but marked as unwritten.
    Fallocated = "fallocated",
    /// Written whole, then truncated to 0 bytes on opening: each write extends it again.
    Truncated = "truncated",
}

words! {
    /// Which processors the submitting threads may use.
    Affinity, "affinity":
    /// Any processor.
    All = "all",
    /// One processor for all threads: the first that the process may use.
    One = "one",
    /// The processor that takes most of the device's interrupts.
    Interrupt = "interrupt",
    /// A processor that takes none of the device's interrupts, or the fewest.
    Other = "other",
    /// A processor of the memory node (NUMA) that the device is at.
    Near = "near",
    /// A processor of the memory node farthest from the device's.
    Far = "far",
}

words! {
    /// Advice to the kernel on the order of reads (`posix_fadvise`), which sets how far it reads ahead.
    Fadvise, "advice to the kernel":
    /// No advice: the kernel's default read-ahead.
    Normal = "normal",
    /// Reads will be sequential: twice its read-ahead.
    Sequential = "sequential",
    /// Reads will be random: no read-ahead.
    Random = "random",
}

words! {
    /// How several members make one target.
    VolumeLayout, "volume layout":
    /// Each member independent of the others, with its own lanes.
    Each = "each",
    /// Chunks in turn, as RAID 0.
    Stripe = "stripe",
    /// Two copies, as RAID 1; reads by TwinStor's rule.
    Mirror = "mirror",
}

words! {
    /// A loop over memory: memspeed's eight tests, and newer instructions.
    Kernel, "memory kernel":
    /// The empty loop; its time is subtracted from the others'.
    Null = "null",
    /// Reads 64 bits at a time.
    Read = "read64",
    /// Writes 64 bits at a time.
    Write = "write64",
    /// Reads with the processor's widest vectors.
    ReadVector = "read-vector",
    /// Writes with the processor's widest vectors.
    WriteVector = "write-vector",
    /// Writes with non-temporal stores, which bypass the caches.
    WriteStream = "write-stream",
    /// The C library's memcpy.
    Copy = "memcpy",
    /// Copies with vectors, by ordinary stores.
    CopyVector = "copy-vector",
    /// Copies with vectors and non-temporal stores, which bypass the caches.
    CopyStream = "copy-stream",
    /// Reads a file in the page cache, 64 KiB at a time.
    FileRead = "file-read",
    /// Writes a file in the page cache, 64 KiB at a time; it is deleted on close, before writeback.
    FileWrite = "file-write",
}

words! {
    /// What is done with small files, one for each request: the measures of mdtest.
    FileOperation, "operation on files":
    /// A new file is created, filled and closed.
    Create = "create",
    /// The metadata of a file are asked for.
    Stat = "stat",
    /// All names in the folder are read, once for each request.
    List = "list",
    /// A file gets its other name in the same folder.
    Rename = "rename",
    /// A file is removed.
    Remove = "remove",
}

words! {
    /// Where the threads of a run have their small files.
    Folders, "choice of folders":
    /// Each thread has a folder of its own.
    Own = "own",
    /// All threads share one folder.
    Shared = "shared",
}

impl FileOperation {
    /// Whether it changes the folder, and does not only look.
    pub fn changes(self) -> bool {
        matches!(self, Self::Create | Self::Rename | Self::Remove)
    }

    /// Whether it can be done only once with each file.
    pub fn is_once(self) -> bool {
        matches!(self, Self::Create | Self::Remove)
    }
}

impl Rw {
    /// The access pattern of one direction and one order of offsets.
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

    /// Its direction; `None` if it both reads and writes. Trims count as writes, since they change the target.
    pub fn direction(self) -> Option<Direction> {
        match self {
            Self::Read | Self::Randread | Self::UnknownRead => Some(Direction::Read),
            Self::Write | Self::Randwrite | Self::UnknownWrite => Some(Direction::Write),
            Self::Trim | Self::Randtrim | Self::Trimwrite => Some(Direction::Write),
            Self::Mixed | Self::Randmixed | Self::UnknownMixed => None,
        }
    }

    /// Whether it trims.
    pub fn trims(self) -> bool {
        matches!(self, Self::Trim | Self::Randtrim | Self::Trimwrite)
    }

    /// Whether it may write to the target.
    pub fn writes(self) -> bool {
        self.direction() != Some(Direction::Read)
    }
}

impl EngineName {
    /// Whether it sends requests to real files or devices of this machine.
    pub fn is_for_storage(self) -> bool {
        let is_elsewhere = matches!(self, Self::Null | Self::Simulated | Self::Memory | Self::Unknown);
        self != Self::Auto && !is_elsewhere && !self.is_of_a_share()
    }

    /// Whether it is a client of a file server.
    pub fn is_of_a_share(self) -> bool {
        matches!(self, Self::Smb | Self::Nfs | Self::S3)
    }

    /// Whether it executes one request at a time, whatever the depth.
    pub fn is_in_turn(self) -> bool {
        matches!(self, Self::Sync | Self::Mmap)
    }

    /// Whether one system call can submit several requests.
    pub fn shares_calls(self) -> bool {
        matches!(self, Self::Auto | Self::Libaio) || self.is_io_uring() && self != Self::Sqpoll
    }

    /// Whether it is io_uring in one of its forms.
    pub fn is_io_uring(self) -> bool {
        matches!(self, Self::IoUring | Self::Plain | Self::Sqpoll) || self.polls_device() || self.sends_commands()
    }

    /// Whether it polls the device for completions, instead of waiting for its interrupt.
    pub fn polls_device(self) -> bool {
        matches!(self, Self::Iopoll | Self::Hybrid | Self::PolledCommands)
    }

    /// Whether its requests are NVMe commands that pass the block layer by.
    pub fn sends_commands(self) -> bool {
        matches!(self, Self::Commands | Self::PolledCommands)
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

/// A path in words, such as `random direct read`.
pub fn path_words(pattern: Pattern, cache: Cache, rw: Direction) -> String {
    let order = if pattern == Pattern::Unknown { "order unknown," } else { pattern.word() };
    format!("{order} {} {rw}", cache_word(cache))
}

/// A cache setting as people write it: its own word, or `direct` and `buffered` for the two common ones.
///
/// # Errors
/// If it is neither.
pub fn cache_named(text: &str) -> Result<Cache, ParseError> {
    match text {
        "direct" => Ok(Cache::Device),
        "buffered" => Ok(Cache::Both),
        word => word.parse(),
    }
}

/// The cache setting as an adjective.
pub fn cache_word(cache: Cache) -> &'static str {
    match cache {
        Cache::Both => "buffered",
        Cache::Os => "durable buffered",
        Cache::Device => "direct",
        Cache::None => "durable direct",
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
        assert_eq!(["direct", "buffered", "none"].map(cache_named), [Cache::Device, Cache::Both, Cache::None].map(Ok));
        assert!(cache_named("writeback").is_err());
        assert!("sequental".parse::<Pattern>().unwrap_err().to_string().contains("sequential, random"));
    }
}
