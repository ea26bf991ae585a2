//! Defines the answer of `mirror`: the throughput of two copies compared with one member and with a stripe.

use halfpower_spec::Pattern;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ratio_finding::RatioFinding;

/// Throughput of two copies.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct MirrorAnswer {
    /// Sequential reads at the largest depth.
    pub sequential: Option<SequentialReads>,
    /// Random reads, two deep.
    pub random: Option<RandomReads>,
    /// Writes at the largest depth, by order of offsets.
    pub writes: Vec<MirrorWrites>,
    /// The result of reading both copies back; `null` if they were not read back.
    pub verified: Option<VerifiedCopies>,
}

/// Sequential reads of a mirror.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SequentialReads {
    /// Depth.
    pub iodepth: u32,
    /// Rate of the mirror over one member's.
    pub mirror: RatioFinding,
    /// Rate of the stripe over one member's, at the same depth.
    pub stripe: Option<RatioFinding>,
    /// Where the second copy brings a gain.
    pub gain: SecondCopyGain,
    /// Bytes outstanding from which it does.
    pub from_outstanding_bytes: Option<u64>,
}

/// Where the second copy brings a gain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecondCopyGain {
    /// From a certain number of outstanding bytes up.
    FromThere,
    /// At some numbers of outstanding bytes, but not at the largest.
    OnlyThere,
    /// Nowhere, as far as the runs can tell.
    Nowhere,
}

/// Random reads of a mirror.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RandomReads {
    /// Depth.
    pub iodepth: u32,
    /// Requests a second.
    pub iops: f64,
    /// Rate of the mirror over one member's.
    pub mirror: RatioFinding,
    /// Rate of the stripe over one member's.
    pub stripe: Option<RatioFinding>,
}

/// Writes to both copies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MirrorWrites {
    /// Order of offsets.
    pub pattern: Pattern,
    /// Rate of the mirror over one member's.
    pub mirror: RatioFinding,
}

/// The result of reading both copies back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifiedCopies {
    /// Blocks with wrong data.
    pub wrong_blocks: u64,
}
