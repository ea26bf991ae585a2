//! The experiment `buffered`.

mod analysis;
pub(crate) mod cost;
mod pictures;
mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
mod words;

use crate::data::ExperimentData;
use crate::definition::Definition;
use crate::plan::{PlanRequest, PlannedCell};
use crate::section::Told;

pub use rows::Rows;

/// The definition of `buffered`.
pub(crate) struct Buffered;

impl Definition for Buffered {
    const QUESTION: &'static str = words::QUESTION;
    const PAPERS: &'static str = words::PAPERS;
    type Rows = Rows;

    fn plan(request: &PlanRequest) -> Result<Vec<PlannedCell>, String> {
        plan::plan(request)
    }

    fn missing(request: &PlanRequest) -> Vec<String> {
        plan::missing(request)
    }

    fn tell(data: &ExperimentData, rows: &mut Rows) -> Told {
        analysis::tell(data, rows, pictures::all)
    }
}
