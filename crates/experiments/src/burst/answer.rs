//! Defines the answer of `burst`: the throughput of controller and link, and the fixed time of a request.

use schemars::JsonSchema;
use serde::Serialize;

use super::rows::{BurstRow, OverheadRow};
use crate::ratio_finding::RatioFinding;

/// The results of rereading the same few blocks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct BurstAnswer {
    /// The highest throughput.
    pub link: Option<LinkRate>,
    /// All members together compared with one, if there are several.
    pub together: Option<MembersTogether>,
    /// The time of a request, by size.
    pub overhead: Option<OverheadRow>,
    /// Requests after a pause.
    pub after_a_pause: Option<AfterAPause>,
}

/// The highest throughput through controller and link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LinkRate {
    /// The fastest requests with the most members.
    pub fastest: BurstRow,
    /// The requests that beat new blocks by the largest factor, which shows that a cache in front of the medium
    /// answered; `null` if none did, so that the medium may be the limit.
    pub answered: Option<BurstRow>,
}

/// All members together compared with one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MembersTogether {
    /// Number of members.
    pub n: u32,
    /// Throughput as a multiple of one member's.
    pub times: RatioFinding,
    /// Whether a shared part of the path limits them beyond chance.
    pub shared: bool,
}

/// Latency of the smallest requests after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AfterAPause {
    /// The pause in nanoseconds.
    pub pause_ns: u64,
    /// Block size.
    pub bs_bytes: u64,
    /// Median latency of the block after the last one read, in nanoseconds.
    pub latency_ns_p50_next: f64,
    /// Median latency of the last block read, in nanoseconds.
    pub latency_ns_p50_same: f64,
    /// Median latency of any other block, in nanoseconds.
    pub latency_ns_p50_any: f64,
    /// What these latencies show.
    pub verdict: PauseVerdict,
}

/// What requests after a pause show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PauseVerdict {
    /// Nothing was measured twice.
    SingleRuns,
    /// The next block comes sooner than the same block, beyond chance.
    NextSooner,
    /// The same block comes sooner than the next, beyond chance.
    SameSooner,
    /// The same or the next block comes sooner than any other, but neither sooner than the other.
    Sooner,
    /// No block comes sooner than any other: no sign of a cache.
    NoCache,
}
