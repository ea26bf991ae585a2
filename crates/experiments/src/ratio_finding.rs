//! Defines a ratio of two measured figures in the findings: its interval and its verdict.

use halfpower_analyse::Interval;
use schemars::JsonSchema;
use serde::Serialize;

/// Largest factor between two figures that count as equal.
pub(crate) const ALIKE: f64 = 1.1;

/// Ratio of one figure to another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RatioFinding {
    /// The ratio with its 95% interval; the interval has zero width if nothing was measured twice.
    #[serde(flatten)]
    pub interval: Interval,
    /// What the ratio shows.
    pub verdict: RatioVerdict,
}

/// What a ratio shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RatioVerdict {
    /// The whole interval is within 10% of one: no value in it makes a practical difference.
    Alike,
    /// The whole interval is above one.
    More,
    /// The whole interval is below one.
    Less,
    /// The interval contains one and extends more than 10% from it.
    Unclear,
    /// Nothing was measured twice, so chance and effect cannot be told apart.
    SingleRuns,
}

impl RatioFinding {
    /// Makes a finding from an interval, which is meaningful only if runs were repeated.
    pub(crate) fn of(interval: Interval, repeated: bool) -> Self {
        let verdict = match interval {
            _ if !repeated => RatioVerdict::SingleRuns,
            Interval { low, high, .. } if low >= 1.0 / ALIKE && high <= ALIKE => RatioVerdict::Alike,
            Interval { low, .. } if low > 1.0 => RatioVerdict::More,
            Interval { high, .. } if high < 1.0 => RatioVerdict::Less,
            _ => RatioVerdict::Unclear,
        };
        Self { interval, verdict }
    }

    /// Whether runs were repeated, so that the interval is meaningful.
    pub fn is_known(&self) -> bool {
        self.verdict != RatioVerdict::SingleRuns
    }

    /// Whether the ratio is above one beyond chance, however little.
    pub fn is_more(&self) -> bool {
        self.is_known() && self.interval.low > 1.0
    }

    /// Whether the ratio is below one beyond chance, however little.
    pub fn is_less(&self) -> bool {
        self.is_known() && self.interval.high < 1.0
    }

    /// Whether the whole interval is so close to one that the difference does not matter.
    pub fn is_alike(&self) -> bool {
        self.verdict == RatioVerdict::Alike
    }
}
