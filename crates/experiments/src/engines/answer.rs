//! Defines the answer of `engines`: the fastest and the cheapest way to issue requests.

use halfpower_analyse::Interval;
use halfpower_spec::{Direction, EngineName, IoMem, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

use super::rows::EngineRow;
use crate::ratio_finding::RatioFinding;

/// How the engines compare at equal work.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct EnginesAnswer {
    /// The smallest direct requests at the largest depth, which decide throughput and cost.
    pub busy: Option<BusyEngines>,
    /// Polling engines compared with io_uring on the same requests.
    pub polling: Vec<PollingCost>,
    /// The same requests at depth 1: the engines with the lowest latency.
    pub soonest: Option<BestEngines>,
    /// Requests through the page cache.
    pub buffered: Vec<EngineRow>,
    /// Effect and cost of batches, huge pages and registered buffers.
    pub issuing: Vec<IssuingChange>,
    /// The only engine that was measured, if there was nothing to compare it with.
    pub only: Option<EngineRow>,
}

/// One changed part of issuing, compared with the usual way at the same work and engine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct IssuingChange {
    /// The part that is changed.
    pub change: IssuingPart,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Which way the bytes go.
    pub rw: Direction,
    /// The engine.
    pub engine: EngineName,
    /// Depth.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Rate with the change over the rate without it.
    pub times: Option<RatioFinding>,
    /// Throughput without the change, in MB/s.
    pub without_mbps: Interval,
    /// Throughput with the change, in MB/s.
    pub with_mbps: Interval,
    /// Requests a second without the change.
    pub without_iops: Interval,
    /// Requests a second with the change.
    pub with_iops: Interval,
    /// Processor time per request without the change, in microseconds: charged, and by the soaker.
    pub without_us: (f64, Option<f64>),
    /// The same with the change.
    pub with_us: (f64, Option<f64>),
    /// Mean number of physical memory segments per request buffer without the change; `null` if the kernel does not
    /// tell.
    pub without_segments: Option<f64>,
    /// The same with the change.
    pub with_segments: Option<f64>,
}

/// The changed part of issuing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IssuingPart {
    /// Buffers in huge pages.
    HugePages,
    /// Buffers in ordinary pages, if the study uses huge pages.
    OrdinaryPages,
    /// Most requests per call; 0 means all that can be submitted.
    Batch(u32),
    /// File and buffers registered with the ring.
    Registration,
}

impl IssuingPart {
    /// The change to buffers in this memory.
    pub(super) fn memory(iomem: IoMem) -> Self {
        match iomem {
            IoMem::Pages => Self::OrdinaryPages,
            IoMem::Huge => Self::HugePages,
        }
    }
}

/// Engines at a large depth.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BusyEngines {
    /// Depth.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// The comparison of their rates.
    pub speed: EngineSpeed,
    /// The fastest engines.
    pub fastest: BestEngines,
    /// The lowest rate of any engine, in requests a second.
    pub slowest_iops: f64,
    /// The engines with the lowest processor cost per request.
    pub cheapest: BestEngines,
}

/// The comparison of engine rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineSpeed {
    /// All are equally fast.
    Alike,
    /// No engine is faster than another beyond chance.
    Unclear,
    /// Some are faster.
    SomeFaster,
}

/// The engines that tie for the best.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BestEngines {
    /// Their names.
    pub engines: Vec<EngineName>,
    /// Whether these are all engines, of three or more.
    pub is_all: bool,
    /// The best of them.
    pub best: EngineRow,
}

/// The processor cost of a polling engine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PollingCost {
    /// The engine.
    pub engine: EngineName,
    /// Processor time per request, over that of io_uring waiting for interrupts.
    pub of_io_uring: f64,
}
