//! Writes the comparison of alike machines as one JSON object.

use std::io::{self, Write};

use halfpower_analyse::{Access, AlikeMachines, MachineLevels, UnlikeFigure, UnlikeMachine, UnreadStudy};
use halfpower_spec::JsonSchema;
use serde::Serialize;

use crate::words::alike;

/// Version of this object's layout; it rises when a key is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// The output of `halfpower compare FOLDER --json`.
///
/// Machines are named by the files of their studies. Unknown values are `null`. Codes are for programs and stay stable; texts
/// are for people and may be reworded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AlikeDocument<'a> {
    /// Version of this layout.
    schema: u32,
    /// The answer in a sentence.
    verdict: String,
    /// Number of machines.
    machines: usize,
    /// Cells that at least half of them have.
    cells: usize,
    /// Machines that are unlike the others beyond chance, the most unlike first.
    unlike: Vec<UnlikeDocument<'a>>,
    /// The most typical machines, the nearest to the others first.
    typical: Vec<&'a str>,
    /// All machines with all that is known of them, the one that is farthest from the others first.
    all: &'a [MachineLevels],
    /// Files that could not be read, and are left out.
    unread: &'a [UnreadStudy],
}

/// A machine that is unlike the others, with the figure in which it differs most.
#[derive(Debug, Serialize, JsonSchema)]
struct UnlikeDocument<'a> {
    /// The file of its study.
    name: &'a str,
    /// Where it differs and by how much.
    text: String,
    /// The figure in which it differs most.
    figure: UnlikeFigure,
    /// The part of the cells in which it does; `null` for all cells together.
    part: Option<Access>,
    /// The figure as a multiple of the others'.
    of_others: f64,
    /// Its distance from the others in their standard deviations.
    deviations: f64,
    /// The probability that any of equal machines lies as far away; at most 0.05.
    chance: f64,
}

impl<'a> UnlikeDocument<'a> {
    fn of(one: &'a UnlikeMachine) -> Self {
        Self {
            name: &one.name,
            text: alike::unlike(one),
            figure: one.figure,
            part: one.part,
            of_others: one.of_others,
            deviations: one.deviations,
            chance: one.chance,
        }
    }
}

impl<'a> AlikeDocument<'a> {
    fn of(found: &'a AlikeMachines, unread: &'a [UnreadStudy]) -> Self {
        Self {
            schema: SCHEMA,
            verdict: alike::gist(found),
            machines: found.machines,
            cells: found.cells,
            unlike: found.unlike.iter().map(UnlikeDocument::of).collect(),
            typical: found.typical().into_iter().map(|one| one.name.as_str()).collect(),
            all: &found.all,
            unread,
        }
    }
}

/// Writes the comparison of alike machines as one JSON object; `unread` are the files that are left out.
///
/// # Errors
/// Those of `out`.
pub fn alike_json(found: &AlikeMachines, unread: &[UnreadStudy], out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &AlikeDocument::of(found, unread))?;
    writeln!(out)
}
