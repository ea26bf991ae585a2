//! Writes the history of a target as one JSON object.

use std::io::{self, Write};

use halfpower_analyse::{FigureHistory, History, HistoryChange, HistoryStudy, UnreadStudy};
use halfpower_spec::JsonSchema;
use serde::Serialize;

use super::comparison::ConditionDocument;
use crate::words::history;

/// Version of this object's layout; it rises when a key is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// The output of `halfpower history --json`.
///
/// Studies are named by their index in `studies`. Unknown values are `null`. Codes are for programs and stay stable; texts
/// are for people and may be reworded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HistoryDocument<'a> {
    /// Version of this layout.
    schema: u32,
    /// What was measured, in its canonical text; that of the last study.
    target: &'a str,
    /// The answer in a few sentences.
    verdict: Vec<String>,
    /// The studies, in order of time.
    studies: &'a [HistoryStudy],
    /// The figures that at least one study has.
    figures: Vec<FigureDocument<'a>>,
    /// Where figures change, in order of time.
    changes: Vec<ChangeDocument<'a>>,
    /// Conditions that the user set, and their results: the last level (`b`) against the one before (`a`).
    fail_if: Vec<ConditionDocument<'a>>,
    /// Files that could not be read, and are left out.
    unread: &'a [UnreadStudy],
}

/// One figure over all studies that have it, with its name.
#[derive(Debug, Serialize, JsonSchema)]
struct FigureDocument<'a> {
    /// Its name, such as `random read, 4 KiB, 32 deep`.
    what: String,
    /// Unit of its values.
    unit: &'static str,
    #[serde(flatten)]
    figure: &'a FigureHistory,
}

/// A place in time where figures change, with its texts.
#[derive(Debug, Serialize, JsonSchema)]
struct ChangeDocument<'a> {
    /// When, what changes, and what differs around it.
    text: Vec<String>,
    #[serde(flatten)]
    change: &'a HistoryChange,
}

impl<'a> HistoryDocument<'a> {
    fn of(of: &'a History) -> Self {
        let figure = |figure: &'a FigureHistory| FigureDocument {
            what: history::figure(figure),
            unit: history::unit(figure.figure),
            figure,
        };
        let change = |change: &'a HistoryChange| {
            let mut text = vec![history::place(change, of)];
            text.extend(history::figures(change, of));
            text.extend(history::around(change));
            ChangeDocument { text, change }
        };
        Self {
            schema: SCHEMA,
            target: &of.target,
            verdict: history::verdict(of),
            studies: &of.studies,
            figures: of.figures.iter().map(figure).collect(),
            changes: of.changes.iter().map(change).collect(),
            fail_if: of.fail_if.iter().map(ConditionDocument::of).collect(),
            unread: &of.unread,
        }
    }
}

/// Writes the history of a target as one JSON object.
///
/// # Errors
/// Those of `out`.
pub fn history_json(history: &History, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &HistoryDocument::of(history))?;
    writeln!(out)
}
