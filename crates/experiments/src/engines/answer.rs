//! Defines what `engines` finds: which way of issuing requests is fastest, and which is cheapest.

use halfpower_spec::EngineName;
use serde::Serialize;

use super::rows::EngineRow;

/// How the engines compare at equal work.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EnginesAnswer {
    /// The smallest direct requests, as many at a time as were measured: decides on throughput and cost.
    pub busy: Option<BusyEngines>,
    /// Polling engines against io_uring, in the same requests.
    pub polling: Vec<PollingCost>,
    /// The same requests one at a time: who answers soonest.
    pub soonest: Option<BestEngines>,
    /// Requests through the page cache.
    pub buffered: Vec<EngineRow>,
    /// The only engine that could be measured, where none could be compared.
    pub only: Option<EngineRow>,
}

/// Engines with many requests at a time.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BestEngines {
    /// Their names.
    pub engines: Vec<EngineName>,
    /// Whether these are all of three or more.
    pub is_all: bool,
    /// The best of them.
    pub best: EngineRow,
}

/// What an engine that polls costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PollingCost {
    /// The engine.
    pub engine: EngineName,
    /// Its processor time a request over that of io_uring, which waits for interrupts.
    pub of_io_uring: f64,
}
