//! Defines what `scaling` finds: how many members the path carries, and what each further one brings.

use halfpower_spec::{Direction, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

/// What several members give together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ScalingAnswer {
    /// The most members that were measured together; 0 where none was measured alone.
    pub members: u32,
    /// Members on their own, by pattern and direction.
    pub kinds: Vec<MembersScaling>,
    /// The widest stripe against the same members on their own.
    pub stripe: Option<StripeShare>,
    /// What a request costs the processor with one member and with the most.
    pub cost: Option<CostByMembers>,
}

/// Members on their own in one pattern and direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MembersScaling {
    /// Order of offsets.
    pub pattern: Pattern,
    /// Which way the bytes go.
    pub rw: Direction,
    /// What they show.
    pub verdict: ScalingVerdict,
    /// Throughput of one member in MB/s.
    pub one_mbps: f64,
    /// The most members.
    pub n: u32,
    /// Their throughput in MB/s.
    pub mbps: f64,
    /// Where a shared path stops them.
    pub stopped: Option<StoppedMembers>,
}

/// What members on their own show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScalingVerdict {
    /// All bring what they have.
    Scales,
    /// The runs cannot tell.
    Unclear,
    /// A shared path stops them.
    Stopped,
}

/// The first member that a shared path stops.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StoppedMembers {
    /// Its number.
    pub n: u32,
    /// Throughput with it in MB/s.
    pub mbps: f64,
    /// The most members before it that were measured.
    pub before_n: u32,
    /// Their throughput in MB/s.
    pub before_mbps: f64,
    /// What each member since then brings, as a share of what one gives.
    pub brings_share: f64,
}

/// What a stripe gives of what the same members give on their own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StripeShare {
    /// The least share of any pattern and direction.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

/// What a request costs the processor by the number of members.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CostByMembers {
    /// Which way the bytes go.
    pub rw: Direction,
    /// With one member.
    pub one: MemberCost,
    /// With the most.
    pub most: MemberCost,
}

/// What a request costs the processor with so many members on their own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MemberCost {
    /// How many.
    pub n: u32,
    /// Charged whatever its size, in microseconds.
    pub fixed_us: f64,
    /// Charged for each KiB of it.
    pub us_per_kib: f64,
}
