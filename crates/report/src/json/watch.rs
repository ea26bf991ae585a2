//! Writes what limits an application that was watched as one JSON object.

use std::io::{self, Write};

use halfpower_analyse::{WatchActivity, WatchCounters, WatchDisk, WatchFindings, WatchGroup, WatchOther, WatchProbe};
use halfpower_record::{GroupLimit, Pressure, Subject, Unseen, WatchCost, Watched, WatchedPlace};
use halfpower_spec::JsonSchema;
use serde::Serialize;

use crate::words::watch_stops;

/// Version of this object's layout; it rises when a key is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// The output of `halfpower watch --json`: what an application does, where it waits, and what stops it.
///
/// Rates are decimal MB/s or operations a second, sizes are bytes, shares are from 0 to 1, and each name of a time has its
/// unit. Unknown values are `null`. Codes are for programs and stay stable; texts are for people and may be reworded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WatchDocument<'a> {
    /// Version of this layout.
    schema: u32,
    /// Whom it looked at.
    subject: &'a Subject,
    /// When it began, in milliseconds of Unix time.
    started_unix_ms: u64,
    /// Its whole length, in nanoseconds.
    span_ns: u64,
    /// The part of it that was traced, in nanoseconds.
    traced_ns: u64,
    /// Slices that were traced; 1 if it was traced throughout.
    slices: u64,
    /// What the watch itself cost.
    cost: &'a WatchCost,
    /// File systems and devices that the operations went to.
    places: &'a [WatchedPlace],
    /// Whether operations were traced. Without that, only counters tell.
    traced: bool,
    /// Whether the findings of a study of this path were given.
    has_study: bool,
    /// Share of the time with at least one operation in progress, at most; `null` if nothing was traced.
    busy_share: Option<f64>,
    /// What it does: one for each kind of operation, most time first.
    activities: &'a [WatchActivity],
    /// Where it waits, what it uses, what stops it: one for each group of operations, most time first.
    groups: Vec<GroupDocument<'a>>,
    /// Who else used the same disks, most bytes first.
    others: &'a [WatchOther],
    /// Share of the bytes that others moved on the same disks.
    others_bytes_share: Option<f64>,
    /// Single requests that the watch sent itself (`--probe`); `null` if it sent none.
    probe: Option<&'a WatchProbe>,
    /// The disks as a whole.
    disks: &'a [WatchDisk],
    /// What counters tell of the whole watch.
    counters: &'a WatchCounters,
    /// Time that tasks waited, as the kernel counts it.
    pressure: &'a [Pressure],
    /// Limits that a control group sets on the application.
    group_limits: &'a [GroupLimit],
    /// Sources that this machine does not offer.
    unseen: &'a [Unseen],
}

/// A group of operations, as codes with their evidence and as texts.
#[derive(Debug, Serialize, JsonSchema)]
struct GroupDocument<'a> {
    #[serde(flatten)]
    group: &'a WatchGroup,
    /// What stops it, as a text.
    stop_text: String,
    /// What to set, as texts in the order of `advice`.
    advice_texts: Vec<String>,
    /// The experiment that would refute it, as a text; `null` if no limit is known.
    falsified_by_text: Option<String>,
}

impl<'a> GroupDocument<'a> {
    fn of(group: &'a WatchGroup) -> Self {
        Self {
            group,
            stop_text: watch_stops::stop(&group.stop).to_string(),
            advice_texts: group.advice.iter().map(watch_stops::advice).collect(),
            falsified_by_text: group.falsified_by.as_ref().map(watch_stops::test),
        }
    }
}

impl<'a> WatchDocument<'a> {
    fn of(findings: &'a WatchFindings, watched: &'a Watched) -> Self {
        Self {
            schema: SCHEMA,
            subject: &watched.subject,
            started_unix_ms: watched.started_unix_ms,
            span_ns: watched.span_ns,
            traced_ns: watched.traced_ns,
            slices: watched.slices,
            cost: &watched.cost,
            places: &watched.places,
            traced: findings.traced,
            has_study: findings.has_study,
            busy_share: findings.busy_share,
            activities: &findings.activities,
            groups: findings.groups.iter().map(GroupDocument::of).collect(),
            others: &findings.others,
            others_bytes_share: findings.others_bytes_share,
            probe: findings.probe.as_ref(),
            disks: &findings.disks,
            counters: &findings.counters,
            pressure: &watched.pressure,
            group_limits: &watched.group_limits,
            unseen: &watched.unseen,
        }
    }
}

/// Writes what was found, indented and with a final newline.
///
/// # Errors
/// Those of `out`.
pub fn watch_json(findings: &WatchFindings, watched: &Watched, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &WatchDocument::of(findings, watched))?;
    writeln!(out)
}
