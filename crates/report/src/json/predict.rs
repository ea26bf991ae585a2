//! Writes what an application would get on another path as one JSON object.

use std::io::{self, Write};

use halfpower_analyse::PredictFindings;
use halfpower_record::{CaptureSource, Captured};
use halfpower_spec::JsonSchema;
use serde::Serialize;

use crate::words::predict;

/// Version of this object's layout; it rises when a key is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// The output of `halfpower predict --json`: what an application got when it was captured, and what it would get on another
/// path.
///
/// Rates are operations or bytes a second, sizes are bytes, shares are from 0 to 1, and each name of a time has its unit.
/// Unknown values are `null`. Codes are for programs and stay stable; texts are for people and may be reworded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PredictDocument<'a> {
    /// Version of this layout.
    schema: u32,
    /// The program that was captured; empty if not known.
    subject: &'a str,
    /// Where the capture comes from.
    source: CaptureSource,
    /// When it was captured, in milliseconds of Unix time.
    started_unix_ms: u64,
    /// Time that was captured, in nanoseconds.
    captured_ns: u64,
    /// The path of the prediction.
    place: &'a str,
    /// The answer, as a text.
    text: String,
    #[serde(flatten)]
    findings: &'a PredictFindings,
    /// What is to be said of flushes and of `notes`, as texts.
    note_texts: Vec<String>,
}

/// Writes what was found, indented and with a final newline.
///
/// # Errors
/// Those of `out`.
pub fn predict_json(
    findings: &PredictFindings,
    captured: &Captured,
    place: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let document = PredictDocument {
        schema: SCHEMA,
        subject: &captured.subject,
        source: captured.source,
        started_unix_ms: captured.started_unix_ms,
        captured_ns: captured.span_ns(),
        place,
        text: predict::answer(findings, &captured.subject, place),
        findings,
        note_texts: predict::notes(findings),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
