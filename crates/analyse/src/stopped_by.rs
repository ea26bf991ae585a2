//! Defines what stops a path, with the measurements that show it.

use halfpower_spec::JsonSchema;
use serde::Serialize;

use crate::{BusiestProcessor, CellSettings, LevelId, LevelSource, PathSettings};

/// What stops the path from going faster.
#[derive(Debug, Clone, PartialEq)]
pub struct Bottleneck {
    /// The narrowest level; `None` if not known.
    pub level: Option<LevelId>,
    /// The fastest cell, which the judgement rests on; `None` if no cell allows a conclusion.
    pub fastest: Option<FastestCell>,
    /// What stops that cell, with the evidence.
    pub stopped_by: StoppedBy,
    /// What would stop it next if this limit were lifted; `None` if no other limit is known.
    pub next: Option<NextLimit>,
    /// The lowest limit on requests a second that any path meets.
    pub request_ceiling: Option<RequestCeiling>,
}

/// The cell that represents the target's speed.
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
    /// Not known: a cache gave every result, or requests failed.
    OnlyCached,
    /// Not known: no run moved bytes without errors.
    NothingMoved,
    /// The throughput of parallel members no longer adds up, and nothing else was measured.
    SharedPath {
        /// How that was measured.
        #[serde(skip)]
        source: LevelSource,
    },
    /// The result is close to a known rate of a level.
    KnownRate {
        /// How the rate is known.
        limit: KnownLimit,
        /// The rate in MB/s.
        limit_mbps: f64,
        /// Share of it that was reached.
        share: f64,
        /// Where the figure comes from.
        #[serde(skip)]
        source: LevelSource,
    },
    /// The result is close to a known limit on requests a second of a level.
    KnownRequests {
        /// Requests a second that were reached.
        iops: f64,
        /// Requests a second that the level allows.
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
        /// Number of these processors.
        processors: f64,
        /// Processors whose time may be used; 0 if not known.
        of_processors: f64,
        /// Share of their time that is busy.
        share: f64,
        /// Share of their time that ready threads waited because others used them.
        waited_share: f64,
        /// The next larger number of threads at which the same cell was measured and is faster beyond the noise of its
        /// runs; `null` if there is none.
        more_threads: Option<u32>,
        /// Its throughput, in MB/s.
        more_mbps: Option<f64>,
    },
    /// One processor is full, of interrupts to a large part: completions wait for it, whether or not others are idle.
    FullOfInterrupts {
        /// Processors whose time may be used; 0 if not known.
        of_processors: f64,
        /// The full one, with what fills it.
        #[serde(flatten)]
        busiest: BusiestProcessor,
    },
    /// The far end's processors are full, or one of them is.
    FarProcessors {
        /// Number of full processors.
        processors: usize,
        /// Number of its processors.
        of_processors: usize,
        /// Share of their time that is busy.
        share: f64,
        /// Share of their time that a hypervisor takes.
        steal_share: f64,
    },
    /// A disk at the far end always has requests in flight.
    FarDisk {
        /// Its kernel name.
        disk: String,
        /// Share of the time that it is busy.
        share: f64,
    },
    /// A control group at the far end limits a disk.
    FarDiskLimit {
        /// Its kernel name.
        disk: String,
        /// Its rate meanwhile, in MB/s.
        mbps: f64,
        /// The limit, in MB/s.
        limit_mbps: f64,
        /// Share of the limit that was reached.
        share: f64,
        /// File and group that set the limit.
        group: String,
    },
    /// Our own file server client is hardly faster against a server in memory.
    OwnClient {
        /// Its throughput there, in MB/s.
        limit_mbps: f64,
        /// Share of that throughput that was reached.
        share: f64,
    },
    /// Reads and writes of a file server, random and sequential, end at one rate: what all of them pass is the limit.
    OneRate {
        /// The rate of reads in MB/s.
        reads_mbps: f64,
        /// The rate of writes in MB/s.
        writes_mbps: f64,
        /// What this machine's own link advertises, in MB/s, if known: so much was not reached.
        link_mbps: Option<f64>,
    },
    /// The queue of the device is full, and each request in it takes no longer than one alone (Little's law).
    DeviceQueue {
        /// Requests that the queue holds at once.
        queue_requests: u32,
        /// Time of a request of this size alone, in microseconds.
        alone_us: f64,
        /// Requests a second that come of both.
        limit_iops: f64,
        /// Share of them that was reached.
        share: f64,
    },
    /// The rate equals the bytes in flight divided by the network's round trip.
    Window {
        /// What bounds the bytes in flight.
        in_flight: InFlight,
        /// Bytes in flight.
        bytes: f64,
        /// The shortest round trip in microseconds.
        round_trip_us: f64,
        /// The resulting limit, in MB/s.
        limit_mbps: f64,
        /// Share of the limit that was reached.
        share: f64,
    },
    /// Cells share a ceiling that nothing advertises.
    Ceiling {
        /// What the ceiling limits.
        ceiling: Ceiling,
        /// The ceiling, in MB/s or in requests a second.
        rate: f64,
        /// Cells at the ceiling.
        cells: usize,
        /// Smallest block size of these cells at their smallest depth.
        from_bs_bytes: u64,
        /// Smallest depth of these cells.
        from_iodepth: u32,
        /// Whether a hypervisor or container lies between the machine and the device.
        virtualised: bool,
    },
    /// The device serves a limited number of requests in parallel; further requests wait.
    Parallelism {
        /// Requests that it serves in parallel.
        side_by_side: f64,
        /// Throughput that larger blocks alone could bring, in MB/s, if they were not measured.
        larger_blocks_mbps: Option<f64>,
    },
    /// More depth gave no gain.
    NoGainFromDepth {
        /// The depth beyond which there was no gain.
        iodepth: u32,
        /// The larger depth that was measured.
        deeper_iodepth: u32,
        /// Throughput there in MB/s.
        deeper_mbps: f64,
    },
    /// More threads gave no gain, so the processors are not the limit.
    NoGainFromThreads {
        /// The number of threads beyond which there was no gain.
        threads: u32,
        /// The larger number that was measured.
        more_threads: u32,
        /// Throughput there in MB/s.
        more_mbps: f64,
    },
    /// The time of each request; more depth may help.
    RequestTime {
        /// Parts of that time, if known.
        parts: Option<RequestTime>,
        /// Gain of the last step in depth, if it was measured.
        deeper: Option<DepthGain>,
    },
}

impl StoppedBy {
    /// Whether only the cells show it: no other figure knows the rate of such a limit, and it lies beyond this machine.
    pub fn is_known_from_cells_alone(&self) -> bool {
        match self {
            Self::Ceiling { .. }
            | Self::OneRate { .. }
            | Self::DeviceQueue { .. }
            | Self::Parallelism { .. }
            | Self::NoGainFromDepth { .. }
            | Self::NoGainFromThreads { .. }
            | Self::RequestTime { .. } => true,
            Self::NothingMeasured
            | Self::OnlyCached
            | Self::NothingMoved
            | Self::SharedPath { .. }
            | Self::KnownRate { .. }
            | Self::KnownRequests { .. }
            | Self::FullProcessor { .. }
            | Self::FullOfInterrupts { .. }
            | Self::FarProcessors { .. }
            | Self::FarDisk { .. }
            | Self::FarDiskLimit { .. }
            | Self::OwnClient { .. }
            | Self::Window { .. } => false,
        }
    }
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
    /// The level gets this much through at best.
    Attainable,
    /// The level advertises this much.
    Advertised,
    /// Parallel members were seen to get this much through it.
    SeenOnSharedPath,
}

/// Whose processors are full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessorsOf {
    /// The processors that the run's threads can use, by charged time.
    Threads,
    /// All processors of the machine, by what the soaker lost.
    Machine,
    /// The processors' worth of time that a control group allows, by charged time.
    Quota,
}

/// What a ceiling limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ceiling {
    /// Bytes a second: neither larger blocks nor more depth exceed it.
    Bytes,
    /// Requests a second: neither smaller blocks nor more depth exceed it.
    Requests,
}

/// Time between completions at one depth: a fixed part and a part for each KiB.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RequestTime {
    /// Depth that it was fitted at, over all threads.
    pub iodepth: u32,
    /// Fixed microseconds, independent of size.
    pub fixed_us: f64,
    /// Microseconds for each KiB.
    pub us_per_kib: f64,
}

/// Gain from more depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DepthGain {
    /// The smaller depth.
    pub from_iodepth: u32,
    /// Gain in throughput from that depth to the fastest cell, as a share.
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
    /// The members of the target, each at its rate alone.
    Members,
}

/// How the next limit is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NextLimitBy {
    /// By what the level gets through at best.
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
