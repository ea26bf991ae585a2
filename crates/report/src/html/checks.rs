//! Shows what the checks of settings found at the target of a study: a table, what could not be read, what changed.

use halfpower_analyse::{Findings, StudyChecks};
use halfpower_record::{CheckFinding, CheckResult};
use maud::{Markup, html};

use crate::html::fold::Fold;
use crate::html::format::scrolling_table;
use crate::words;
use crate::words::checks::{BEFORE_AND_AFTER, all_findings, counts, difference, finding, sums, unread};

/// The section; `None` if nobody looked.
pub(crate) fn checks(findings: &Findings) -> Option<Fold> {
    let checks = findings.checks.as_ref()?;
    let found = all_findings(&checks.before);
    let body = html! {
        p.lead {
            "What the checks of " code { "halfpower doctor" } " found before the first run, the most severe first. A cost is \
             computed from what was read, measured by others elsewhere, or unknown."
        }
        @if !found.is_empty() { (table(&found)) }
        p.lead { (counts(&checks.before)) }
        (unread_checks(checks))
        (changed(checks))
    };
    Some(Fold::new("checks", "Checks of settings", sums(&checks.before), body))
}

fn table(found: &[(&CheckResult, &CheckFinding)]) -> Markup {
    let columns = html! {
        th scope="col" { "Severity" }
        th scope="col" { "What" }
        th scope="col" { "Evidence" }
        th scope="col" { "Costs" }
        th scope="col" { "To change" }
    };
    let body = html! {
        tbody {
            @for (check, found) in found {
                tr {
                    td { (found.severity.name()) }
                    th scope="row" { (finding(found)) small { (check.code) } }
                    td { @for evidence in &found.evidence { code { (evidence.file) } " " (evidence.value) br; } }
                    td { (words::doctor::cost(&found.cost)) }
                    td {
                        @if let Some(change) = &found.change { code { (change) } }
                        @if let Some(back) = &found.change_back { small { "back: " code { (back) } } }
                    }
                }
            }
        }
    };
    scrolling_table("What the checks found", columns, body)
}

fn unread_checks(checks: &StudyChecks) -> Markup {
    let unread = unread(&checks.before);
    html! {
        @if !unread.is_empty() {
            details {
                summary { (unread.len()) " could not read all that they need" }
                ul {
                    @for check in unread {
                        li { (check.code) ": " (check.unread.join("; ")) @if check.needs_root { " (root can)" } }
                    }
                }
            }
        }
    }
}

/// What was found after the last run and not before the first, or the other way about.
fn changed(checks: &StudyChecks) -> Markup {
    html! {
        @if !checks.changed.is_empty() {
            h3 { "What changed during the study" }
            ul { @for found in &checks.changed { li { (difference(found, BEFORE_AND_AFTER)) } } }
        }
    }
}
