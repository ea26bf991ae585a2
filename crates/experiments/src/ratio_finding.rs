//! Defines how a ratio of two measured figures is given in the findings: its interval, and what it shows as a code.

use halfpower_analyse::Interval;
use schemars::JsonSchema;
use serde::Serialize;

/// Factor up to which two figures are as good as one.
pub(crate) const ALIKE: f64 = 1.1;

/// How many times one figure is another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RatioFinding {
    /// The ratio with its 95% interval, which has no width where nothing was measured twice.
    #[serde(flatten)]
    pub interval: Interval,
    /// What that shows.
    pub verdict: RatioVerdict,
}

/// What a ratio shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RatioVerdict {
    /// The whole interval is within 10% of one: whatever the truth in it is, it does not matter.
    Alike,
    /// The whole interval is above one.
    More,
    /// The whole interval is below one.
    Less,
    /// The interval holds one and reaches beyond 10% from it.
    Unclear,
    /// Nothing was measured twice, so that chance and effect cannot be told apart.
    SingleRuns,
}

impl RatioFinding {
    /// Of an interval whose ends mean something if runs were repeated.
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

    /// Whether runs were repeated, so that the interval means something.
    pub fn is_known(&self) -> bool {
        self.verdict != RatioVerdict::SingleRuns
    }

    /// Whether it is more than one, be it by little, and chance does not make it so.
    pub fn is_more(&self) -> bool {
        self.is_known() && self.interval.low > 1.0
    }

    /// Whether it is less than one, likewise.
    pub fn is_less(&self) -> bool {
        self.is_known() && self.interval.high < 1.0
    }

    /// Whether the whole interval lies so near to one that nobody has to care.
    pub fn is_alike(&self) -> bool {
        self.verdict == RatioVerdict::Alike
    }
}
