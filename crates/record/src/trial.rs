//! Defines what trying a setting gave: the rate under the new setting over the rate under the old one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A setting that was switched, measured in pairs of slices against the old one, and put back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Name of the check that looks at this setting.
    pub check: String,
    /// The device, file system or control group that has the setting.
    pub subject: String,
    /// Path of the setting.
    pub setting: String,
    /// The setting as it was, and is again.
    pub from: String,
    /// The setting that was tried.
    pub to: String,
    /// What was measured, as flags of `halfpower run`.
    pub workload: String,
    /// What was measured, in words.
    pub what: String,
    /// Rate under the new setting over the rate under the old one; `null` with fewer than two pairs.
    pub ratio: Option<Ratio>,
    /// Pairs of slices that count.
    pub pairs: u32,
    /// Seconds of a slice.
    pub slice_s: f64,
    /// Pairs that do not count because others used the device.
    pub disturbed_pairs: u32,
    /// Share of the device's bytes that others moved meanwhile; `null` if unknown.
    pub others_share: Option<f64>,
    /// The outcome in one word.
    pub decided: TrialVerdict,
    /// Why it was not tried, or not decided; `null` if it was decided.
    pub why: Option<String>,
    /// Whether the setting was seen to be as before afterwards.
    pub put_back: bool,
    /// The command that changes it for good.
    pub change: String,
}

impl Trial {
    /// The ratio, if the pairs told.
    pub fn gain(&self) -> Option<f64> {
        self.ratio.filter(|_| self.decided.is_decided()).map(|ratio| ratio.value)
    }
}

/// A ratio with its interval: 95% over all looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// Geometric mean over the pairs.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What a trial showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialVerdict {
    /// The new setting gives over 2% more.
    Faster,
    /// The new setting gives over 2% less.
    Slower,
    /// They differ by at most 2%.
    Same,
    /// The pairs do not tell, or too few were undisturbed.
    NotDecided,
    /// It could not be tried.
    NotTried,
}

impl TrialVerdict {
    /// Whether the pairs told.
    pub fn is_decided(self) -> bool {
        !matches!(self, Self::NotDecided | Self::NotTried)
    }
}
