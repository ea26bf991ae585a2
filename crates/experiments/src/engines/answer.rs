//! Defines what `engines` finds: which way of issuing requests is fastest, and which is cheapest.

use halfpower_analyse::Interval;
use halfpower_spec::{Direction, EngineName, IoMem, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

use super::rows::EngineRow;
use crate::ratio_finding::RatioFinding;

/// How the engines compare at equal work.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct EnginesAnswer {
    /// The smallest direct requests, as many at a time as were measured: decides on throughput and cost.
    pub busy: Option<BusyEngines>,
    /// Polling engines against io_uring, in the same requests.
    pub polling: Vec<PollingCost>,
    /// The same requests one at a time: who answers soonest.
    pub soonest: Option<BestEngines>,
    /// Requests through the page cache.
    pub buffered: Vec<EngineRow>,
    /// What batch, huge pages and registered buffers bring and cost.
    pub issuing: Vec<IssuingChange>,
    /// The only engine that could be measured, where none could be compared.
    pub only: Option<EngineRow>,
}

/// One way of issuing beside the usual one, at the same work through the same engine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct IssuingChange {
    /// What is otherwise.
    pub change: IssuingPart,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Which way the bytes go.
    pub rw: Direction,
    /// The engine.
    pub engine: EngineName,
    /// Requests at a time.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Its rate over that without it.
    pub times: Option<RatioFinding>,
    /// Throughput without it, in MB/s.
    pub without_mbps: Interval,
    /// Throughput with it.
    pub with_mbps: Interval,
    /// Requests a second without it.
    pub without_iops: Interval,
    /// Requests a second with it.
    pub with_iops: Interval,
    /// What a request costs without it, in microseconds: charged, and by the soaker.
    pub without_us: (f64, Option<f64>),
    /// What it costs with it.
    pub with_us: (f64, Option<f64>),
    /// In how many segments of the machine's memory a request's buffer lay without it; `None` where the kernel does not tell.
    pub without_segments: Option<f64>,
    /// In how many with it.
    pub with_segments: Option<f64>,
}

/// What is otherwise than usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IssuingPart {
    /// Buffers in huge pages.
    HugePages,
    /// Buffers in ordinary pages, where the study has them in huge ones.
    OrdinaryPages,
    /// So many requests a call; 0 is all that can go out.
    Batch(u32),
    /// File and buffers are registered with the ring; without it they are not.
    Registration,
}

impl IssuingPart {
    /// Buffers in this memory.
    pub(super) fn memory(iomem: IoMem) -> Self {
        match iomem {
            IoMem::Pages => Self::OrdinaryPages,
            IoMem::Huge => Self::HugePages,
        }
    }
}

/// Engines with many requests at a time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BusyEngines {
    /// Requests at a time.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// What their rates show.
    pub speed: EngineSpeed,
    /// The fastest.
    pub fastest: BestEngines,
    /// The least rate of any, in requests a second.
    pub slowest_iops: f64,
    /// Those that cost the processor least a request.
    pub cheapest: BestEngines,
}

/// What the rates of engines show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineSpeed {
    /// All are equally fast.
    Alike,
    /// None is surely faster than another.
    Unclear,
    /// Some are faster.
    SomeFaster,
}

/// The engines that are as good as the best.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BestEngines {
    /// Their names.
    pub engines: Vec<EngineName>,
    /// Whether these are all of three or more.
    pub is_all: bool,
    /// The best of them.
    pub best: EngineRow,
}

/// What an engine that polls costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PollingCost {
    /// The engine.
    pub engine: EngineName,
    /// Its processor time a request over that of io_uring, which waits for interrupts.
    pub of_io_uring: f64,
}
