//! Holds what stops a path, with the measurements that show it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{CellSettings, LevelId, LevelSource, PathSettings};

/// What stops the path from going faster.
#[derive(Debug, Clone, PartialEq)]
pub struct Bottleneck {
    /// The narrowest level; `None` where it is not known.
    pub level: Option<LevelId>,
    /// The fastest cell, which the judgement rests on; `None` where no cell bears a conclusion.
    pub fastest: Option<FastestCell>,
    /// What stops that cell, and how that is known.
    pub stopped_by: StoppedBy,
    /// What would stop it next, were this lifted; `None` where no other limit is known.
    pub next: Option<NextLimit>,
    /// The lowest limit on requests a second that any path meets.
    pub request_ceiling: Option<RequestCeiling>,
}

/// The cell that stands for how fast the target is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FastestCell {
    /// Its settings.
    #[serde(flatten)]
    pub cell: CellSettings,
    /// Its throughput in MB/s.
    pub mbps: f64,
}

/// What stops the fastest cell, with the evidence.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum StoppedBy {
    /// Not known: no cell has a run yet.
    NothingMeasured,
    /// Not known: every result came out of a cache or with errors.
    OnlyCached,
    /// Not known: no run moved bytes without errors.
    NothingMoved,
    /// Members side by side do not add up any more, and nothing else was measured.
    SharedPath {
        /// How that was measured.
        #[serde(skip)]
        source: LevelSource,
    },
    /// A rate that a level is known to have is all but reached.
    KnownRate {
        /// How it is known.
        limit: KnownLimit,
        /// The rate in MB/s.
        limit_mbps: f64,
        /// Share of it that was reached.
        share: f64,
        /// Where the figure comes from.
        #[serde(skip)]
        source: LevelSource,
    },
    /// A number of requests a second that a level admits is all but reached.
    KnownRequests {
        /// Requests a second that were reached.
        iops: f64,
        /// Requests a second that are admitted.
        limit_iops: f64,
        /// Share of them that was reached.
        share: f64,
        /// Where the figure comes from.
        #[serde(skip)]
        source: LevelSource,
    },
    /// The processors have no time left.
    FullProcessor {
        /// Whose processors are full.
        processors_of: ProcessorsOf,
        /// How many they are.
        processors: f64,
        /// Share of their time that is busy.
        share: f64,
        /// Share of their time that the threads waited for them, while others had them.
        waited_share: f64,
        /// The next larger number of threads that the same cell was measured with, and is faster with as far as its runs
        /// tell; `null` where there is none.
        more_threads: Option<u32>,
        /// What it gave, in MB/s.
        more_mbps: Option<f64>,
    },
    /// The far end's processors have no time left, or one of them has none.
    FarProcessors {
        /// How many of them.
        processors: usize,
        /// How many it has.
        of_processors: usize,
        /// Share of their time that is busy.
        share: f64,
        /// Share of their time that a hypervisor takes.
        steal_share: f64,
    },
    /// A disk at the far end has requests in flight all the time.
    FarDisk {
        /// Its kernel name.
        disk: String,
        /// Share of the time that it is busy.
        share: f64,
    },
    /// A control group at the far end lets no more through to a disk.
    FarDiskLimit {
        /// Its kernel name.
        disk: String,
        /// Its rate meanwhile, in MB/s.
        mbps: f64,
        /// What is let through, in MB/s.
        limit_mbps: f64,
        /// Share of that which was reached.
        share: f64,
        /// Which file of which group says so.
        group: String,
    },
    /// Our own client of file servers does little more against a server in memory.
    OwnClient {
        /// What it does there, in MB/s.
        limit_mbps: f64,
        /// Share of that which was reached.
        share: f64,
    },
    /// What is in flight over the network's round trip is the rate.
    Window {
        /// What bounds the bytes in flight.
        in_flight: InFlight,
        /// How many they are.
        bytes: f64,
        /// The shortest round trip in microseconds.
        round_trip_us: f64,
        /// What comes of both, in MB/s.
        limit_mbps: f64,
        /// Share of that which was reached.
        share: f64,
    },
    /// Cells stand on a rate that nothing advertises.
    Ceiling {
        /// What the ceiling limits.
        ceiling: Ceiling,
        /// Its height, in MB/s or in requests a second.
        rate: f64,
        /// Cells that stand on it.
        cells: usize,
        /// Smallest block size of these at the smallest depth.
        from_bs_bytes: u64,
        /// Smallest depth of these.
        from_iodepth: u32,
        /// Whether a hypervisor or container stands before the device.
        virtualised: bool,
    },
    /// The device serves so many requests side by side, and more only wait.
    Parallelism {
        /// How many.
        side_by_side: f64,
        /// Throughput that larger blocks alone could bring, in MB/s, where they were not measured.
        larger_blocks_mbps: Option<f64>,
    },
    /// More depth brought no more.
    NoGainFromDepth {
        /// The depth from which on it brought no more.
        iodepth: u32,
        /// The larger depth that was measured.
        deeper_iodepth: u32,
        /// Throughput there in MB/s.
        deeper_mbps: f64,
    },
    /// More threads brought no more, so that it is not their processors.
    NoGainFromThreads {
        /// The threads from which on it brought no more.
        threads: u32,
        /// The larger number that was measured.
        more_threads: u32,
        /// Throughput there in MB/s.
        more_mbps: f64,
    },
    /// The time that each request takes; more depth may help.
    RequestTime {
        /// What that time is made of, where it is known.
        parts: Option<RequestTime>,
        /// What the last step in depth brought, where it was measured.
        deeper: Option<DepthGain>,
    },
}

/// What bounds the bytes in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InFlight {
    /// Depth times block size.
    Requests,
    /// The windows of TCP.
    TcpWindow,
}

/// How the rate of a level is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KnownLimit {
    /// So much gets through it at best.
    Attainable,
    /// So much it advertises.
    Advertised,
    /// So much members side by side have been seen to get through it.
    SeenOnSharedPath,
}

/// Whose processors are full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessorsOf {
    /// Those that the run's threads can use, by what they were charged.
    Threads,
    /// All of the machine, by what the soaker lost.
    Machine,
}

/// What a ceiling limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ceiling {
    /// Bytes a second: neither larger blocks nor more depth get past it.
    Bytes,
    /// Requests a second: neither smaller blocks nor more depth get past it.
    Requests,
}

/// Time between completions at one depth: a fixed part, and one for each KiB.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RequestTime {
    /// Depth that it was fitted at, over all threads.
    pub iodepth: u32,
    /// Microseconds whatever the size.
    pub fixed_us: f64,
    /// Microseconds for each KiB.
    pub us_per_kib: f64,
}

/// What more depth brought.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DepthGain {
    /// The depth before.
    pub from_iodepth: u32,
    /// Gain in throughput from there to the fastest cell, as a share.
    pub gain: f64,
}

/// What would stop the path next.
#[derive(Debug, Clone, PartialEq)]
pub enum NextLimit {
    /// A level with a known limit.
    Level {
        /// Which.
        level: LevelId,
        /// Its limit in MB/s.
        mbps: f64,
        /// How that is known.
        by: NextLimitBy,
    },
    /// The members of the target, each at what it gives alone.
    Members,
}

/// How the next limit is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NextLimitBy {
    /// By what gets through the level at best.
    Attainable,
    /// By its advertised peak.
    Advertised,
    /// By the rate at which the charged time would fill the processors.
    ChargedTime,
    /// By its rate on large blocks.
    LargeBlocks,
}

/// A limit on requests a second that a path meets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RequestCeiling {
    /// The path.
    #[serde(flatten)]
    pub path: PathSettings,
    /// Requests a second.
    pub iops: f64,
}
