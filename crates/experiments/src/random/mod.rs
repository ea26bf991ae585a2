//! The experiment `random`, whose runs the planner decides one by one.

mod words;

use crate::data::ExperimentData;
use crate::definition::Definition;
use crate::plan::{PlanRequest, PlannedCell};
use crate::section::Told;
pub use crate::walk::NoRows as Rows;

/// The definition of `random`.
pub(crate) struct Random;

impl Definition for Random {
    const QUESTION: &'static str = words::QUESTION;
    const PAPERS: &'static str = words::PAPERS;
    type Rows = Rows;

    fn plan(_request: &PlanRequest) -> Result<Vec<PlannedCell>, String> {
        Ok(Vec::new())
    }

    fn tell(_data: &ExperimentData, _rows: &mut Rows) -> Told {
        Told { answer: String::new(), pictures: Vec::new() }
    }
}
