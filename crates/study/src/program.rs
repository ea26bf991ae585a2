//! What comes next in a study? The walks of block size and depth, whose planner learns as it goes, and after them the
//! fixed plans of the other experiments.

use record::{Environment, Record};
use spec::{Nanos, Pass, Question, Run, Workload};

use crate::fixed::Fixed;
use crate::known::KnownPath;
use crate::planner::{Observation, Planner, Step};

/// The part of the budget that the walks get where other experiments were asked for, too.
const WALKS: f64 = 0.4;

/// All that a study measures.
pub(crate) struct Program {
    /// `None` where no walk was asked for.
    walks: Option<Planner>,
    fixed: Fixed,
}

impl Program {
    pub fn new(question: &Question, environment: &Environment) -> Self {
        let whole = question.budget;
        let walking = question.patterns().next().is_some();
        let beside = question.experiments.iter().any(|experiment| experiment.pattern().is_none());
        let for_walks = match (walking, beside) {
            (true, true) => Nanos((whole.0 as f64 * WALKS) as u64),
            (true, false) => whole,
            (false, _) => Nanos(0),
        };
        let walks = walking.then(|| Planner::new(&Question { budget: for_walks, ..question.clone() }));
        Self { walks, fixed: Fixed::new(question, environment, Nanos(whole.0 - for_walks.0)) }
    }

    /// Takes in a record.
    pub fn observe(&mut self, record: &Record) {
        match &mut self.walks {
            Some(walks) if record.run.walks() => walks.observe(&Observation::from(record)),
            _ => self.fixed.observe(&record.run, record.spent_ns),
        }
    }

    /// Leaves out a workload of a fixed plan that cannot be measured.
    pub fn give_up(&mut self, workload: &Workload) {
        self.fixed.give_up(workload);
    }

    /// What comes next.
    pub fn next(&self) -> Step {
        let walks = self.walks.as_ref().map_or(Step::Answered, Planner::next);
        match (walks, self.fixed.next()) {
            (Step::Run(run), _) => Step::Run(run),
            (Step::BudgetSpent, Step::Answered) => Step::BudgetSpent,
            (_, fixed) => fixed,
        }
    }

    /// How long the study will still take, as far as can be told.
    pub fn left(&self) -> Nanos {
        let walks = self.walks.as_ref().map_or(0, |walks| walks.left().0);
        Nanos(walks + self.fixed.left().0)
    }
}

/// Every run of the fixed plans that a question asks for in this environment, in their order.
pub fn fixed_runs(question: &Question, environment: &Environment) -> Vec<Run> {
    Program::new(question, environment).fixed.runs().to_vec()
}

/// Every cell that the walks of a question may measure, as many times as asked, mixed by the study's seed.
pub fn grid_runs(question: &Question) -> Vec<Run> {
    let mut runs = Vec::new();
    for path in KnownPath::all(question) {
        for cell in 0..path.cells.len() {
            runs.extend((0..question.repeats).map(|later| path.run(question, cell, Pass::Plain, later)));
        }
    }
    runs.sort_by_key(|run| (run.repeat, run.workload.rw.direction(), run.seed));
    runs
}
