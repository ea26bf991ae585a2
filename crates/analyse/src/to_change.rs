//! Chooses the findings of checks that *what to set* names: what costs, or may cost, on the measured path.

use halfpower_record::{CheckFinding, CheckResult, Diagnosis, PathPart, Severity};
use halfpower_spec::{Direction, InOrder, JsonSchema};
use serde::Serialize;

use crate::explained::concerns;
use crate::{CellFinding, DirectionStop};

/// Findings that are named; the others are counted.
const MOST_NAMED: usize = 3;

/// A setting or state that costs, or may cost, on the measured path.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SettingToChange {
    /// Stable name of the check.
    pub code: String,
    /// The devices, interfaces or file systems concerned; empty for the machine.
    pub subjects: Vec<String>,
    /// Directions whose stop it explains.
    pub explains: Vec<Direction>,
    /// What was found; of several subjects, of the first.
    #[serde(flatten)]
    pub finding: CheckFinding,
}

/// The findings to name, those that explain a stop first, then the most severe and the most costly, and the number of
/// further ones. Findings that differ in their subject alone are one.
pub(crate) fn settings_to_change(
    diagnoses: &[Diagnosis],
    cells: &[CellFinding],
    stops: &[DirectionStop],
) -> (Vec<SettingToChange>, usize) {
    let mut all: Vec<SettingToChange> = Vec::new();
    for check in diagnoses.iter().flat_map(|diagnosis| &diagnosis.checks) {
        let counts =
            |finding: &&CheckFinding| finding.severity > Severity::Note && is_of_measured(check, finding, cells);
        for finding in check.findings.iter().filter(counts) {
            add(&mut all, check, finding, explains(&check.code, finding, stops));
        }
    }
    all.order_by(|one, other| {
        let by_cost = other.finding.cost.rank().total_cmp(&one.finding.cost.rank());
        let by_stop = one.explains.is_empty().cmp(&other.explains.is_empty());
        by_stop.then(other.finding.severity.cmp(&one.finding.severity)).then(by_cost)
    });
    let more = all.len().saturating_sub(MOST_NAMED);
    all.truncate(MOST_NAMED);
    (all, more)
}

fn add(all: &mut Vec<SettingToChange>, check: &CheckResult, finding: &CheckFinding, explains: Vec<Direction>) {
    let is_like = |known: &&mut SettingToChange| {
        let first = &known.finding;
        let is_same = (first.severity, &first.what, &first.cost) == (finding.severity, &finding.what, &finding.cost);
        is_same && known.code == check.code
    };
    match all.iter_mut().find(is_like) {
        Some(known) => {
            known.explains.extend(explains);
            known.explains.dedup();
            if !finding.subject.is_empty() && !known.subjects.contains(&finding.subject) {
                known.subjects.push(finding.subject.clone());
            }
        }
        None => {
            let subjects = Some(finding.subject.clone()).filter(|subject| !subject.is_empty());
            let subjects = subjects.into_iter().collect();
            all.push(SettingToChange { code: check.code.clone(), subjects, explains, finding: finding.clone() });
        }
    }
}

/// The directions whose stop this finding explains.
fn explains(code: &str, finding: &CheckFinding, stops: &[DirectionStop]) -> Vec<Direction> {
    let is_it = |stop: &&DirectionStop| {
        stop.explained.as_ref().is_some_and(|explained| explained.code == code && explained.finding == *finding)
    };
    stops.iter().filter(is_it).map(|stop| stop.rw).collect()
}

/// Whether a finding concerns any of the cells; what memory holds concerns buffered requests alone.
fn is_of_measured(check: &CheckResult, finding: &CheckFinding, cells: &[CellFinding]) -> bool {
    let is_of_cache = check.part == Some(PathPart::Memory);
    let fits = |cell: &CellFinding| {
        let is_asked = finding.cost.of().is_none_or(|of| concerns(of, &cell.settings));
        is_asked && !(is_of_cache && cell.cache.direct())
    };
    cells.is_empty() || cells.iter().any(fits)
}
