//! Writes how two targets compare that were measured in turns as one JSON object.

use std::io::{self, Write};

use halfpower_analyse::{Duet, DuetCell, DuetLeftOut, DuetOutcome};
use halfpower_spec::JsonSchema;
use serde::Serialize;

use super::comparison::ConditionDocument;
use crate::words::duet;

/// Version of this object's layout; it rises when a key is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// The output of `halfpower compare --live --json`.
///
/// Unknown values are `null`. Codes are for programs and stay stable; texts are for people and may be reworded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DuetDocument<'a> {
    /// Version of this layout.
    schema: u32,
    /// The first target.
    a: &'a str,
    /// The second target.
    b: &'a str,
    /// The answer in a few sentences.
    verdict: Vec<String>,
    /// The answer as a code.
    outcome: DuetOutcome,
    /// The cells, in the order in which they were measured.
    cells: Vec<CellDocument<'a>>,
    /// Cells that were not measured, because a target cannot.
    left_out: Vec<LeftOutDocument<'a>>,
    /// What the targets noted meanwhile, each note with its side.
    notes: &'a [String],
    /// Seconds of a slice.
    slice_s: f64,
    /// Seconds of all slices with what comes before each, by the clocks of the targets.
    seconds: f64,
    /// Conditions that the user set, and their results.
    fail_if: Vec<ConditionDocument<'a>>,
}

/// One cell on both targets, with its texts.
#[derive(Debug, Serialize, JsonSchema)]
struct CellDocument<'a> {
    /// What was measured, in words.
    what: String,
    /// What was measured, as flags of `halfpower run`.
    workload: String,
    #[serde(flatten)]
    cell: &'a DuetCell,
}

/// A cell that was not measured, with its texts.
#[derive(Debug, Serialize, JsonSchema)]
struct LeftOutDocument<'a> {
    /// What would have been measured, in words.
    what: String,
    /// The same as flags of `halfpower run`.
    workload: String,
    #[serde(flatten)]
    left_out: &'a DuetLeftOut,
}

impl<'a> DuetDocument<'a> {
    fn of(of: &'a Duet) -> Self {
        let cell = |cell: &'a DuetCell| CellDocument {
            what: duet::name(&cell.workload),
            workload: cell.workload.to_string(),
            cell,
        };
        let left_out = |left_out: &'a DuetLeftOut| LeftOutDocument {
            what: duet::name(&left_out.workload),
            workload: left_out.workload.to_string(),
            left_out,
        };
        Self {
            schema: SCHEMA,
            a: &of.a,
            b: &of.b,
            verdict: duet::verdict(of),
            outcome: of.outcome(),
            cells: of.cells.iter().map(cell).collect(),
            left_out: of.left_out.iter().map(left_out).collect(),
            notes: &of.notes,
            slice_s: of.slice_s,
            seconds: of.seconds,
            fail_if: of.fail_if.iter().map(ConditionDocument::of).collect(),
        }
    }
}

/// Writes a duet as one JSON object.
///
/// # Errors
/// Those of `out`.
pub fn duet_json(duet: &Duet, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &DuetDocument::of(duet))?;
    writeln!(out)
}
