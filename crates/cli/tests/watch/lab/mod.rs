//! Holds the tests that judge what a watch says, for the laboratory.

mod cost;
mod databases;
mod healthy;
mod kills;
mod latencies;
mod planted;
mod predictions;
mod replays;

use std::panic::AssertUnwindSafe;

use halfpower_analyse::{WatchAdvice, WatchFindings, watch_findings};
use halfpower_lab::{Figure, judge};

use crate::program::skip;
use crate::subjects::{Running, Site};

/// How long an application runs, and how long it is watched, in seconds; and then, if the watch says that this would tell more.
const RUNS: u32 = 12;
const WATCHED: u32 = 4;
const WATCHED_LONGER: u32 = 10;

/// An application of known limits.
struct Case {
    name: &'static str,
    site: fn() -> Result<Site, String>,
    subject: fn(&Site) -> Running,
    beside: fn(&Site) -> Vec<Running>,
    expects: fn(&WatchFindings) -> bool,
}

/// Nobody is beside the application.
fn alone(_: &Site) -> Vec<Running> {
    Vec::new()
}

/// What is said of an application to a user who watches it longer where that is the advice.
fn said_of(case: &Case, site: &Site) -> WatchFindings {
    let look = |seconds| {
        let subject = (case.subject)(site);
        watch_findings(&site.watched(subject.id(), seconds), None)
    };
    let first = look(WATCHED);
    let is_too_short = first.groups.iter().any(|group| group.advice.contains(&WatchAdvice::WatchLonger));
    if is_too_short { look(WATCHED_LONGER) } else { first }
}

/// Watches each application until the evidence decides whether the right thing is said of it.
fn judge_all(cases: &[Case]) {
    let mut missed = Vec::new();
    for case in cases {
        let site = match (case.site)() {
            Ok(site) => site,
            Err(why) => return skip(&format!("{}: it cannot be set up here (root is needed): {why}", case.name)),
        };
        let judged = std::panic::catch_unwind(AssertUnwindSafe(|| {
            judge("watch", vec![Figure::saying(format!("watch: {}", case.name))], || {
                let _beside = (case.beside)(&site);
                let findings = said_of(case, &site);
                let said: Vec<_> = findings.groups.iter().map(|group| (group.group, &group.stop)).collect();
                println!("{}: {said:?}", case.name);
                Some(vec![f64::from(u8::from((case.expects)(&findings)))])
            });
        }));
        if judged.is_err() {
            missed.push(case.name);
        }
    }
    assert!(missed.is_empty(), "said wrongly: {}", missed.join(", "));
}
