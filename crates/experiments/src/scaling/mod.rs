//! The experiment `scaling`.

mod analysis;
mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
mod words;

use crate::data::ExperimentData;
use crate::definition::Definition;
use crate::plan::{PlanRequest, PlannedCell};
use crate::section::Told;

pub(crate) use analysis::shared_ceiling;

pub use rows::Rows;

/// The definition of `scaling`.
pub(crate) struct Scaling;

impl Definition for Scaling {
    const QUESTION: &'static str = words::QUESTION;
    const PAPERS: &'static str = words::PAPERS;
    type Rows = Rows;

    fn plan(request: &PlanRequest) -> Result<Vec<PlannedCell>, String> {
        plan::plan(request)
    }

    fn tell(data: &ExperimentData, rows: &mut Rows) -> Told {
        analysis::tell(data, rows)
    }
}
