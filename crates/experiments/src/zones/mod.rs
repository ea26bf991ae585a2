//! The experiment `zones`.

mod analysis;
mod bands;
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

/// The definition of `zones`.
pub(crate) struct Zones;

impl Definition for Zones {
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
