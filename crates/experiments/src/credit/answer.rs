//! Defines what `credit` finds: a limit of each direction, or that none was seen.

use halfpower_spec::Direction;
use schemars::JsonSchema;
use serde::Serialize;

use super::rows::{CreditRow, CreditSpent, LimitSlices};

/// What stops requests that go on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct CreditAnswer {
    /// One entry a direction that was measured.
    pub limits: Vec<LimitFinding>,
}

/// The limit of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LimitFinding {
    /// Which way the bytes go.
    pub rw: Direction,
    /// What it counts.
    pub counts: LimitCounts,
    /// What goes on in MB/s where bytes are counted, or else of the largest requests.
    pub sustained_mbps: f64,
    /// What goes on in requests a second where they are counted, or else of the smallest.
    pub sustained_iops: f64,
    /// The larger credit of both sizes.
    pub credit: Option<CreditSpent>,
    /// Slices of the larger requests, or else of the smaller.
    pub slices: Option<LimitSlices>,
    /// The longest run, in seconds, and what all of them moved: a credit beyond that would not have shown.
    pub seconds: f64,
    /// See `seconds`.
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
    /// Both, each with a limit of its own.
    Both,
    /// Nothing shows a limit.
    Nothing,
    /// The rate did not come to rest within the runs.
    Unknown,
}

impl LimitFinding {
    /// From the small and the large requests of a direction.
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
    /// Whether what goes on is what goes on in the other direction.
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

/// How far two rates may be apart that are the same limit's.
const SAME: f64 = 0.1;

fn counts(small: &CreditRow, large: &CreditRow) -> LimitCounts {
    let same = |one: f64, other: f64| (one / other - 1.0).abs() <= SAME;
    let of_limited = [small, large].into_iter().filter(|row| row.is_limited());
    if of_limited.clone().any(|row| !row.told) || small.above_known || large.above_known {
        return LimitCounts::Unknown;
    }
    match (small.is_limited(), large.is_limited()) {
        (false, false) => LimitCounts::Nothing,
        // A credit that one size has spent does not show in the other.
        _ if same(small.iops, large.iops) => LimitCounts::Requests,
        _ if same(small.mbps.value, large.mbps.value) => LimitCounts::Bytes,
        (true, true) => LimitCounts::Both,
        (false, true) => LimitCounts::Bytes,
        (true, false) => LimitCounts::Requests,
    }
}
