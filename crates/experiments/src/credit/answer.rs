//! Defines the answer of `credit`: the limit of each direction, or that none showed.

use halfpower_spec::Direction;
use schemars::JsonSchema;
use serde::Serialize;

use super::rows::{CreditRow, CreditSpent, LimitSlices};

/// The limits on sustained requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct CreditAnswer {
    /// One entry per measured direction.
    pub limits: Vec<LimitFinding>,
}

/// The limit of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LimitFinding {
    /// Which way the bytes go.
    pub rw: Direction,
    /// What the limit counts.
    pub counts: LimitCounts,
    /// Sustained rate of the largest requests, in MB/s.
    pub sustained_mbps: f64,
    /// Sustained rate of the smallest requests, in requests a second.
    pub sustained_iops: f64,
    /// The larger credit of the two block sizes.
    pub credit: Option<CreditSpent>,
    /// Slices seen with the larger requests, or else with the smaller.
    pub slices: Option<LimitSlices>,
    /// Length of the longest run in seconds. A credit larger than `seconds` and `bytes` would not have shown.
    pub seconds: f64,
    /// Bytes that all runs moved.
    pub bytes: u64,
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitCounts {
    /// Bytes.
    Bytes,
    /// Requests.
    Requests,
    /// Both, each with a separate limit.
    Both,
    /// No limit shows.
    Nothing,
    /// The rate did not settle within the runs.
    Unknown,
}

impl LimitFinding {
    /// Derives the limit from the small and the large requests of a direction.
    pub(super) fn of(small: &CreditRow, large: &CreditRow) -> Self {
        let bytes = |credit: &CreditSpent| credit.bytes;
        let credits = [small.credit, large.credit].into_iter().flatten();
        Self {
            rw: small.rw,
            counts: counts(small, large),
            sustained_mbps: large.mbps.value,
            sustained_iops: small.iops,
            credit: credits.reduce(|most, next| if bytes(&next) > bytes(&most) { next } else { most }),
            slices: large.slices.or(small.slices),
            seconds: small.seconds.max(large.seconds),
            bytes: small.bytes.saturating_add(large.bytes),
        }
    }
}

impl LimitFinding {
    /// Whether this direction sustains the same rate as the other.
    pub(super) fn is_at_the_rate_of(&self, other: &Self) -> bool {
        let same = |one: f64, other: f64| (one / other - 1.0).abs() <= SAME;
        match other.counts {
            LimitCounts::Bytes => same(self.sustained_mbps, other.sustained_mbps),
            LimitCounts::Requests => same(self.sustained_iops, other.sustained_iops),
            LimitCounts::Both => {
                same(self.sustained_mbps, other.sustained_mbps) && same(self.sustained_iops, other.sustained_iops)
            }
            LimitCounts::Nothing | LimitCounts::Unknown => false,
        }
    }
}

/// Largest relative difference between rates of the same limit.
const SAME: f64 = 0.1;

fn counts(small: &CreditRow, large: &CreditRow) -> LimitCounts {
    let same = |one: f64, other: f64| (one / other - 1.0).abs() <= SAME;
    let of_limited = [small, large].into_iter().filter(|row| row.is_limited());
    if of_limited.clone().any(|row| !row.settled) || small.above_known || large.above_known {
        return LimitCounts::Unknown;
    }
    match (small.is_limited(), large.is_limited()) {
        (false, false) => LimitCounts::Nothing,
        // A credit that one size has spent does not show in the other size.
        _ if same(small.iops, large.iops) => LimitCounts::Requests,
        _ if same(small.mbps.value, large.mbps.value) => LimitCounts::Bytes,
        (true, true) => LimitCounts::Both,
        (false, true) => LimitCounts::Bytes,
        (true, false) => LimitCounts::Requests,
    }
}
