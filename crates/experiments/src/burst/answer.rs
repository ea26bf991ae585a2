//! Defines what `burst` finds: what controller and link let through, and what a request costs in time.

use schemars::JsonSchema;
use serde::Serialize;

use super::rows::{BurstRow, OverheadRow};
use crate::ratio_finding::RatioFinding;

/// What requests for the same few blocks show.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct BurstAnswer {
    /// The most that came through.
    pub link: Option<LinkRate>,
    /// All members together against one, where there are several.
    pub together: Option<MembersTogether>,
    /// The time of a request.
    pub overhead: Option<OverheadRow>,
    /// Requests after a pause.
    pub after_a_pause: Option<AfterAPause>,
}

/// The most that came through controller and link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LinkRate {
    /// The fastest requests of the most members.
    pub fastest: BurstRow,
    /// The requests that came most times as fast as new blocks, where something before the medium must have answered
    /// them; `null` where nothing shows that, so that the medium may be the limit.
    pub answered: Option<BurstRow>,
}

/// All members together against one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MembersTogether {
    /// How many.
    pub n: u32,
    /// How many times as fast as one.
    pub times: RatioFinding,
    /// Whether they surely share what stops them.
    pub shared: bool,
}

/// How long requests of the smallest size take after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AfterAPause {
    /// The pause in nanoseconds.
    pub pause_ns: u64,
    /// Block size.
    pub bs_bytes: u64,
    /// Median latency of the block that follows, in nanoseconds.
    pub latency_ns_p50_next: f64,
    /// Of the block before.
    pub latency_ns_p50_same: f64,
    /// Of any other.
    pub latency_ns_p50_any: f64,
    /// What that shows.
    pub verdict: PauseVerdict,
}

/// What requests after a pause show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PauseVerdict {
    /// Nothing was measured twice.
    SingleRuns,
    /// The next block surely comes sooner than the same again.
    NextSooner,
    /// The same block surely comes sooner than the next.
    SameSooner,
    /// One of the two comes sooner than any other, and neither before the other.
    Sooner,
    /// No block comes sooner than any other: no cache shows.
    NoCache,
}
