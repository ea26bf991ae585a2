//! Holds what the analysis of an experiment goes by.

use halfpower_analyse::ExperimentCell;
use halfpower_record::Environment;
use halfpower_spec::Question;

/// What the analysis of an experiment goes by.
pub(crate) struct ExperimentData<'a> {
    pub question: &'a Question,
    pub environment: &'a Environment,
    /// The experiment's cells, by workload.
    pub cells: Vec<ExperimentCell<'a>>,
}

impl ExperimentData<'_> {
    /// The cells that moved bytes without errors, and no faster than the path is known to let through.
    pub fn sound(&self) -> impl Iterator<Item = &ExperimentCell<'_>> + Clone {
        self.cells.iter().filter(|cell| cell.finding.usable())
    }
}
