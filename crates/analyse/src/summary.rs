//! Sums a study up for a reader with half a minute: its state, how fast, what stops it, what to set.

use serde::Serialize;

use crate::bottleneck::JudgedStudy;
use crate::direction_stop::direction_stops;
use crate::how_fast::how_fast;
use crate::study_state::{StateGrounds, study_state};
use crate::what_to_set::what_to_set;
use crate::{Advice, Curve, DirectionStop, Headline, RateRow, StudyState, Warning, WhatToSet};
use halfpower_record::Environment;

/// The answer of a study in a few rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
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

/// The summary of a judged study with its findings; the last are its runs, and what each took on the average in seconds.
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
    let state = StateGrounds { environment, cells: study.cells, headline, rows: &rows, warnings, runs };
    Summary {
        state: study_state(&state),
        stops: direction_stops(environment, study, headline),
        what_to_set: what_to_set(study, headline, curves, advice),
        how_fast: rows,
    }
}
