//! Defines what `mirror` finds: what two copies give against one member and against a stripe.

use halfpower_spec::Pattern;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ratio_finding::RatioFinding;

/// What two copies give.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct MirrorAnswer {
    /// Sequential reads at the largest depth.
    pub sequential: Option<SequentialReads>,
    /// Random reads, two deep.
    pub random: Option<RandomReads>,
    /// Writes at the largest depth, by order of offsets.
    pub writes: Vec<MirrorWrites>,
    /// Reading both copies back; `null` where that was not done.
    pub verified: Option<VerifiedCopies>,
}

/// Sequential reads of a mirror.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SequentialReads {
    /// Depth.
    pub iodepth: u32,
    /// A mirror over one member.
    pub mirror: RatioFinding,
    /// A stripe over one member, at the same depth.
    pub stripe: Option<RatioFinding>,
    /// Where the second copy brings something.
    pub gain: SecondCopyGain,
    /// Bytes outstanding from which on it does.
    pub from_outstanding_bytes: Option<u64>,
}

/// Where the second copy brings something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecondCopyGain {
    /// From some bytes outstanding on.
    FromThere,
    /// With some bytes outstanding, and not with most.
    OnlyThere,
    /// Nowhere that the runs could tell.
    Nowhere,
}

/// Random reads of a mirror.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RandomReads {
    /// Depth.
    pub iodepth: u32,
    /// Requests a second.
    pub iops: f64,
    /// A mirror over one member.
    pub mirror: RatioFinding,
    /// A stripe over one member.
    pub stripe: Option<RatioFinding>,
}

/// Writes to both copies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MirrorWrites {
    /// Order of offsets.
    pub pattern: Pattern,
    /// A mirror over one member.
    pub mirror: RatioFinding,
}

/// What reading both copies back has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifiedCopies {
    /// Blocks that were wrong.
    pub wrong_blocks: u64,
}
