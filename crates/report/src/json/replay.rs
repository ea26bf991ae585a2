//! Writes what an application gets when it is asked again as one JSON object.

use std::io::{self, Write};

use halfpower_analyse::{ReplayFindings, ReplayRow};
use halfpower_record::{CaptureSource, Captured};
use halfpower_spec::JsonSchema;
use serde::Serialize;

use crate::replay_asked::ReplayAsked;
use crate::words::replay;

/// Version of this object's layout; it rises when a key is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// The output of `halfpower run --workload FILE FOLDER --json`: what an application that was captured gets when it is asked
/// again.
///
/// Rates are operations or bytes a second, times have their unit in their names. `value` is the estimate, `low` and `high`
/// are its 95% interval. Unknown values are `null`. Codes are for programs and stay stable; texts are for people and may be
/// reworded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReplayDocument<'a> {
    /// Version of this layout.
    schema: u32,
    /// The program that was captured.
    subject: &'a str,
    /// Where the capture comes from.
    source: CaptureSource,
    /// Time that was captured, in nanoseconds.
    captured_ns: u64,
    /// Operations that the capture left out.
    left_out: u64,
    /// Operations of the capture that a slice's end cut: another one stands in for how long each took.
    cut: u64,
    /// How it was asked again.
    asked: &'a ReplayAsked,
    /// Rounds that were compared.
    rounds: usize,
    /// Whether no script was done to its end: the same first part of the capture is compared then.
    part: bool,
    /// The answer, as a text.
    text: String,
    /// What was asked otherwise than it was captured, and what is missing, as texts.
    notes: Vec<String>,
    /// Commits that share a sync, of the files where they do (group commit), when captured and here: each commit is one operation
    /// then, from when its lane began to wait or to write until it is durable. `null` if none does.
    commits_of_a_sync: Option<[f64; 2]>,
    /// All operations together.
    whole: &'a ReplayRow,
    /// Each kind of operation, most time first.
    rows: &'a [ReplayRow],
}

/// Writes what was found, indented and with a final newline.
///
/// # Errors
/// Those of `out`.
pub fn replay_json(
    findings: &ReplayFindings,
    captured: &Captured,
    asked: &ReplayAsked,
    out: &mut dyn Write,
) -> io::Result<()> {
    let document = ReplayDocument {
        schema: SCHEMA,
        subject: &captured.subject,
        source: captured.source,
        captured_ns: captured.span_ns(),
        left_out: captured.left_out,
        cut: captured.cut,
        asked,
        rounds: findings.rounds,
        part: findings.part,
        commits_of_a_sync: findings.commits_of_a_sync,
        text: replay::sentence(findings, &captured.subject, &asked.target),
        notes: replay::notes(findings, captured, asked),
        whole: &findings.whole,
        rows: &findings.rows,
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
