//! Checks that every planted fault is found, and nothing in the healthy twin.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use halfpower_doctor::{CHECKS, Place, diagnose};
use halfpower_record::{CheckFinding, CheckState, Diagnosis, Severity};

use crate::drives::DRIVES;
use crate::machines::{SHAPES, Shape};
use crate::parts::usual;
use crate::tree::Tree;

/// Checks whose outcome is always that the kernel does not tell.
const NEVER_TOLD: [&str; 1] = ["zfs-properties"];

/// Each shape with what is seen of its healthy and of its faulty twin; laid out once for all tests.
fn twins() -> &'static [(&'static Shape, [Diagnosis; 2])] {
    static TWINS: OnceLock<Vec<(&'static Shape, [Diagnosis; 2])>> = OnceLock::new();
    let both = |shape: &'static Shape| (shape, [false, true].map(|faulty| seen(shape, faulty)));
    TWINS.get_or_init(|| SHAPES.iter().chain(DRIVES).map(both).collect())
}

fn seen(shape: &Shape, faulty: bool) -> Diagnosis {
    let tree = if shape.is_guest { Tree::guest() } else { Tree::bare_metal() };
    usual(&tree);
    if shape.is_guest {
        let cpu = |number: u32| format!("processor\t: {number}\nmodel name\t: Test CPU\nflags\t\t: fpu hypervisor\n\n");
        tree.file("proc/cpuinfo", cpu(0) + &cpu(1));
    }
    let target = (shape.build)(&tree, faulty);
    diagnose(&Place::of(&tree.root(), &target))
}

fn found(seen: &Diagnosis) -> BTreeSet<&str> {
    seen.checks.iter().filter(|check| check.state == CheckState::Found).map(|check| check.code.as_str()).collect()
}

fn findings(seen: &Diagnosis) -> impl Iterator<Item = &CheckFinding> {
    seen.checks.iter().flat_map(|check| &check.findings)
}

/// The findings that count.
fn severe(seen: &Diagnosis) -> Vec<&CheckFinding> {
    findings(seen).filter(|finding| finding.severity > Severity::Note).collect()
}

#[test]
fn every_planted_fault_is_found_and_nothing_else() {
    assert!(SHAPES.iter().filter(|shape| !shape.faults.is_empty()).count() >= 15);
    for (shape, [_, faulty]) in twins() {
        let planted: BTreeSet<&str> = shape.faults.iter().copied().collect();
        assert_eq!(found(faulty), planted, "{}: {:?}", shape.name, severe(faulty));
    }
}

#[test]
fn a_healthy_twin_has_no_finding() {
    for (shape, [healthy, _]) in twins() {
        assert_eq!(found(healthy), BTreeSet::new(), "{}: {:?}", shape.name, severe(healthy));
    }
}

#[test]
fn every_check_finds_or_notes_something_in_one_of_the_shapes() {
    let mut met: BTreeSet<&str> = NEVER_TOLD.into_iter().collect();
    for check in twins().iter().flat_map(|(_, both)| both).flat_map(|seen| &seen.checks) {
        if !check.findings.is_empty() {
            met.insert(&check.code);
        }
    }
    let silent: Vec<&str> = CHECKS.iter().map(|check| check.code).filter(|code| !met.contains(code)).collect();
    assert_eq!(silent, [""; 0]);
}

#[test]
fn what_is_found_says_where_it_was_seen() {
    for (shape, both) in twins() {
        for finding in both.iter().flat_map(findings) {
            assert!(!finding.evidence.is_empty(), "{}: {finding:?}", shape.name);
            assert!(!finding.may_try || finding.change_back.is_some(), "{}: {finding:?}", shape.name);
            assert!(!format!("{finding:?}").contains("cryptsetup:0123"), "no key is shown: {finding:?}");
        }
    }
}
