//! Defines what trying a setting gave: the rate under the new setting over the rate under the old one; its verdict is also
//! that of two targets that are measured in turns.

use halfpower_spec::JsonSchema;
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

/// What pairs showed of B against A: of a new setting against the old one, or of one target against another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialVerdict {
    /// B gives over 2% more.
    Faster,
    /// B gives over 2% less.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Basis, CheckFinding, CheckResult, Cost, Diagnosis, Severity};

    fn trial(what: &str, decided: TrialVerdict, (low, high): (f64, f64)) -> Trial {
        Trial {
            check: "scheduler".to_string(),
            subject: "sda".to_string(),
            setting: "/sys/class/block/sda/queue/scheduler".to_string(),
            from: "bfq".to_string(),
            to: "none".to_string(),
            workload: String::new(),
            what: what.to_string(),
            ratio: Some(Ratio { value: (low * high).sqrt(), low, high }),
            pairs: 8,
            slice_s: 0.5,
            disturbed_pairs: 0,
            others_share: None,
            decided,
            why: None,
            put_back: true,
            change: "echo none > /sys/class/block/sda/queue/scheduler".to_string(),
        }
    }

    fn cost_after(tries: Vec<Trial>) -> Cost {
        let finding = CheckFinding {
            severity: Severity::Warn,
            subject: "sda".to_string(),
            what: "scheduler bfq".to_string(),
            evidence: Vec::new(),
            cost: Cost::Unknown,
            change: Some("echo none > /sys/class/block/sda/queue/scheduler".to_string()),
            change_back: None,
            may_try: true,
        };
        let text = r#"{"code":"scheduler","title":"","state":"found","findings":[],"unread":[],"needs_root":false}"#;
        let check: CheckResult = serde_json::from_str(text).unwrap();
        let check = CheckResult { findings: vec![finding], ..check };
        let seen = Diagnosis { checks: vec![check], ..Diagnosis::default() }.with_tries(tries);
        seen.checks[0].findings[0].cost.clone()
    }

    #[test]
    fn a_finding_whose_change_was_tried_costs_what_was_measured() {
        let faster = trial("random reads", TrialVerdict::Faster, (1.25, 2.0));
        let same = trial("buffered reads", TrialVerdict::Same, (0.99, 1.01));
        let Cost::Share { least, most, of, basis } = cost_after(vec![same.clone(), faster]) else {
            panic!("it has a share");
        };
        assert!((least - 0.2).abs() < 1e-9 && (most - 0.5).abs() < 1e-9, "{least} to {most}");
        assert_eq!((of.as_str(), matches!(basis, Basis::Measured(_))), ("random reads", true));
        assert!(matches!(cost_after(vec![same]), Cost::Share { least: 0.0, .. }));
        let slower = trial("random reads", TrialVerdict::Slower, (0.5, 0.9));
        assert!(matches!(cost_after(vec![slower]), Cost::Share { least: 0.0, most: 0.0, .. }));
        let undecided = trial("random reads", TrialVerdict::NotDecided, (0.5, 2.0));
        assert_eq!(cost_after(vec![undecided.clone()]), Cost::Unknown);
        let other = Trial { to: "kyber".to_string(), change: "echo kyber > x".to_string(), ..undecided };
        assert_eq!(cost_after(vec![Trial { decided: TrialVerdict::Faster, ..other }]), Cost::Unknown);
    }
}
