//! Reduces a study to the few figures that a history needs.
//!
//! They are kept with the study's surroundings between two commands, so that thousands of studies are read in an instant. A
//! key that is added here needs a default, or a new mark of the index.

use halfpower_record::{Environment, MemberIdentity, PlaceIdentity, TargetKind};
use halfpower_spec::{Cache, Direction, Pattern};
use serde::{Deserialize, Serialize};

use crate::{CellFinding, CellSettings, Findings, Interval, Neighbours};

/// A figure of one study with its 95% interval within that study; without an interval, both ends equal the value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// One cell of a study.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "CellRow", into = "CellRow")]
pub struct CellDigest {
    /// Its settings.
    pub settings: CellSettings,
    /// Throughput in MB/s.
    pub mbps: Measured,
    /// Median latency in nanoseconds, if known.
    pub latency_ns_p50: Option<f64>,
    /// 99th percentile of latency in nanoseconds, if known.
    pub latency_ns_p99: Option<f64>,
    /// Charged processor time a request in microseconds, if known.
    pub charged_us: Option<f64>,
}

/// A cell as it is kept: a list is half as long as an object.
type CellRow = (Pattern, Direction, Cache, u32, u64, u32, [f64; 3], Option<f64>, Option<f64>, Option<f64>);

/// What a history needs of one study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyDigest {
    /// What was measured, in its canonical text.
    pub target: String,
    /// What identifies the target: studies with the same text here are of one target.
    pub identity: String,
    /// When the first run began, in milliseconds of Unix time; 0 in virtual time.
    pub started_unix_ms: u64,
    /// Runs that it holds.
    pub runs: usize,
    /// Its cells that allow a conclusion.
    pub cells: Vec<CellDigest>,
    /// Durable writes of one writer a second, if they were measured.
    pub commits: Option<Measured>,
    /// What others did meanwhile.
    #[serde(default)]
    pub neighbours: Neighbours,
}

/// Six digits are more than any measurement has.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn known(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite() && *value > 0.0).map(rounded)
}

impl Measured {
    /// A rate above 0; `None` if it is no number. An interval without ends counts as none.
    pub fn of(interval: &Interval) -> Option<Self> {
        let Interval { value, low, high } = *interval;
        let value = known(Some(value))?;
        let is_known = low.is_finite() && high.is_finite();
        let (low, high) = if is_known { (rounded(low), rounded(high)) } else { (value, value) };
        Some(Self { value, low, high })
    }

    /// The same in another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    fn is_sound(self) -> bool {
        self.value.is_finite() && self.value > 0.0 && self.low.is_finite() && self.high.is_finite()
    }
}

impl From<CellRow> for CellDigest {
    fn from(row: CellRow) -> Self {
        let (pattern, rw, cache, iodepth, bs_bytes, threads, [value, low, high], p50, p99, charged_us) = row;
        Self {
            settings: CellSettings { pattern, rw, cache, iodepth, bs_bytes, threads },
            mbps: Measured { value, low, high },
            latency_ns_p50: p50,
            latency_ns_p99: p99,
            charged_us,
        }
    }
}

impl From<CellDigest> for CellRow {
    fn from(cell: CellDigest) -> Self {
        let CellDigest { settings, mbps, latency_ns_p50, latency_ns_p99, charged_us } = cell;
        let CellSettings { pattern, rw, cache, iodepth, bs_bytes, threads } = settings;
        let rate = [mbps.value, mbps.low, mbps.high];
        (pattern, rw, cache, iodepth, bs_bytes, threads, rate, latency_ns_p50, latency_ns_p99, charged_us)
    }
}

impl CellDigest {
    fn of(cell: &CellFinding) -> Option<Self> {
        let ns = |ns: Option<u64>| known(ns.map(|ns| ns as f64));
        Some(Self {
            settings: cell.settings,
            mbps: Measured::of(&cell.mbps)?,
            latency_ns_p50: ns(cell.latency_ns.p50),
            latency_ns_p99: ns(cell.latency_ns.p99),
            charged_us: known(cell.charged_us),
        })
    }
}

impl StudyDigest {
    /// The digest of a study; `commits` are its durable writes a second by one writer.
    pub fn of(
        findings: &Findings,
        environment: &Environment,
        commits: Option<Measured>,
        neighbours: Neighbours,
    ) -> Self {
        let usable = findings.cells.iter().filter(|cell| cell.usable());
        Self {
            target: findings.target.clone(),
            identity: identity(&findings.target, environment),
            started_unix_ms: findings.started_unix_ms,
            runs: findings.runs,
            cells: usable.filter_map(CellDigest::of).collect(),
            commits,
            neighbours,
        }
    }

    /// Whether every figure is a number above 0, as those that were measured are.
    pub fn is_sound(&self) -> bool {
        let is_positive = |value: Option<f64>| value.is_none_or(|value| value.is_finite() && value > 0.0);
        let is_sound = |cell: &CellDigest| {
            let others = [cell.latency_ns_p50, cell.latency_ns_p99, cell.charged_us];
            cell.mbps.is_sound() && others.into_iter().all(is_positive)
        };
        self.cells.iter().all(is_sound) && self.commits.is_none_or(Measured::is_sound) && self.neighbours.is_sound()
    }
}

/// What identifies a target over time. A folder or a file is known by its machine and path, so that another disk or file
/// system there is a change of this target; a block device by what it says of itself, since its name may move. The kernel is
/// no part of it. Without a known place, the text of the target counts.
fn identity(target: &str, environment: &Environment) -> String {
    let PlaceIdentity { machine, kernel: _, members } = &environment.place;
    if members.is_empty() {
        return target.to_string();
    }
    let is_device = environment.capabilities.kind == TargetKind::Device;
    let name = |member: &MemberIdentity| match &member.device {
        Some(device) if is_device => device.clone(),
        _ => member.path.clone(),
    };
    let mut parts = vec![machine.clone().unwrap_or_default()];
    if members.len() > 1 {
        // The same members may be used in several ways: each for itself, or as a stripe.
        parts.push(target.split_once(':').map_or("", |(layout, _)| layout).to_string());
    }
    parts.extend(members.iter().map(name));
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(value: f64) -> CellDigest {
        CellDigest {
            settings: CellSettings {
                pattern: Pattern::Random,
                rw: Direction::Read,
                cache: Cache::Device,
                iodepth: 32,
                bs_bytes: 4096,
                threads: 1,
            },
            mbps: Measured { value, low: value * 0.9, high: value * 1.1 },
            latency_ns_p50: Some(80_000.0),
            latency_ns_p99: Some(1e6),
            charged_us: None,
        }
    }

    #[test]
    fn a_digest_comes_back_from_its_text() {
        let digest = StudyDigest {
            target: "/data".to_string(),
            identity: "m\n/data".to_string(),
            started_unix_ms: 1,
            runs: 12,
            cells: vec![cell(120.0)],
            commits: Some(Measured { value: 5669.0, low: 5600.0, high: 5700.0 }),
            neighbours: Neighbours { processors: Some(0.25), ..Neighbours::default() },
        };
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<StudyDigest>(&text).unwrap(), digest);
        assert!(digest.is_sound());
        let negative = StudyDigest { cells: vec![cell(-1.0)], ..digest };
        assert!(!negative.is_sound());
    }

    #[test]
    fn a_kernel_is_no_other_target_and_a_device_that_moved_is_none_either() {
        let member = |path: &str| MemberIdentity {
            path: path.to_string(),
            device: Some("serial S1".to_string()),
            filesystem: None,
        };
        let place = |kernel: &str, path: &str| PlaceIdentity {
            machine: Some("m".to_string()),
            kernel: Some(kernel.to_string()),
            members: vec![member(path)],
        };
        let at = |place: PlaceIdentity, kind: TargetKind| {
            let mut environment = Environment { place, ..Environment::default() };
            environment.capabilities.kind = kind;
            identity("target", &environment)
        };
        let folder = |kernel, path| at(place(kernel, path), TargetKind::Folder);
        assert_eq!(folder("6.1", "/data"), folder("6.12", "/data"));
        assert_ne!(folder("6.1", "/data"), folder("6.1", "/other"));
        let device = |path| at(place("6.1", path), TargetKind::Device);
        assert_eq!(device("/dev/sda"), device("/dev/sdb"));
        assert_eq!(at(PlaceIdentity::default(), TargetKind::Simulated), "target");
    }
}
