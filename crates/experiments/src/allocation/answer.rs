//! Defines the answer of `allocation`: what growing costs, and whether depth helps.

use halfpower_spec::Cache;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ratio_finding::RatioFinding;

/// How growing files and reserved blocks compare with written blocks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct AllocationAnswer {
    /// Files that grow from front to back, by direct writes at the largest depth.
    pub direct: Option<GrowingFiles>,
    /// Throughput of a file whose last block was written first, as a share of written blocks, measured as `direct`;
    /// `null` if it is not slower beyond chance than growing in order.
    pub last_first_of_written: Option<RatioFinding>,
    /// The gain from depth.
    pub deepening: Option<DepthGain>,
    /// Blocks that fallocate reserved, measured as `direct`.
    pub fallocated: Option<ReservedBlocks>,
    /// Files that grow from front to back, by buffered writes.
    pub buffered: Option<GrowingFiles>,
}

/// Throughput of growing files.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct GrowingFiles {
    /// Cache setting.
    pub cache: Cache,
    /// Depth; `null` if the figure includes all depths.
    pub iodepth: Option<u32>,
    /// Throughput as a share of that of written blocks.
    pub of_written: RatioFinding,
    /// The throughput of written blocks in MB/s.
    pub written_mbps: f64,
}

/// The gain from depth for written blocks and for growing files.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DepthGain {
    /// The largest depth, compared with the smallest.
    pub iodepth: u32,
    /// How many times as fast written blocks are at that depth.
    pub written: RatioFinding,
    /// How many times as fast growing files are at that depth.
    pub growing: RatioFinding,
    /// The conclusion from both gains.
    pub extension: Extension,
}

/// How a file system extends a file when several writes need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Extension {
    /// Depth brings no gain to either, so nothing follows.
    NotShown,
    /// Growing files gain as much from depth: writes are carried out in parallel.
    SideBySide,
    /// The runs are too uncertain to tell.
    Unclear,
    /// Growing files gain from depth, but less: some writes are carried out in parallel.
    Partly,
    /// Growing files gain nothing from depth: one write at a time.
    OneAtATime,
}

/// Throughput of blocks that were reserved and never written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ReservedBlocks {
    /// Throughput as a share of that of written blocks.
    pub of_written: RatioFinding,
    /// Whether they are faster than growing files beyond chance.
    pub helps: bool,
}
