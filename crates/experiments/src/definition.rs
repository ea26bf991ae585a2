//! Defines what an experiment consists of.

use serde::Serialize;

use crate::data::ExperimentData;
use crate::plan::{PlanRequest, PlannedCell};
use crate::section::Told;

/// One experiment: its question, its plan, its analysis and its words.
pub(crate) trait Definition {
    /// The question that it answers, in a line.
    const QUESTION: &'static str;
    /// What the studies of 1998 and 2000 saw.
    const PAPERS: &'static str;
    /// Its figures: lists of rows, each list a key of the findings.
    type Rows: Default + Serialize;

    /// The cells of its plan; none where the planner decides from run to run.
    ///
    /// # Errors
    /// Why it cannot be run here, in a sentence without its full stop.
    fn plan(request: &PlanRequest) -> Result<Vec<PlannedCell>, String>;

    /// Why parts of it cannot be measured here, although others can.
    fn missing(_request: &PlanRequest) -> Vec<String> {
        Vec::new()
    }

    /// Its rows, its answer and its pictures.
    fn tell(data: &ExperimentData, rows: &mut Self::Rows) -> Told;
}
