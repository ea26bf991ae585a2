//! Finds the check of a setting that explains why a path stops where it does.
//!
//! A finding explains a stop only if it limits the very level that stops the path, and if its cost was computed from what
//! was read: what others measured elsewhere, or what nobody knows, names no limit.

use halfpower_record::{Basis, CheckFinding, CheckResult, Cost, Diagnosis, PathPart, Severity};
use halfpower_spec::{Direction, JsonSchema, Pattern};
use serde::Serialize;

use crate::{Bottleneck, CellSettings, FastestCell, LevelId, LevelKind, LevelSource, StoppedBy};

/// Relative distance from a computed limit within which a rate counts as stopped by it.
const NEAR_LIMIT: f64 = 0.2;

/// The finding of a check that explains a stop.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StopExplanation {
    /// Stable name of the check.
    pub code: String,
    /// What it found.
    #[serde(flatten)]
    pub finding: CheckFinding,
}

/// The most severe finding that explains a stop; `None` if none does.
pub(crate) fn explanation(diagnoses: &[Diagnosis], bottleneck: &Bottleneck) -> Option<StopExplanation> {
    let level = bottleneck.level.as_ref()?;
    let fastest = bottleneck.fastest.as_ref()?;
    let explains = |check: &CheckResult, finding: &CheckFinding| {
        let is_there = check.part.is_some_and(|part| stops_at(level, &bottleneck.stopped_by, part, &finding.subject));
        is_there && check.limits_part && finding.severity > Severity::Note && limits(&finding.cost, fastest)
    };
    let results = diagnoses.iter().flat_map(|diagnosis| &diagnosis.checks);
    let found = results.flat_map(|check| check.findings.iter().map(move |finding| (check, finding)));
    let (check, finding) =
        found.filter(|(check, finding)| explains(check, finding)).min_by(|(_, one), (_, other)| {
            let by_cost = other.cost.rank().total_cmp(&one.cost.rank());
            other.severity.cmp(&one.severity).then(by_cost)
        })?;
    Some(StopExplanation { code: check.code.clone(), finding: finding.clone() })
}

/// Whether the level that stops the path is this part of it; `subject` is the device that a finding concerns.
fn stops_at(level: &LevelId, stopped_by: &StoppedBy, part: PathPart, subject: &str) -> bool {
    match level.kind {
        LevelKind::Processor => part == PathPart::Processor,
        LevelKind::Memory | LevelKind::PageCache => part == PathPart::Memory,
        // Nothing tells a volume from what it stands on: both are the device.
        LevelKind::Device | LevelKind::UnnamedCeiling => {
            matches!(part, PathPart::Device | PathPart::Queue | PathPart::Volume)
        }
        LevelKind::FileServer => part == PathPart::Server,
        LevelKind::Wire => part == PathPart::Network,
        LevelKind::Part => {
            let is_level = level.name.as_deref().is_some_and(|name| part.is_level(name, subject));
            // There are several PCIe links on a way, and the level is one of them.
            is_level && (part != PathPart::PcieLink || names_source(stopped_by, subject))
        }
        LevelKind::DataSheet
        | LevelKind::ControllerAndLink
        | LevelKind::SharedPath
        | LevelKind::SustainedLimit
        | LevelKind::OurClient
        | LevelKind::RoundTrip
        | LevelKind::FarProcessors
        | LevelKind::FarDisk => false,
    }
}

/// Whether the figure that stops the path was read of this device.
fn names_source(stopped_by: &StoppedBy, subject: &str) -> bool {
    let (StoppedBy::KnownRate { source, .. } | StoppedBy::KnownRequests { source, .. }) = stopped_by else {
        return false;
    };
    matches!(source, LevelSource::Environment(words) if words.contains(subject))
}

/// Whether a cost was computed here, concerns the fastest cell, and, if it is a limit, is about its rate.
fn limits(cost: &Cost, fastest: &FastestCell) -> bool {
    let bytes_a_second = fastest.mbps * 1e6;
    let requests_a_second = bytes_a_second / fastest.cell.bs_bytes.max(1) as f64;
    let is_near = |rate: f64, limit: Option<f64>| {
        limit.is_some_and(|limit| limit > 0.0 && (rate / limit - 1.0).abs() <= NEAR_LIMIT)
    };
    let is_about = match cost {
        Cost::Share { most, basis: Basis::Computed(_) | Basis::Measured(_), .. } => *most > 0.0,
        Cost::Ceiling { bytes_per_s, requests_per_s, basis: Basis::Computed(_) | Basis::Measured(_), .. } => {
            is_near(bytes_a_second, *bytes_per_s) || is_near(requests_a_second, *requests_per_s)
        }
        _ => false,
    };
    is_about && cost.of().is_some_and(|of| concerns(of, &fastest.cell))
}

/// Whether a cost of these requests is one of a cell: `writes` are no reads, and `random reads` are not sequential.
pub(crate) fn concerns(of: &str, cell: &CellSettings) -> bool {
    let has = |word: &str| of.split_whitespace().any(|one| one.trim_end_matches(',') == word);
    let is_direction = match cell.rw {
        Direction::Read => has("reads") || !has("writes"),
        Direction::Write => has("writes") || !has("reads"),
    };
    is_direction && (!has("random") || cell.pattern == Pattern::Random)
}

#[cfg(test)]
mod tests {
    use halfpower_record::CheckState;
    use halfpower_spec::Cache;

    use super::*;
    use crate::KnownLimit;

    /// Reads of 200 MB/s that a level stops.
    fn stopped(level: LevelId) -> Bottleneck {
        let pattern = Pattern::Sequential;
        let rw = Direction::Read;
        let cell = CellSettings { pattern, rw, cache: Cache::Device, iodepth: 8, bs_bytes: 1 << 20, threads: 1 };
        let stopped_by = StoppedBy::KnownRate {
            limit: KnownLimit::Advertised,
            limit_mbps: 210.0,
            share: 200.0 / 210.0,
            source: LevelSource::Environment("PCIe 2.5 GT/s x1 at 0000:01:00.0".to_string()),
        };
        let fastest = Some(FastestCell { cell, mbps: 200.0 });
        Bottleneck { level: Some(level), fastest, stopped_by, next: None, request_ceiling: None }
    }

    fn diagnosed(part: PathPart, subject: &str, cost: Cost) -> Vec<Diagnosis> {
        let finding = CheckFinding {
            severity: Severity::Warn,
            subject: subject.to_string(),
            what: "slow".to_string(),
            evidence: Vec::new(),
            cost,
            change: None,
            change_back: None,
            may_try: false,
        };
        let check = CheckResult {
            code: "slow".to_string(),
            title: "Slow".to_string(),
            part: Some(part),
            limits_part: true,
            state: CheckState::Found,
            findings: vec![finding],
            unread: Vec::new(),
            needs_root: false,
        };
        vec![Diagnosis { checks: vec![check], ..Diagnosis::default() }]
    }

    fn share(basis: Basis) -> Cost {
        Cost::Share { least: 0.0, most: 0.5, of: "what the link carries".to_string(), basis }
    }

    fn computed() -> Basis {
        Basis::Computed("so".to_string())
    }

    fn is_explained(level: &str, diagnoses: &[Diagnosis]) -> bool {
        explanation(diagnoses, &stopped(LevelId::named(level, None))).is_some()
    }

    #[test]
    fn only_the_level_that_stops_is_explained_and_only_by_what_was_computed() {
        let link = diagnosed(PathPart::PcieLink, "0000:01:00.0", share(computed()));
        assert!(is_explained("PCIe link", &link) && !is_explained("SATA link", &link));
        assert!(!is_explained("device", &link) && !is_explained("processor", &link));
        let other = diagnosed(PathPart::PcieLink, "0000:02:00.0", share(computed()));
        assert!(!is_explained("PCIe link", &other), "another link's lanes");
        for cost in [share(Basis::Published("a study".to_string())), Cost::Unknown] {
            assert!(!is_explained("SATA link", &diagnosed(PathPart::SataLink, "sda", cost)));
        }
    }

    #[test]
    fn a_limit_explains_only_what_is_near_it_and_in_its_direction() {
        let limit = |mbps: f64, of: &str| {
            let bytes_per_s = Some(mbps * 1e6);
            let cost = Cost::Ceiling { bytes_per_s, requests_per_s: None, of: of.to_string(), basis: computed() };
            diagnosed(PathPart::ControlGroup, "sda", cost)
        };
        assert!(is_explained("cgroup limit", &limit(210.0, "reads")));
        assert!(!is_explained("cgroup limit", &limit(210.0, "writes")));
        assert!(!is_explained("cgroup limit", &limit(2000.0, "reads")));
    }

    #[test]
    fn a_cost_of_writes_is_none_of_reads() {
        let cell =
            |rw, pattern| CellSettings { pattern, rw, cache: Cache::Device, iodepth: 1, bs_bytes: 4096, threads: 1 };
        let read = cell(Direction::Read, Pattern::Sequential);
        let write = cell(Direction::Write, Pattern::Random);
        assert!(concerns("reads", &read) && !concerns("reads", &write));
        assert!(concerns("reads and writes", &read) && concerns("reads and writes", &write));
        assert!(concerns("what the link carries", &read) && concerns("what the link carries", &write));
        assert!(!concerns("random reads", &read) && concerns("small writes", &write));
    }
}
