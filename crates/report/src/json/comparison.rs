//! Writes the comparison of two studies as one JSON object.

use std::io::{self, Write};

use halfpower_analyse::{
    CellComparison, CellSettings, ChecksComparison, Comparison, ConditionCase, ConditionFinding, ConditionLimit,
    CostComparison, HalfPowerComparison, InStudy, LeftOut, MissingFigure, Note, Outcome, PathComparison, Practical,
    PriceRow, StudyFacts,
};
use halfpower_spec::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::words::{compare, compare_notes, settings};

/// Version of this object's layout; it rises when a key is removed or changes its meaning.
const SCHEMA: u32 = 3;

/// The output of `halfpower compare --json`.
///
/// Changes go from A to B, in percent of A. Rates are decimal MB/s, sizes are bytes, and each name of a time has its
/// unit. Unknown values are `null`. Codes are for programs and stay stable; texts are for people and may be reworded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ComparisonDocument<'a> {
    /// Version of this layout.
    schema: u32,
    /// The baseline: changes are relative to this study.
    a: &'a StudyFacts,
    /// The study that is compared with the baseline.
    b: &'a StudyFacts,
    /// The answer in a sentence or two.
    verdict: Vec<String>,
    /// The answer as a code.
    outcome: Outcome,
    /// Whether anything differs, that is, whether any change has `different` set.
    different: bool,
    /// Notes that affect how far to trust the comparison.
    notes: Vec<NoteDocument<'a>>,
    /// The practical thresholds: smaller differences do not count.
    practical: &'a Practical,
    /// One for each pattern, direction and cache setting that both studies measured.
    paths: Vec<WithPath<'a, PathComparison>>,
    /// One for each path and depth for which both studies have a curve.
    half_power: Vec<WithPath<'a, HalfPowerComparison>>,
    /// One for each path and bound for which both studies have a fit.
    cost: Vec<WithPath<'a, CostComparison>>,
    /// Price-performance, if prices were given.
    price: Option<PriceDocument<'a>>,
    /// Every cell that both studies measured, by pattern, direction, cache setting, depth and block size.
    cells: &'a [CellComparison],
    /// Cells that only A measured.
    only_a: &'a [CellSettings],
    /// Cells that only B measured.
    only_b: &'a [CellSettings],
    /// Cells that both studies measured but that allow no conclusion.
    left_out: Vec<LeftOutDocument<'a>>,
    /// How the checks of settings differ; `null` if neither study has what they found.
    checks: &'a Option<ChecksComparison>,
    /// Conditions that the user set, and their results.
    fail_if: Vec<ConditionDocument<'a>>,
}

/// A note, as text and as a code with its evidence.
#[derive(Debug, Serialize, JsonSchema)]
struct NoteDocument<'a> {
    #[serde(flatten)]
    note: &'a Note,
    /// The text.
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

/// The price-performance figures of both studies.
#[derive(Debug, Serialize, JsonSchema)]
struct PriceDocument<'a> {
    /// A's row.
    a: &'a PriceRow,
    /// B's row.
    b: &'a PriceRow,
    /// Figures that are missing in them.
    missing: Vec<MissingDocument>,
}

/// A figure that a study lacks.
#[derive(Debug, Serialize, JsonSchema)]
struct MissingDocument {
    /// The missing figure.
    #[serde(flatten)]
    figure: MissingFigure,
    /// The study that lacks it.
    study: InStudy,
    /// The text.
    text: String,
}

/// A cell that both studies measured but that every figure leaves out.
#[derive(Debug, Serialize, JsonSchema)]
struct LeftOutDocument<'a> {
    #[serde(flatten)]
    left_out: &'a LeftOut,
    /// Why, in a few words.
    why: String,
}

/// A condition that the user set, and its result.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConditionDocument<'a> {
    /// The condition as the user wrote it.
    condition: &'a str,
    /// The limit that it sets.
    limit: ConditionLimit,
    /// Whether it holds on any path.
    holds: bool,
    /// Number of tests that all conditions of the command made together; `p` of each case is corrected for them.
    tests: usize,
    /// Everything that the condition was checked against.
    cases: Vec<CaseDocument<'a>>,
}

/// One figure that a condition was checked against.
#[derive(Debug, Serialize, JsonSchema)]
struct CaseDocument<'a> {
    /// Name of the figure, such as `peak of sequential direct reads`.
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
            paths: with_path(&comparison.paths, |one| settings::path(one.path)),
            half_power: with_path(&comparison.half_power, |one| settings::path(one.path)),
            cost: with_path(&comparison.cost, |one| settings::path(one.path)),
            price: comparison.price.as_ref().map(|table| PriceDocument {
                a: &table.a,
                b: &table.b,
                missing: table.missing.iter().map(|(study, figure)| missing(*study, *figure, comparison)).collect(),
            }),
            cells: &comparison.cells,
            only_a: &comparison.only_a,
            only_b: &comparison.only_b,
            left_out: comparison.left_out.iter().map(|one| left_out(one, comparison)).collect(),
            checks: &comparison.checks,
            fail_if: comparison.fail_if.iter().map(ConditionDocument::of).collect(),
        }
    }
}

impl<'a> ConditionDocument<'a> {
    pub(super) fn of(finding: &'a ConditionFinding) -> Self {
        Self {
            condition: &finding.condition,
            limit: finding.limit,
            holds: finding.holds,
            tests: finding.tests,
            cases: finding.cases.iter().map(|case| CaseDocument { what: compare::case(case), case }).collect(),
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

/// The output of `halfpower compare --json` for more than two studies.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ComparisonsDocument<'a> {
    /// Version of this layout.
    schema: u32,
    /// One for each study that was compared with the baseline, which is `a` in each.
    comparisons: Vec<ComparisonDocument<'a>>,
}

/// Writes the comparison, or a list of several, indented and with a final newline.
///
/// # Errors
/// Those of `out`.
pub fn compare_json(comparisons: &[Comparison], out: &mut dyn Write) -> io::Result<()> {
    match comparisons {
        [comparison] => serde_json::to_writer_pretty(&mut *out, &ComparisonDocument::of(comparison))?,
        several => {
            let comparisons = several.iter().map(ComparisonDocument::of).collect();
            serde_json::to_writer_pretty(&mut *out, &ComparisonsDocument { schema: SCHEMA, comparisons })?;
        }
    }
    writeln!(out)
}

/// The comparison as a value, for the page's script.
pub(crate) fn comparison_value(comparison: &Comparison) -> Value {
    super::value_of(|text| compare_json(std::slice::from_ref(comparison), text))
}
