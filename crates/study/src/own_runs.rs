//! The runs of experiments whose next run follows from what the runs before it showed.

use halfpower_record::Record;
use halfpower_spec::{Experiment, Nanos, Run, Workload};

use crate::planner::Step;

/// The runs of such an experiment.
pub(crate) trait OwnRuns {
    /// The experiment.
    fn experiment(&self) -> Experiment;

    /// Time that these runs take of the budget; none if the question does not ask for them, or the target cannot have them.
    fn budget(&self) -> Nanos;

    /// The runs that are known before anything is measured.
    fn known(&self) -> Vec<Run>;

    /// Records one of these runs.
    fn observe(&mut self, record: &Record);

    /// Skips all runs of a workload that cannot be measured.
    fn give_up(&mut self, workload: &Workload);

    /// The next step.
    fn next(&self) -> Step;

    /// Most time that these runs will still take.
    fn left(&self) -> Nanos;

    /// Whether `run` is one of these runs.
    fn owns(&self, run: &Run) -> bool {
        run.experiment == Some(self.experiment())
    }
}
