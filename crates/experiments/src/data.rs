//! Holds the input of an experiment's analysis.

use halfpower_analyse::ExperimentCell;
use halfpower_record::Environment;
use halfpower_spec::Question;

/// The input of an experiment's analysis.
pub(crate) struct ExperimentData<'a> {
    pub question: &'a Question,
    pub environment: &'a Environment,
    /// The experiment's cells, sorted by workload.
    pub cells: Vec<ExperimentCell<'a>>,
}

impl ExperimentData<'_> {
    /// The usable cells: they moved bytes without errors and did not exceed a known limit of the path.
    pub fn sound(&self) -> impl Iterator<Item = &ExperimentCell<'_>> + Clone {
        self.cells.iter().filter(|cell| cell.finding.usable())
    }
}
