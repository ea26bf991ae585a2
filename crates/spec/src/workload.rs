//! What is asked of a target: one workload, one run of it, and the words its settings are written in.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Experiment, Nanos, ParseError};

/// Declares an enum whose variants have exactly one spelling, in flags, files and output alike.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal: $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every value, in its usual order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word for it.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
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
                    ParseError::new(text, 0, format!("no such {}; one of {}", $what, known.join(", ")))
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
}

words! {
    /// fio's six access patterns.
    Rw, "access pattern":
    Read = "read",
    Write = "write",
    Randread = "randread",
    Randwrite = "randwrite",
    Mixed = "rw",
    Randmixed = "randrw",
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
}

impl Rw {
    /// The access pattern that moves bytes one way in one order.
    pub fn of(pattern: Pattern, direction: Direction) -> Self {
        match (pattern, direction) {
            (Pattern::Sequential, Direction::Read) => Self::Read,
            (Pattern::Sequential, Direction::Write) => Self::Write,
            (Pattern::Random, Direction::Read) => Self::Randread,
            (Pattern::Random, Direction::Write) => Self::Randwrite,
        }
    }

    /// The order of its offsets.
    pub fn pattern(self) -> Pattern {
        match self {
            Self::Read | Self::Write | Self::Mixed => Pattern::Sequential,
            Self::Randread | Self::Randwrite | Self::Randmixed => Pattern::Random,
        }
    }

    /// The way its bytes go; `None` where they go both ways.
    pub fn direction(self) -> Option<Direction> {
        match self {
            Self::Read | Self::Randread => Some(Direction::Read),
            Self::Write | Self::Randwrite => Some(Direction::Write),
            Self::Mixed | Self::Randmixed => None,
        }
    }

    /// Whether it may write to the target.
    pub fn writes(self) -> bool {
        self.direction() != Some(Direction::Read)
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

/// One combination of settings; measured several times, it is a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Workload {
    /// Access pattern.
    pub rw: Rw,
    /// Share of reads in percent, where `rw` is mixed; without meaning elsewhere.
    pub rwmixread: u8,
    /// Bytes a request (SQLIO's request size).
    pub bs: Bytes,
    /// Requests kept outstanding by each thread.
    pub iodepth: u32,
    /// Submitting threads.
    pub threads: u32,
    /// Which caches take part.
    pub cache: Cache,
    /// How requests are issued.
    pub engine: EngineName,
    /// Requests a second that come to each thread, whether or not earlier ones are done (open loop); `None` issues
    /// a request as soon as another is done (closed loop).
    #[serde(default)]
    pub rate: Option<Arrival>,
}

/// Requests that come at a rate of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Arrival {
    /// Requests a second, on the average.
    pub iops: u64,
    /// At which distances.
    pub arrivals: Arrivals,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            rw: Rw::Read,
            rwmixread: 50,
            bs: Bytes(64 * 1024),
            iodepth: 8,
            threads: 1,
            cache: Cache::Device,
            engine: EngineName::Auto,
            rate: None,
        }
    }
}

impl Workload {
    /// Requests outstanding over all threads.
    pub fn total_depth(&self) -> u32 {
        self.iodepth * self.threads
    }
}

/// The workload as the flags of `halfpower run`; equal workloads have equal text.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--rw {} ", self.rw)?;
        if self.rw.direction().is_none() {
            write!(f, "--rwmixread {} ", self.rwmixread)?;
        }
        write!(f, "--bs {} --iodepth {} --threads {} ", self.bs, self.iodepth, self.threads)?;
        write!(f, "--cache {} --engine {}", self.cache, self.engine)?;
        match self.rate {
            Some(Arrival { iops, arrivals }) => write!(f, " --rate {iops} --arrivals {arrivals}"),
            None => Ok(()),
        }
    }
}

/// One run: a workload of an experiment, measured once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Run {
    /// The plan it belongs to; `None` for `halfpower run`.
    pub experiment: Option<Experiment>,
    /// What is asked of the target.
    pub workload: Workload,
    /// Which repetition of its cell and pass this is, from 0.
    pub repeat: u32,
    /// What it is measured for.
    pub pass: Pass,
    /// How long the window stays open.
    pub runtime: Nanos,
    /// Seed of its offsets and of its payload.
    pub seed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back() {
        for rw in Rw::ALL {
            assert_eq!(rw.word().parse::<Rw>().as_ref(), Ok(rw));
        }
        assert!("sequental".parse::<Pattern>().unwrap_err().to_string().contains("sequential, random"));
    }

    #[test]
    fn a_workload_is_written_as_flags() {
        let workload = Workload { rw: Rw::Randmixed, ..Workload::default() };
        assert_eq!(
            workload.to_string(),
            "--rw randrw --rwmixread 50 --bs 64KiB --iodepth 8 --threads 1 --cache device --engine auto"
        );
    }
}
