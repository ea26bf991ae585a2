//! Shows what an application would get on another path, beside what it got when it was captured.

use halfpower_analyse::PredictFindings;
use halfpower_record::Captured;

use crate::replay::{ReplayHead, replay_table};
use crate::terminal::folded;
use crate::words::predict;

/// Narrowest and widest width.
const WIDTH: (usize, usize) = (60, 120);
/// Before a note.
const LEAD: &str = "! ";

/// The answer, the operations in two columns, and what the answer rests on; at most `width` columns wide.
pub fn predict_text(findings: &PredictFindings, captured: &Captured, place: &str, width: usize) -> String {
    let width = width.clamp(WIDTH.0, WIDTH.1);
    let answer = predict::answer(findings, &captured.subject, place);
    let mut text = lines(&folded("", &answer, width));
    text.push('\n');
    let head = ReplayHead { subject: &captured.subject, place, lines: Vec::new(), first: "captured", second: "there" };
    text += &replay_table(&findings.operations, &head);
    let notes = predict::notes(findings);
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in &notes {
        text += &lines(&folded(LEAD, note, width));
    }
    text
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}
