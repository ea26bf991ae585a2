//! Holds what checks of settings found at the target of a study, and compares it with another time or another study.

use halfpower_record::{CheckFinding, CheckResult, Diagnosis, Severity};
use halfpower_spec::{InOrder, JsonSchema};
use serde::Serialize;

/// What checks of settings found at the target of a study.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct StudyChecks {
    /// What they found before the first run, one for each folder, file or device of the target.
    pub before: Vec<Diagnosis>,
    /// What they found after the last run; empty if that was the same, or if nobody looked again.
    pub after: Vec<Diagnosis>,
    /// What changed between the two.
    pub changed: Vec<CheckDifference>,
}

/// How one finding of a check differs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CheckDifference {
    /// Stable name of the check.
    pub code: String,
    /// The check in a few words.
    pub title: String,
    /// How it differs.
    pub change: CheckChange,
    /// The finding in A, or before; `null` if it is not there.
    pub a: Option<CheckFinding>,
    /// The finding in B, or after; `null` if it is not there.
    pub b: Option<CheckFinding>,
}

/// How a finding differs between two times or studies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckChange {
    /// Only the second has it; the first looked and found nothing.
    Appeared,
    /// Only the first has it; the second looked and found nothing.
    Gone,
    /// Both have it, with other evidence.
    Changed,
}

/// How the checks of settings differ between two studies.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ChecksComparison {
    /// Whether A has what checks found.
    pub in_a: bool,
    /// Whether B has.
    pub in_b: bool,
    /// What differs, the most severe first.
    pub differ: Vec<CheckDifference>,
    /// Checks that could read what they need in one study alone; nothing is said of what only that study found.
    pub one_sided: usize,
}

impl StudyChecks {
    /// What was found before the first run; `None` if nobody looked.
    pub(crate) fn of(before: &[Diagnosis]) -> Option<Self> {
        (!before.is_empty()).then(|| Self { before: before.to_vec(), ..Self::default() })
    }

    /// Adds what was found after the last run.
    pub fn look_again(&mut self, after: &[Diagnosis]) {
        if !after.is_empty() && after != self.before {
            self.changed = compared(&self.before, after).differ;
            self.after = after.to_vec();
        }
    }
}

impl CheckDifference {
    /// How severe it is, at its worse end.
    pub fn severity(&self) -> Severity {
        let of = |finding: &Option<CheckFinding>| finding.as_ref().map_or(Severity::Note, |finding| finding.severity);
        of(&self.a).max(of(&self.b))
    }
}

/// The checks of two studies; `None` if neither has any.
pub(crate) fn checks_compared(a: Option<&StudyChecks>, b: Option<&StudyChecks>) -> Option<ChecksComparison> {
    match (a, b) {
        (None, None) => None,
        (Some(a), Some(b)) => Some(compared(&a.before, &b.before)),
        (a, b) => Some(ChecksComparison { in_a: a.is_some(), in_b: b.is_some(), ..ChecksComparison::default() }),
    }
}

/// One check in one study, over all parts of the target.
struct CheckSide<'a> {
    findings: Vec<&'a CheckFinding>,
    /// Whether it is there and read all that it needs.
    is_known: bool,
}

impl<'a> CheckSide<'a> {
    fn of(diagnoses: &'a [Diagnosis], code: &str) -> Self {
        let own: Vec<&CheckResult> = results(diagnoses).filter(|check| check.code == code).collect();
        let is_known = !own.is_empty() && own.iter().all(|check| check.unread.is_empty());
        Self { findings: own.into_iter().flat_map(|check| &check.findings).collect(), is_known }
    }
}

fn results(diagnoses: &[Diagnosis]) -> impl Iterator<Item = &CheckResult> {
    diagnoses.iter().flat_map(|diagnosis| &diagnosis.checks)
}

fn compared(a: &[Diagnosis], b: &[Diagnosis]) -> ChecksComparison {
    let mut seen: Vec<&CheckResult> = Vec::new();
    for check in results(a).chain(results(b)) {
        if !seen.iter().any(|known| known.code == check.code) {
            seen.push(check);
        }
    }
    let mut found = ChecksComparison { in_a: true, in_b: true, ..ChecksComparison::default() };
    for check in seen {
        let of_a = CheckSide::of(a, &check.code);
        let of_b = CheckSide::of(b, &check.code);
        found.one_sided += usize::from(of_a.is_known != of_b.is_known);
        found.differ.extend(differences(check, &of_a, &of_b));
    }
    found.differ.order_by_key(|difference| std::cmp::Reverse(difference.severity()));
    found
}

fn differences(check: &CheckResult, of_a: &CheckSide<'_>, of_b: &CheckSide<'_>) -> Vec<CheckDifference> {
    let difference = |change, a: Option<&CheckFinding>, b: Option<&CheckFinding>| CheckDifference {
        code: check.code.clone(),
        title: check.title.clone(),
        change,
        a: a.cloned(),
        b: b.cloned(),
    };
    let mut in_b = of_b.findings.clone();
    let mut in_a = of_a.findings.clone();
    in_a.retain(|finding| match in_b.iter().position(|other| is_same(finding, other)) {
        Some(at) => {
            in_b.remove(at);
            false
        }
        None => true,
    });
    let mut all = Vec::new();
    for finding in in_a {
        match in_b.iter().position(|other| other.subject == finding.subject) {
            Some(at) => all.push(difference(CheckChange::Changed, Some(finding), Some(in_b.remove(at)))),
            None if of_b.is_known => all.push(difference(CheckChange::Gone, Some(finding), None)),
            None => {}
        }
    }
    if of_a.is_known {
        all.extend(in_b.into_iter().map(|finding| difference(CheckChange::Appeared, None, Some(finding))));
    }
    all
}

/// Whether two findings say the same of the same device, on the same evidence.
fn is_same(one: &CheckFinding, other: &CheckFinding) -> bool {
    let key = |finding: &CheckFinding| (finding.severity, finding.subject.clone(), finding.what.clone());
    key(one) == key(other) && one.evidence == other.evidence
}

#[cfg(test)]
mod tests {
    use halfpower_record::{CheckState, Cost};

    use super::*;

    fn finding(what: &str) -> CheckFinding {
        CheckFinding {
            severity: Severity::Warn,
            subject: "sda".to_string(),
            what: what.to_string(),
            evidence: Vec::new(),
            cost: Cost::Unknown,
            change: None,
            change_back: None,
            may_try: false,
        }
    }

    fn check(findings: &[&str], unread: &[&str]) -> Vec<Diagnosis> {
        let check = CheckResult {
            code: "scheduler".to_string(),
            title: "Scheduler".to_string(),
            part: None,
            limits_part: false,
            state: CheckState::Found,
            findings: findings.iter().map(|what| finding(what)).collect(),
            unread: unread.iter().map(|what| (*what).to_string()).collect(),
            needs_root: false,
        };
        vec![Diagnosis { checks: vec![check], ..Diagnosis::default() }]
    }

    fn changes(a: &[Diagnosis], b: &[Diagnosis]) -> (Vec<CheckChange>, usize) {
        let found = compared(a, b);
        (found.differ.iter().map(|difference| difference.change).collect(), found.one_sided)
    }

    #[test]
    fn findings_appear_go_or_change() {
        assert_eq!(changes(&check(&["bfq"], &[]), &check(&["bfq"], &[])), (vec![], 0));
        assert_eq!(changes(&check(&[], &[]), &check(&["bfq"], &[])), (vec![CheckChange::Appeared], 0));
        assert_eq!(changes(&check(&["bfq"], &[]), &check(&[], &[])), (vec![CheckChange::Gone], 0));
        assert_eq!(changes(&check(&["bfq"], &[]), &check(&["kyber"], &[])), (vec![CheckChange::Changed], 0));
    }

    #[test]
    fn what_one_study_could_not_read_is_no_difference() {
        let unread = check(&[], &["/sys/secret"]);
        assert_eq!(changes(&unread, &check(&["bfq"], &[])), (vec![], 1));
        assert_eq!(changes(&check(&["bfq"], &[]), &unread), (vec![], 1));
        // A check that the release of one study did not have.
        assert_eq!(changes(&[], &check(&["bfq"], &[])), (vec![], 1));
    }

    #[test]
    fn what_is_the_same_after_the_last_run_is_kept_once() {
        let mut checks = StudyChecks::of(&check(&[], &[])).unwrap();
        checks.look_again(&check(&[], &[]));
        assert!(checks.after.is_empty() && checks.changed.is_empty());
        checks.look_again(&check(&["bfq"], &[]));
        assert_eq!((checks.after, checks.changed.len()), (check(&["bfq"], &[]), 1));
        assert_eq!(StudyChecks::of(&[]), None);
    }
}
