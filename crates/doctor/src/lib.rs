//! Looks at the silent settings of a storage path, and says what each costs and how it is changed.
//!
//! A check is one file in `checks` and one line in `table.rs`. It reads a [`Place`], and changes nothing.

#![forbid(unsafe_code)]

mod blocks_below;
mod check;
mod checks;
mod drive;
mod outcome;
mod page;
mod parsed;
mod part;
mod place;
mod table;
mod tries;

pub use check::Check;
pub use outcome::Outcome;
pub use page::as_markdown;
pub use place::Place;
pub use table::CHECKS;
pub use tries::{Candidate, Switchable, TRIES, TrialLoad, Try, candidates, tried_as};

use halfpower_record::{CheckFinding, CheckResult, CheckState, Diagnosis, Severity};
use halfpower_spec::InOrder;

/// Runs every check on a place.
pub fn diagnose(place: &Place) -> Diagnosis {
    let checks = CHECKS.iter().map(|check| result(check, place)).collect();
    Diagnosis { target: place.target_text(), path: place.words(), checks, tries: Vec::new() }
}

fn result(check: &Check, place: &Place) -> CheckResult {
    let mut findings = Vec::new();
    let mut unread: Vec<String> = Vec::new();
    let mut needs_root = false;
    let mut is_fine = false;
    for outcome in (check.look)(place) {
        match outcome {
            Outcome::NotApplicable => {}
            Outcome::Fine => is_fine = true,
            Outcome::Unread { what, root_can } => {
                needs_root |= root_can;
                if !unread.contains(&what) {
                    unread.push(what);
                }
            }
            Outcome::Found(finding) => {
                let finding = *finding;
                findings.push(CheckFinding { cost: finding.cost.clone().of_numbers(), ..finding });
            }
        }
    }
    findings.order_by(|a, b| b.severity.cmp(&a.severity).then(b.cost.rank().total_cmp(&a.cost.rank())));
    let state = match findings.first() {
        Some(first) if first.severity > Severity::Note => CheckState::Found,
        _ if !unread.is_empty() => CheckState::Unread,
        Some(_) => CheckState::Noted,
        None if is_fine => CheckState::Fine,
        None => CheckState::NotApplicable,
    };
    let (part, limits_part) = part::part_of(check.code);
    CheckResult {
        code: check.code.into(),
        title: check.title.into(),
        part,
        limits_part,
        state,
        findings,
        unread,
        needs_root,
    }
}
