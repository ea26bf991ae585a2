//! Writes the comparison of two studies as one JSON object.

use std::io::{self, Write};

use halfpower_analyse::{
    CellComparison, CellSettings, Comparison, ConditionCase, ConditionLimit, CostComparison, HalfPowerComparison,
    InStudy, LeftOut, MissingFigure, Note, Outcome, PathComparison, Practical, PriceRow, StudyFacts,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::words::{compare, compare_notes, settings};

/// Version of the layout of this object; it rises where a key goes away or changes its meaning.
const SCHEMA: u32 = 2;

/// What `halfpower compare --json` prints.
///
/// Changes are from A to B, in percent of A. Rates are decimal MB/s, sizes bytes, times as each name says. What is not
/// known is `null`. Codes are for programs and stay; texts are for people and may be reworded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ComparisonDocument<'a> {
    /// Version of this layout.
    schema: u32,
    /// The study that changes are counted from.
    a: &'a StudyFacts,
    /// The study that is held against it.
    b: &'a StudyFacts,
    /// The answer in a sentence or two.
    verdict: Vec<String>,
    /// The same as a code.
    outcome: Outcome,
    /// Whether anything differs: some change has `different` set.
    different: bool,
    /// What a reader should know before believing it.
    notes: Vec<NoteDocument<'a>>,
    /// From where on a difference counts.
    practical: &'a Practical,
    /// One for each pattern, direction and cache setting that both studies measured.
    paths: Vec<WithPath<'a, PathComparison>>,
    /// One for each path and depth on which both studies have a curve.
    half_power: Vec<WithPath<'a, HalfPowerComparison>>,
    /// One for each path and bound for which both studies have a fit.
    cost: Vec<WithPath<'a, CostComparison>>,
    /// What the money buys, where prices were given.
    price: Option<PriceDocument<'a>>,
    /// Every cell that both studies measured, by pattern, direction, cache setting, depth and block size.
    cells: &'a [CellComparison],
    /// Cells that only A measured.
    only_a: &'a [CellSettings],
    /// Cells that only B measured.
    only_b: &'a [CellSettings],
    /// Cells that both measured and nothing can be concluded from.
    left_out: Vec<LeftOutDocument<'a>>,
    /// Conditions that the user set, and what became of them.
    fail_if: Vec<ConditionDocument<'a>>,
}

/// A doubt, in words and as a code with its evidence.
#[derive(Debug, Serialize, JsonSchema)]
struct NoteDocument<'a> {
    #[serde(flatten)]
    note: &'a Note,
    /// In words.
    text: String,
}

/// A finding of one path, with the path in words.
#[derive(Debug, Serialize, JsonSchema)]
struct WithPath<'a, T> {
    /// Such as `random direct read`.
    path: String,
    #[serde(flatten)]
    finding: &'a T,
}

/// What each system gives for its price.
#[derive(Debug, Serialize, JsonSchema)]
struct PriceDocument<'a> {
    /// A's row.
    a: &'a PriceRow,
    /// B's row.
    b: &'a PriceRow,
    /// What is missing in them.
    missing: Vec<MissingDocument>,
}

/// A figure that a study lacks.
#[derive(Debug, Serialize, JsonSchema)]
struct MissingDocument {
    /// Which.
    #[serde(flatten)]
    figure: MissingFigure,
    /// The study that lacks it.
    study: InStudy,
    /// In words.
    text: String,
}

/// A cell that both measured and that is left out of everything.
#[derive(Debug, Serialize, JsonSchema)]
struct LeftOutDocument<'a> {
    #[serde(flatten)]
    left_out: &'a LeftOut,
    /// Why, in a few words.
    why: String,
}

/// A condition that the user set, and what became of it.
#[derive(Debug, Serialize, JsonSchema)]
struct ConditionDocument<'a> {
    /// As it was written.
    condition: &'a str,
    /// What it bounds.
    limit: ConditionLimit,
    /// Whether it holds on any path.
    holds: bool,
    /// Everything that it was held against.
    cases: Vec<CaseDocument<'a>>,
}

/// One thing that a condition was held against.
#[derive(Debug, Serialize, JsonSchema)]
struct CaseDocument<'a> {
    /// In words, such as `peak of sequential direct reads`.
    what: String,
    #[serde(flatten)]
    case: &'a ConditionCase,
}

impl<'a> ComparisonDocument<'a> {
    fn of(comparison: &'a Comparison) -> Self {
        let note = |note| NoteDocument { note, text: compare_notes::sentence(note, comparison) };
        Self {
            schema: SCHEMA,
            a: &comparison.a,
            b: &comparison.b,
            verdict: compare::verdict(comparison),
            outcome: comparison.outcome,
            different: comparison.different,
            notes: comparison.notes.iter().map(note).collect(),
            practical: &comparison.practical,
            paths: with_path(&comparison.paths, |one| settings::path(one.settings())),
            half_power: with_path(&comparison.half_power, |one| settings::path(one.settings())),
            cost: with_path(&comparison.cost, |one| settings::path(one.settings())),
            price: comparison.price.as_ref().map(|table| PriceDocument {
                a: &table.a,
                b: &table.b,
                missing: table.missing.iter().map(|(study, figure)| missing(*study, *figure, comparison)).collect(),
            }),
            cells: &comparison.cells,
            only_a: &comparison.only_a,
            only_b: &comparison.only_b,
            left_out: comparison.left_out.iter().map(|one| left_out(one, comparison)).collect(),
            fail_if: comparison
                .fail_if
                .iter()
                .map(|finding| ConditionDocument {
                    condition: &finding.condition,
                    limit: finding.limit,
                    holds: finding.holds,
                    cases: finding.cases.iter().map(|case| CaseDocument { what: compare::case(case), case }).collect(),
                })
                .collect(),
        }
    }
}

fn with_path<T>(findings: &[T], words: impl Fn(&T) -> String) -> Vec<WithPath<'_, T>> {
    findings.iter().map(|finding| WithPath { path: words(finding), finding }).collect()
}

fn missing(study: InStudy, figure: MissingFigure, comparison: &Comparison) -> MissingDocument {
    MissingDocument {
        figure,
        study,
        text: compare_notes::missing(&compare_notes::letters_of(study, comparison), figure),
    }
}

fn left_out<'a>(left_out: &'a LeftOut, comparison: &Comparison) -> LeftOutDocument<'a> {
    LeftOutDocument { left_out, why: compare_notes::left_out(left_out, comparison) }
}

/// What `halfpower compare --json` prints of more than two studies.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ComparisonsDocument<'a> {
    /// Version of this layout.
    schema: u32,
    /// One for each study that was compared with the baseline, which is `a` in all of them.
    comparisons: Vec<ComparisonDocument<'a>>,
}

/// Writes the comparison, or several as a list, indented, with a line end after the last brace.
///
/// # Errors
/// Those of `out`.
pub fn compare_json(comparisons: &[Comparison], out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    match comparisons {
        [comparison] => serde_json::to_writer_pretty(&mut *out, &ComparisonDocument::of(comparison))?,
        several => {
            let comparisons = several.iter().map(ComparisonDocument::of).collect();
            serde_json::to_writer_pretty(&mut *out, &ComparisonsDocument { schema: SCHEMA, comparisons })?;
        }
    }
    writeln!(out)
}

/// The same as a value, for the page's script.
pub(crate) fn comparison_value(comparison: &Comparison) -> Value {
    serde_json::to_value(ComparisonDocument::of(comparison)).expect("a comparison is plain data")
}
