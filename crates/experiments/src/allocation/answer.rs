//! Defines what `allocation` finds: what growing costs, and whether depth helps it.

use halfpower_spec::Cache;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ratio_finding::RatioFinding;

/// What growing files and reserved blocks get of what written blocks get.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct AllocationAnswer {
    /// Files that grow from front to back, by direct writes at the largest depth.
    pub direct: Option<GrowingFiles>,
    /// The share of written blocks that a file gets whose last block was written first, in the same way; `null` where
    /// it is surely not less than growing in order gives.
    pub last_first_of_written: Option<RatioFinding>,
    /// What depth brings.
    pub deepening: Option<DepthGain>,
    /// Blocks that fallocate reserved, in the same way as `direct`.
    pub fallocated: Option<ReservedBlocks>,
    /// Files that grow from front to back, by buffered writes.
    pub buffered: Option<GrowingFiles>,
}

/// What growing files get.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct GrowingFiles {
    /// Cache setting.
    pub cache: Cache,
    /// Depth; `null` where all depths count.
    pub iodepth: Option<u32>,
    /// Throughput as a share of that of written blocks.
    pub of_written: RatioFinding,
    /// The throughput of written blocks in MB/s.
    pub written_mbps: f64,
}

/// What depth brings to written blocks and to growing files.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DepthGain {
    /// The largest depth, compared with the smallest.
    pub iodepth: u32,
    /// How many times as fast written blocks are.
    pub written: RatioFinding,
    /// How many times as fast growing files are.
    pub growing: RatioFinding,
    /// What follows from both.
    pub extension: Extension,
}

/// How a file system extends a file when several writes want it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Extension {
    /// Depth brings nothing to either, which tells nothing.
    NotShown,
    /// Depth brings as much to growing files: all writes go side by side.
    SideBySide,
    /// The runs are too uncertain to tell.
    Unclear,
    /// Depth brings something to growing files, but less: some writes go side by side.
    Partly,
    /// Depth brings nothing to growing files: one write at a time.
    OneAtATime,
}

/// What blocks get that were reserved and never written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ReservedBlocks {
    /// Throughput as a share of that of written blocks.
    pub of_written: RatioFinding,
    /// Whether they are surely faster than growing files.
    pub helps: bool,
}
