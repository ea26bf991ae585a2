//! Decides what comes next in a study: the walks first, then the experiments with a fixed plan.

use halfpower_record::{Environment, Record};
use halfpower_spec::{Nanos, Pass, Question, Run};

use crate::durable_runs::DurableRuns;
use crate::fixed_plan::FixedRuns;
use crate::observation::Observation;
use crate::observed_path::ObservedPath;
use crate::planner::{Planner, Step};

/// The part of the budget that the walks get where other experiments were asked for, too.
const WALKS: f64 = 0.4;

/// All that a study measures.
pub(crate) struct StudyProgram {
    /// `None` where no walk was asked for.
    walks: Option<Planner>,
    durable: DurableRuns,
    fixed: FixedRuns,
}

impl StudyProgram {
    pub fn new(question: &Question, environment: &Environment) -> Self {
        let whole = question.budget;
        let walking = question.patterns().next().is_some();
        let beside = question.experiments.iter().any(|experiment| experiment.pattern().is_none());
        let for_walks = match (walking, beside) {
            (true, true) => Nanos((whole.0 as f64 * WALKS) as u64),
            (true, false) => whole,
            (false, _) => Nanos(0),
        };
        let durable = DurableRuns::new(&Question { budget: for_walks, ..question.clone() }, environment);
        let budget = Nanos(for_walks.0.saturating_sub(durable.reserved().0));
        let walks = walking.then(|| Planner::new(&Question { budget, ..question.clone() }).within(environment));
        Self { walks, durable, fixed: FixedRuns::new(question, environment, Nanos(whole.0 - for_walks.0)) }
    }

    /// Takes in a record.
    pub fn observe(&mut self, record: &Record) {
        match &mut self.walks {
            _ if self.durable.owns(&record.run) => self.durable.observe(),
            Some(walks) if record.run.walks() => walks.observe(&Observation::from(record)),
            _ => self.fixed.observe(&Observation::from(record)),
        }
    }

    /// Whether the rest of the study can do without `run`.
    pub fn can_spare(&self, run: &Run) -> bool {
        !run.walks() || self.durable.owns(run)
    }

    /// Leaves out what cannot be measured: a workload of a fixed plan, or the durable runs.
    pub fn give_up(&mut self, run: &Run) {
        match self.durable.owns(run) {
            true => self.durable.give_up(),
            false => self.fixed.give_up(&run.workload),
        }
    }

    /// What comes next.
    pub fn next(&self) -> Step {
        let walks = self.walks.as_ref().map_or(Step::Answered, Planner::next);
        if let Step::Run(run) = walks {
            return Step::Run(run);
        }
        let chosen = self.walks.as_ref().and_then(Planner::chosen_direct_write);
        match (self.durable.next(chosen), walks, self.fixed.next()) {
            (Some(run), _, _) => Step::Run(run),
            (None, Step::BudgetSpent, Step::Answered) => Step::BudgetSpent,
            (None, _, fixed) => fixed,
        }
    }

    /// How long the study will still take at most.
    pub fn left(&self) -> Nanos {
        let walks = self.walks.as_ref().map_or(0, |walks| walks.left().0);
        Nanos(walks + self.durable.left().0 + self.fixed.left().0)
    }
}

/// Every run of the fixed plans that a question asks for in this environment, in their order.
pub fn fixed_runs(question: &Question, environment: &Environment) -> Vec<Run> {
    StudyProgram::new(question, environment).fixed.runs().to_vec()
}

/// Every cell that the walks of a question may measure, as many times as asked, mixed by the study's seed.
pub fn grid_runs(question: &Question) -> Vec<Run> {
    let mut runs = Vec::new();
    for path in ObservedPath::all(question) {
        for cell in 0..path.cells.len() {
            runs.extend((0..question.repeats).map(|later| path.run(question, cell, Pass::Plain, later)));
        }
    }
    runs.sort_by_key(|run| (run.repeat, run.workload.rw.direction(), run.seed));
    runs
}
