//! The runs of experiments whose next run follows from what the runs before it showed.

use std::collections::BTreeSet;

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

/// Assumed time of a run as a multiple of its window, until one was seen.
pub(crate) const LENGTH: f64 = 1.5;

/// What became of a list of runs that is made in advance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    done: BTreeSet<(Workload, u32)>,
    given_up: BTreeSet<Workload>,
    spent_ns: u64,
    /// Time of the runs so far beyond their windows.
    preparing_ns: u64,
}

impl Progress {
    /// Records a run.
    pub fn observe(&mut self, record: &Record) {
        let Run { workload, repeat, runtime, .. } = record.run;
        self.done.insert((workload, repeat));
        self.spent_ns += record.of_budget_ns();
        self.preparing_ns += record.of_budget_ns().saturating_sub(runtime.0);
    }

    /// Skips all runs of a workload.
    pub fn give_up(&mut self, workload: &Workload) {
        self.given_up.insert(*workload);
    }

    /// Whether a run is neither done nor given up.
    pub fn is_open(&self, run: &Run) -> bool {
        !self.done.contains(&(run.workload, run.repeat)) && !self.given_up.contains(&run.workload)
    }

    /// The step to a run: the run itself, or the end if the budget does not hold it. The first run is always made.
    pub fn step(&self, run: &Run, budget: Nanos) -> Step {
        if self.spent_ns > 0 && self.spent_ns + self.expected_ns(run) > budget.0 {
            return Step::BudgetSpent;
        }
        Step::Run(*run)
    }

    /// What is left of the budget.
    pub fn left(&self, budget: Nanos) -> Nanos {
        Nanos(budget.0.saturating_sub(self.spent_ns))
    }

    /// The time that a run will take, from the preparation of those before it.
    fn expected_ns(&self, run: &Run) -> u64 {
        let seen = self.done.len() as u64;
        let unseen_ns = (run.runtime.0 as f64 * (LENGTH - 1.0)) as u64;
        run.runtime.0 + self.preparing_ns.checked_div(seen).unwrap_or(unseen_ns)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::AtomicBool;

    use halfpower_measure::{SimulatedTarget, TargetBackend, measure};
    use halfpower_record::Environment;
    use halfpower_spec::Question;

    use super::*;
    use crate::built::disk;
    use crate::study_program::StudyProgram;

    /// The records of a study of a disk of these constants.
    pub(crate) fn records(constants: &str, question: &Question) -> (Environment, Vec<Record>) {
        let mut backend = SimulatedTarget::new(disk(constants));
        let environment = backend.environment().clone();
        let mut program = StudyProgram::new(question, &environment);
        let mut records = Vec::new();
        let mut left = Nanos(u64::MAX);
        while let Step::Run(run) = program.next() {
            assert!(program.left() <= left, "what is left only falls");
            left = program.left();
            let record = measure(&mut backend, &run, &AtomicBool::new(false)).unwrap();
            program.observe(&record);
            records.push(record);
        }
        (environment, records)
    }
}
