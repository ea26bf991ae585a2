//! Defines the answer of `scaling`: how many members the path carries, and what each further one adds.

use halfpower_spec::{Direction, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

/// Throughput of several members together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ScalingAnswer {
    /// The most members that were measured together; 0 if none was measured alone.
    pub members: u32,
    /// Members driven separately, by pattern and direction.
    pub kinds: Vec<MembersScaling>,
    /// The widest stripe compared with the same members driven separately.
    pub stripe: Option<StripeShare>,
    /// Processor cost per request with one member and with the most.
    pub cost: Option<CostByMembers>,
}

/// Members driven separately, in one pattern and direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MembersScaling {
    /// Order of offsets.
    pub pattern: Pattern,
    /// Which way the bytes go.
    pub rw: Direction,
    /// What the runs show.
    pub verdict: ScalingVerdict,
    /// Throughput of one member in MB/s.
    pub one_mbps: f64,
    /// The largest number of members.
    pub n: u32,
    /// Their total throughput in MB/s.
    pub mbps: f64,
    /// The point from which a shared path is the limit.
    pub stopped: Option<StoppedMembers>,
}

/// What members driven separately show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScalingVerdict {
    /// Every member reaches its rate alone.
    Scales,
    /// The runs cannot tell.
    Unclear,
    /// A shared path stops them.
    Stopped,
}

/// The smallest number of members that a shared path limits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StoppedMembers {
    /// Number of members.
    pub n: u32,
    /// Their total throughput in MB/s.
    pub mbps: f64,
    /// The next smaller number of members that was measured.
    pub before_n: u32,
    /// Its total throughput in MB/s.
    pub before_mbps: f64,
    /// What each member beyond `before_n` adds, as a share of one member's rate.
    pub brings_share: f64,
}

/// Throughput of a stripe as a share of the same members driven separately.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StripeShare {
    /// Smallest share of any pattern and direction.
    pub least: f64,
    /// Largest share of any pattern and direction.
    pub most: f64,
}

/// Processor cost per request, by the number of members.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CostByMembers {
    /// Which way the bytes go.
    pub rw: Direction,
    /// With one member.
    pub one: MemberCost,
    /// With the largest number.
    pub most: MemberCost,
}

/// Processor cost per request with `n` members driven separately.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MemberCost {
    /// Number of members.
    pub n: u32,
    /// Charged per request whatever its size, in microseconds.
    pub fixed_us: f64,
    /// Charged per KiB, in microseconds.
    pub us_per_kib: f64,
}
