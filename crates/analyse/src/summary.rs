//! Sums up a study for a reader with half a minute: its state, how fast, what stops it, what to set.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bottleneck::JudgedStudy;
use crate::direction_stop::direction_stops;
use crate::how_fast::how_fast;
use crate::study_state::{StateInputs, study_state};
use crate::what_to_set::what_to_set;
use crate::{
    Advice, CellFinding, CellSettings, Curve, DirectionStop, Headline, RateRow, StudyState, UseAdvice, Warning,
    WhatToSet,
};
use halfpower_record::Environment;

/// The answer of a study in a few rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Summary {
    /// How far the study can be believed, in a word.
    pub state: StudyState,
    /// How fast: small requests and the best, reads first.
    pub how_fast: Vec<RateRow>,
    /// What stops reads, and what stops writes.
    #[serde(skip)]
    pub stops: Vec<DirectionStop>,
    /// What to set, by use.
    pub what_to_set: WhatToSet,
}

/// The summary of a judged study with its findings; the last argument is the number of runs and their mean time in
/// seconds.
pub(crate) fn summary(
    environment: &Environment,
    study: &JudgedStudy<'_>,
    headline: &[Headline],
    curves: &[Curve],
    advice: &[Advice],
    warnings: &[Warning],
    (runs, seconds_a_run): (usize, f64),
) -> Summary {
    let rows = how_fast(study.cells, seconds_a_run);
    let state = StateInputs { environment, cells: study.cells, headline, rows: &rows, warnings, runs };
    let state = study_state(&state);
    let mut what_to_set = what_to_set(study, headline, curves, advice);
    if matches!(state, StudyState::Noisy { .. }) {
        what_to_set.uses.retain(|advice| is_repeated(study.cells, advice));
    }
    Summary { state, stops: direction_stops(environment, study, headline), what_to_set, how_fast: rows }
}

/// Whether advice rests on more than one run, or on no single cell: in a noisy study, one fast run is probably luck.
fn is_repeated(cells: &[CellFinding], advice: &UseAdvice) -> bool {
    let its = cells.iter().find(|cell| CellSettings::of(cell) == advice.cell).filter(|_| advice.measured.is_some());
    its.is_none_or(|cell| cell.run_mbps.len() > 1)
}
