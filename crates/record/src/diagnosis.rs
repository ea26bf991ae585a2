//! Defines what the checks of settings found at a place: findings with evidence, cost, and the way there and back.
//!
//! Studies keep it: a new key has a default, so that earlier studies can still be read.

use halfpower_spec::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Trial, TrialVerdict};

/// What all checks found at one place.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// The folder, file or device that was looked at.
    pub target: String,
    /// What it stands on, from the file system down to the disks, in words.
    pub path: String,
    /// One result a check, in the order of the path.
    pub checks: Vec<CheckResult>,
    /// Settings that were tried (`--try`); none are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tries: Vec<Trial>,
}

impl Diagnosis {
    /// The same with what trying settings gave: a finding whose change was tried costs what was measured.
    pub fn with_tries(mut self, tries: Vec<Trial>) -> Self {
        for check in &mut self.checks {
            for finding in &mut check.findings {
                let is_its = |trial: &&Trial| {
                    trial.check == check.code
                        && trial.subject == finding.subject
                        && finding.change.as_ref() == Some(&trial.change)
                };
                // Of several workloads the one that gains most tells what the setting costs.
                let priced = tries.iter().filter(is_its).filter_map(|trial| Some((trial.gain()?, trial)));
                if let Some((_, trial)) = priced.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
                    finding.cost = Cost::measured(trial).unwrap_or(Cost::Unknown);
                }
            }
        }
        self.tries = tries;
        self
    }
}

impl Cost {
    /// What the old setting loses against the one that was tried; `None` if the pairs did not tell.
    fn measured(trial: &Trial) -> Option<Self> {
        let ratio = trial.ratio.filter(|_| trial.decided.is_decided())?;
        let lost = |ratio: f64| (1.0 - 1.0 / ratio).max(0.0);
        let least = if trial.decided == TrialVerdict::Faster { lost(ratio.low) } else { 0.0 };
        let how = format!("{} pairs of {} s: {} instead of {}", trial.pairs, trial.slice_s, trial.to, trial.from);
        Some(Self::Share { least, most: lost(ratio.high), of: trial.what.clone(), basis: Basis::Measured(how) })
    }
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// Stable name of the check.
    pub code: String,
    /// The check in a few words.
    pub title: String,
    /// The part of the path that it looks at; missing if that is not one part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PathPart>,
    /// Whether what it finds limits that part, so that it may explain why the path stops there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limits_part: bool,
    /// The outcome in one word.
    pub state: CheckState,
    /// What it found, the most severe first.
    pub findings: Vec<CheckFinding>,
    /// What it could not read, a phrase each.
    pub unread: Vec<String>,
    /// Whether root could read what it could not.
    pub needs_root: bool,
}

/// The outcome of a check in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// There is nothing here that it could look at.
    NotApplicable,
    /// It looked, and nothing is wrong.
    Fine,
    /// It could not read what it needs, and found nothing in what it could.
    Unread,
    /// It has notes only.
    Noted,
    /// It found something that is bad or costs.
    Found,
}

/// A part of a path that checks look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathPart {
    /// The processors.
    Processor,
    /// Main memory and the page cache in it.
    Memory,
    /// The control groups of the process.
    ControlGroup,
    /// The file system.
    FileSystem,
    /// The file server, as the mount asks of it.
    Server,
    /// The network to a file server.
    Network,
    /// An array, a mapped device or another device that stands on others.
    Volume,
    /// The kernel's queue of a disk.
    Queue,
    /// A PCIe link.
    PcieLink,
    /// A SAS or Fibre Channel link.
    StorageLink,
    /// A SATA link.
    SataLink,
    /// A USB link.
    UsbLink,
    /// The disk itself.
    Device,
}

impl PathPart {
    /// Whether the level of this name, as `probe` names it, is this part; `subject` is the device that a finding
    /// concerns, or empty.
    pub fn is_level(self, name: &str, subject: &str) -> bool {
        let name = name.split_once(',').map_or(name, |(name, _)| name);
        match self {
            Self::Processor => name == "processor",
            Self::Memory => matches!(name, "memory" | "page cache"),
            Self::ControlGroup => name == "cgroup limit",
            Self::FileSystem => false,
            Self::Server => matches!(name, "server" | "file server"),
            Self::Network => name == "network",
            Self::Volume => name.strip_prefix("volume ") == Some(subject),
            Self::PcieLink => matches!(name, "PCIe link" | "PCIe uplink"),
            Self::StorageLink => matches!(name, "SAS link" | "Fibre Channel link"),
            Self::SataLink => name == "SATA link",
            Self::UsbLink => name == "USB link",
            Self::Queue | Self::Device => name == "device",
        }
    }
}

/// How severe a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know; often the usual setting, or a choice.
    Note,
    /// It may cost performance and can be changed.
    Warn,
    /// It costs much, or puts data at risk.
    Bad,
}

impl Severity {
    /// All, the mildest first.
    pub const ALL: [Self; 3] = [Self::Note, Self::Warn, Self::Bad];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// One thing that a check found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckFinding {
    /// How severe it is.
    pub severity: Severity,
    /// The device, interface or file system concerned; empty for the machine.
    pub subject: String,
    /// What it is, without the subject.
    pub what: String,
    /// The files that show it, with what they held.
    pub evidence: Vec<Evidence>,
    /// What it costs.
    pub cost: Cost,
    /// The command that changes it, or what to do; `null` if nothing can be done.
    pub change: Option<String>,
    /// The command that changes it back; `null` if there is none.
    pub change_back: Option<String>,
    /// Whether it can be switched for a trial and back without any risk to data.
    pub may_try: bool,
}

/// A file and what it held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Path of the file, or what was asked.
    pub file: String,
    /// The part of its text that counts.
    pub value: String,
}

/// What a finding costs. A cost that nobody computed or published is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Cost {
    /// A share of a rate is lost.
    Share {
        /// The least share, from 0 to 1.
        least: f64,
        /// The greatest share, from 0 to 1.
        most: f64,
        /// What the share is of, such as `reads`.
        of: String,
        /// Where the figures come from.
        basis: Basis,
    },
    /// All above a rate is lost.
    Ceiling {
        /// Bytes a second; `null` if bytes are not limited.
        bytes_per_s: Option<f64>,
        /// Requests a second; `null` if requests are not limited.
        requests_per_s: Option<f64>,
        /// What is limited, such as `reads`.
        of: String,
        /// Where the figures come from.
        basis: Basis,
    },
    /// Requests take longer.
    Delay {
        /// Nanoseconds at most.
        ns: f64,
        /// What takes longer, such as `the first request after a pause`.
        of: String,
        /// Where the figure comes from.
        basis: Basis,
    },
    /// Nobody knows without a measurement.
    Unknown,
}

impl Cost {
    /// The requests that it concerns, such as `writes`; `None` if the cost is unknown.
    pub fn of(&self) -> Option<&str> {
        match self {
            Self::Share { of, .. } | Self::Ceiling { of, .. } | Self::Delay { of, .. } => Some(of),
            Self::Unknown => None,
        }
    }

    /// The cost, or unknown if a figure of it is not a number, which no file could hold.
    pub fn of_numbers(self) -> Self {
        let is_number = match &self {
            Self::Share { least, most, .. } => least.is_finite() && most.is_finite(),
            Self::Ceiling { bytes_per_s, requests_per_s, .. } => {
                [bytes_per_s, requests_per_s].into_iter().flatten().all(|rate| rate.is_finite())
            }
            Self::Delay { ns, .. } => ns.is_finite(),
            Self::Unknown => true,
        };
        if is_number { self } else { Self::Unknown }
    }

    /// Orders costs: the greatest share that may be lost. A ceiling may cost everything, a delay has no share.
    pub fn rank(&self) -> f64 {
        match self {
            Self::Share { most, .. } => *most,
            Self::Ceiling { .. } => 1.0,
            Self::Delay { .. } => 0.0,
            Self::Unknown => -1.0,
        }
    }
}

/// Where the figures of a cost come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Computed from what was read here; how.
    Computed(String),
    /// Measured by others elsewhere; the source.
    Published(String),
    /// Measured here by trying the change; how.
    Measured(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_the_names_of_levels() {
        let of = |part: PathPart, name: &str| part.is_level(name, "md0");
        assert!(of(PathPart::PcieLink, "PCIe link") && of(PathPart::PcieLink, "PCIe uplink"));
        assert!(of(PathPart::SataLink, "SATA link, writes") && of(PathPart::ControlGroup, "cgroup limit, reads"));
        assert!(of(PathPart::Volume, "volume md0") && !of(PathPart::Volume, "volume md1"));
        assert!(!of(PathPart::PcieLink, "SATA link") && !of(PathPart::FileSystem, "device"));
    }

    #[test]
    fn results_of_earlier_releases_have_no_part() {
        let text = r#"{"code":"a","title":"A.","state":"fine","findings":[],"unread":[],"needs_root":false}"#;
        let result: CheckResult = serde_json::from_str(text).unwrap();
        assert_eq!((result.part, result.limits_part), (None, false));
        assert_eq!(serde_json::to_string(&result).unwrap(), text);
    }

    #[test]
    fn a_cost_that_is_not_a_number_is_unknown() {
        let share = |most| Cost::Share { least: 0.0, most, of: "reads".into(), basis: Basis::Computed(String::new()) };
        assert_eq!(share(0.5).of_numbers(), share(0.5));
        assert_eq!(share(f64::NAN).of_numbers(), Cost::Unknown);
    }
}
