//! Writes what checks of settings found at the target of a study, and how that differs.

use halfpower_analyse::{CheckChange, CheckDifference, Comparison, Findings, SettingToChange, StopExplanation};
use halfpower_record::{CheckFinding, CheckResult, CheckState, Cost, Diagnosis, Evidence, Severity};
use halfpower_spec::InOrder;
use halfpower_spec::shell_operand;

use super::doctor::{cost, counted};

/// Files of one finding that a line names.
const FILES: usize = 3;

/// A finding with what it concerns: `nvme0n1: scheduler bfq`.
pub(crate) fn finding(found: &CheckFinding) -> String {
    let subjects: &[String] = if found.subject.is_empty() { &[] } else { std::slice::from_ref(&found.subject) };
    of_subjects(subjects, &found.what)
}

fn of_subjects(subjects: &[String], what: &str) -> String {
    if subjects.is_empty() { what.to_string() } else { format!("{}: {what}", subjects.join(", ")) }
}

/// What a finding costs, in a sentence: `costs up to half of reads`, or that nobody knows.
pub(crate) fn costs(of: &Cost) -> String {
    if *of == Cost::Unknown { "cost unknown".to_string() } else { format!("costs {}", cost(of)) }
}

/// The files that show it: `queue/scheduler bfq`; the end of a path is enough for a line.
pub(crate) fn evidence(found: &CheckFinding) -> String {
    let short = |evidence: &Evidence| {
        let file = match evidence.file.strip_prefix('/') {
            Some(path) => {
                let parts: Vec<&str> = path.split('/').collect();
                parts[parts.len().saturating_sub(2)..].join("/")
            }
            None => evidence.file.clone(),
        };
        format!("{file} {}", evidence.value)
    };
    found.evidence.iter().take(FILES).map(short).collect::<Vec<_>>().join(", ")
}

/// A finding in one line: what, cost, what to do.
pub(crate) fn line(found: &CheckFinding) -> String {
    with_cost(&finding(found), found)
}

fn with_cost(what: &str, found: &CheckFinding) -> String {
    let change = found.change.as_ref().map_or(String::new(), |change| format!(" -> {change}"));
    format!("{what} ({}){change}", costs(&found.cost))
}

/// A setting to change, in one line.
pub(crate) fn to_change(setting: &SettingToChange) -> String {
    let others =
        if setting.subjects.len() > 1 && setting.finding.change.is_some() { "; likewise the others" } else { "" };
    format!("{}{others}", with_cost(&of_subjects(&setting.subjects, &setting.finding.what), &setting.finding))
}

/// Where the settings are that are not named; `None` if all are.
pub(crate) fn more_to_change(more: usize, target: &str) -> Option<String> {
    (more > 0).then(|| format!("{more} more: halfpower doctor {}", shell_operand(target)))
}

/// What explains a stop, to follow what stops it.
pub(crate) fn explained(found: Option<&StopExplanation>) -> String {
    found.map_or(String::new(), |found| format!("; {}", finding(&found.finding)))
}

/// What explains the bottleneck of the faster direction, as a sentence that follows another.
pub(crate) fn explained_bottleneck(findings: &Findings) -> String {
    let bottleneck = &findings.bottleneck;
    let rw = bottleneck.fastest.map(|fastest| fastest.cell.rw);
    let stop = findings.summary.stops.iter().find(|stop| Some(stop.rw) == rw);
    let explained =
        stop.filter(|stop| stop.bottleneck.level == bottleneck.level).and_then(|stop| stop.explained.as_ref());
    explained.map_or(String::new(), |found| format!(" A check of settings explains it: {}.", finding(&found.finding)))
}

/// All findings of some places, the most severe and then the most costly first.
pub(crate) fn all_findings(places: &[Diagnosis]) -> Vec<(&CheckResult, &CheckFinding)> {
    let results = places.iter().flat_map(|place| &place.checks);
    let mut all: Vec<(&CheckResult, &CheckFinding)> =
        results.flat_map(|check| check.findings.iter().map(move |found| (check, found))).collect();
    all.order_by(|(_, one), (_, other)| {
        let by_cost = other.cost.rank().total_cmp(&one.cost.rank());
        other.severity.cmp(&one.severity).then(by_cost)
    });
    all
}

/// How many checks found something that costs, and how many could not read what they need: `2 findings, 3 unread`.
pub(crate) fn sums(places: &[Diagnosis]) -> String {
    let severe = all_findings(places).iter().filter(|(_, found)| found.severity > Severity::Note).count();
    match unread(places).len() {
        0 => counted(severe, "finding"),
        unread => format!("{}, {unread} unread", counted(severe, "finding")),
    }
}

/// The checks that could not read all that they need.
pub(crate) fn unread(places: &[Diagnosis]) -> Vec<&CheckResult> {
    places.iter().flat_map(|place| &place.checks).filter(|check| !check.unread.is_empty()).collect()
}

/// How many checks found nothing, and how many could not read what they need.
pub(crate) fn counts(places: &[Diagnosis]) -> String {
    let is_fine = |check: &&CheckResult| check.state == CheckState::Fine;
    let fine = places.iter().flat_map(|place| &place.checks).filter(is_fine).count();
    let unread = unread(places);
    let for_root = unread.iter().filter(|check| check.needs_root).count();
    let root = if for_root > 0 { format!(" ({for_root} of them as root can)") } else { String::new() };
    let unread = match unread.len() {
        0 => String::new(),
        count => {
            format!("; {count} could not read all that they need{root}, which does not mean that nothing is wrong")
        }
    };
    format!("{} found nothing{unread}.", counted(fine, "check"))
}

/// The names of the two sides of a difference within a study.
pub(crate) const BEFORE_AND_AFTER: [&str; 2] = ["before the runs", "after the runs"];

/// A difference as a phrase, such as `nvme0n1: scheduler bfq, in B alone (scheduler)`; `sides` are the names of both
/// sides, such as `in A`.
pub(crate) fn difference(found: &CheckDifference, sides: [&str; 2]) -> String {
    let [of_a, of_b] = sides;
    let alone = |found: &Option<CheckFinding>, side: &str| {
        found.as_ref().map_or(String::new(), |found| format!("{}, {side} alone", line_without_change(found)))
    };
    let text = match (found.change, &found.a, &found.b) {
        (CheckChange::Changed, Some(a), Some(b)) if a.what == b.what => {
            format!("{}: {} {of_a}, {} {of_b}", finding(a), evidence(a), evidence(b))
        }
        (CheckChange::Changed, Some(a), Some(b)) => format!("{} {of_a}, {} {of_b}", finding(a), b.what),
        (CheckChange::Appeared, _, b) => alone(b, of_b),
        (_, a, _) => alone(a, of_a),
    };
    format!("{text} ({})", found.code)
}

/// A finding in one line, without what to do.
pub(crate) fn line_without_change(found: &CheckFinding) -> String {
    format!("{} ({})", finding(found), costs(&found.cost))
}

/// What the checks of settings say of two studies, a sentence each; empty if neither has any, or if nothing differs.
pub(crate) fn compared(comparison: &Comparison) -> Vec<String> {
    let Some(checks) = &comparison.checks else { return Vec::new() };
    let letter_a = &comparison.a.letter;
    let letter_b = &comparison.b.letter;
    if !(checks.in_a && checks.in_b) {
        let only = if checks.in_a { letter_a } else { letter_b };
        let unknown =
            format!("{only} alone has what checks of settings found, so whether settings differ is not known.");
        return if comparison.different { vec![unknown] } else { Vec::new() };
    }
    let sides = [format!("in {letter_a}"), format!("in {letter_b}")];
    let phrase = |found| format!("{}.", difference(found, [&sides[0], &sides[1]]));
    let mut all: Vec<String> = checks.differ.iter().map(phrase).collect();
    if all.is_empty() && comparison.different {
        all.push("The checks of settings found no difference.".to_string());
    }
    if checks.one_sided > 0 && !all.is_empty() {
        all.push(format!(
            "{} could read all that it needs in one study alone; what only that study found is left out.",
            counted(checks.one_sided, "check")
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use halfpower_record::Basis;

    use super::*;

    fn found(what: &str) -> CheckFinding {
        CheckFinding {
            severity: Severity::Warn,
            subject: "nvme0n1".into(),
            what: what.into(),
            evidence: vec![Evidence { file: "/sys/class/block/nvme0n1/queue/scheduler".into(), value: what.into() }],
            cost: Cost::Unknown,
            change: Some("echo none > /sys/class/block/nvme0n1/queue/scheduler".into()),
            change_back: None,
            may_try: true,
        }
    }

    fn setting(subjects: &[&str], finding: CheckFinding) -> SettingToChange {
        let subjects = subjects.iter().map(|subject| (*subject).to_string()).collect();
        SettingToChange { code: "scheduler".into(), subjects, explains: Vec::new(), finding }
    }

    #[test]
    fn a_setting_to_change_is_what_it_costs_and_the_command() {
        let one = setting(&["nvme0n1"], found("scheduler bfq"));
        assert_eq!(
            to_change(&one),
            "nvme0n1: scheduler bfq (cost unknown) -> echo none > /sys/class/block/nvme0n1/queue/scheduler"
        );
        let basis = Basis::Computed(String::new());
        let cost = Cost::Share { least: 0.0, most: 0.5, of: "reads".into(), basis };
        let two = setting(&["sda", "sdb"], CheckFinding { cost, change: None, ..found("the link is slow") });
        assert_eq!(to_change(&two), "sda, sdb: the link is slow (costs up to half of reads)");
        assert_eq!(more_to_change(0, "/data"), None);
        assert_eq!(more_to_change(2, "/my data").as_deref(), Some("2 more: halfpower doctor '/my data'"));
    }

    #[test]
    fn a_difference_names_its_side() {
        let difference = |change, a: Option<&str>, b: Option<&str>| {
            let a = a.map(found);
            let b = b.map(found);
            let found = CheckDifference { code: "scheduler".into(), title: "Scheduler".into(), change, a, b };
            super::difference(&found, ["in A", "in B"])
        };
        assert_eq!(
            difference(CheckChange::Appeared, None, Some("scheduler bfq")),
            "nvme0n1: scheduler bfq (cost unknown), in B alone (scheduler)"
        );
        assert_eq!(
            difference(CheckChange::Gone, Some("scheduler bfq"), None),
            "nvme0n1: scheduler bfq (cost unknown), in A alone (scheduler)"
        );
        assert_eq!(
            difference(CheckChange::Changed, Some("scheduler bfq"), Some("scheduler kyber")),
            "nvme0n1: scheduler bfq in A, scheduler kyber in B (scheduler)"
        );
    }
}
