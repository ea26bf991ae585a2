//! Decides the next run of a study: first of the walks, then of the experiments with a fixed plan.

use halfpower_record::{Environment, Record};
use halfpower_spec::{Direction, Nanos, Pass, Question, Run};

use crate::durable_runs::DurableRuns;
use crate::fixed_plan::FixedRuns;
use crate::issuing_runs::IssuingRuns;
use crate::observation::Observation;
use crate::observed_path::ObservedPath;
use crate::planner::{Planner, Step};
use crate::thread_runs::ThreadRuns;

/// Share of the budget for the walks if the question includes other experiments.
const WALKS: f64 = 0.4;

/// All runs of a study.
pub(crate) struct StudyProgram {
    /// `None` if the question includes no walk.
    walks: Option<Planner>,
    /// The walks' part of the budget.
    for_walks: Nanos,
    threads: ThreadRuns,
    issuing: IssuingRuns,
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
        let mut durable = DurableRuns::new(&Question { budget: for_walks, ..question.clone() }, environment);
        let threads = ThreadRuns::new(&Question { budget: for_walks, ..question.clone() }, environment);
        let issuing = IssuingRuns::new(&Question { budget: for_walks, ..question.clone() }, environment);
        let budget = Nanos(for_walks.0.saturating_sub(durable.reserved().0));
        let mut walks = walking.then(|| Planner::new(&Question { budget, ..question.clone() }).within(environment));
        if let Some(walks) = &mut walks
            && let Some(slices) = walks.slices(Direction::Write)
        {
            walks.charge(durable.limit_in_slices(slices, for_walks));
        }
        Self {
            walks,
            for_walks,
            threads,
            issuing,
            durable,
            fixed: FixedRuns::new(question, environment, Nanos(whole.0 - for_walks.0)),
        }
    }

    /// Records a run.
    pub fn observe(&mut self, record: &Record) {
        match &mut self.walks {
            _ if self.durable.owns(&record.run) => self.durable.observe(),
            Some(walks) if self.threads.owns(&record.run) => walks.charge(self.threads.observe(record)),
            Some(walks) if self.issuing.owns(&record.run) => walks.charge(self.issuing.observe(record)),
            Some(walks) if record.run.walks() => {
                walks.observe(&Observation::from(record));
                if let Some(slices) = walks.slices(Direction::Write) {
                    walks.charge(self.durable.limit_in_slices(slices, self.for_walks));
                }
                self.threads.observe_walk(record);
                for (experiment, workload, runtime) in walks.peaks() {
                    self.threads.go_on(&workload, Some(experiment), runtime);
                }
                let cells = if self.issuing.waits() { walks.issuing_cells() } else { Vec::new() };
                if !cells.is_empty() {
                    self.issuing.begin(&cells);
                }
            }
            _ => self.fixed.observe(&Observation::from(record)),
        }
    }

    /// Whether the study can go on without `run`.
    pub fn can_spare(&self, run: &Run) -> bool {
        !run.walks() || self.durable.owns(run) || self.threads.owns(run)
    }

    /// Skips runs that cannot be measured: a workload of a fixed plan, or the durable runs.
    pub fn give_up(&mut self, run: &Run) {
        match run {
            run if self.durable.owns(run) => self.durable.give_up(),
            run if self.threads.owns(run) => self.threads.give_up(run),
            run if self.issuing.owns(run) => self.issuing.give_up(run),
            run => self.fixed.give_up(&run.workload),
        }
    }

    /// The next step.
    pub fn next(&self) -> Step {
        let walks = self.walks.as_ref().map_or(Step::Answered, Planner::next);
        let beside = self.threads.next().or_else(|| self.issuing.next()).filter(|_| self.walks.is_some());
        if let Some(run) = beside {
            return Step::Run(run);
        }
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

    /// Most time that the study will still take.
    pub fn left(&self) -> Nanos {
        // Runs that compare ways of issuing use the walks' budget, unless the walks have already ended.
        let walks = match self.walks.as_ref().map_or(0, |walks| walks.left().0) {
            0 => self.issuing.left().0,
            left => left,
        };
        Nanos(walks + self.durable.left().0 + self.fixed.left().0)
    }
}

/// Every run of a question's fixed plans in this environment, in order.
pub fn fixed_runs(question: &Question, environment: &Environment) -> Vec<Run> {
    StudyProgram::new(question, environment).fixed.runs().to_vec()
}

/// Every cell that a question's walks may measure, with all its repeats, shuffled by the study's seed.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use halfpower_record::{Capabilities, TargetKind};
    use halfpower_spec::{Bytes, Cache, Experiment, IoMem, Issuing};

    use super::*;
    use crate::built::{disk, record};

    /// All runs of a study of a disk treated as hardware; each run takes exactly its window.
    fn runs(question: &Question) -> Vec<Run> {
        let capabilities = Capabilities {
            kind: TargetKind::Folder,
            span: Bytes(1 << 30),
            direct_unit: Some(Bytes(512)),
            ..Capabilities::default()
        };
        let environment = Environment { capabilities, ..Environment::default() };
        let mut program = StudyProgram::new(question, &environment);
        let disk = disk("fixed=80us,rate=500MB/s,disks=4,noise=2%");
        let (mut runs, mut left) = (Vec::new(), Nanos(u64::MAX));
        while let Step::Run(run) = program.next() {
            assert!(program.left() <= left, "what is left only falls");
            left = program.left();
            let made = record(&disk, run.workload, run.repeat, run.pass, 1.0);
            program.observe(&Record { run, spent_ns: run.runtime.0, ..made });
            runs.push(run);
        }
        runs
    }

    #[test]
    fn the_cells_that_decide_are_issued_in_other_ways_within_the_budget() {
        let question =
            Question { cache: vec![Cache::Device], issuing: Some(Issuing::default()), ..Question::about("d") };
        let runs = runs(&question);
        let (ways, walks): (Vec<&Run>, Vec<&Run>) =
            runs.iter().partition(|run| run.experiment == Some(Experiment::Engines));
        let spent = |runs: &[&Run]| runs.iter().map(|run| run.runtime.0).sum::<u64>();
        assert!(spent(&ways) <= question.budget.0 / 10 && spent(&ways) + spent(&walks) <= question.budget.0);
        let cell = |run: &Run| (run.workload.rw, run.workload.bs, run.workload.iodepth);
        let cells: BTreeSet<_> = ways.iter().map(|run| cell(run)).collect();
        assert!(cells.contains(&(halfpower_spec::Rw::Randread, Bytes(4096), 32)), "the deepest smallest: {cells:?}");
        assert!((3..=4).contains(&cells.len()) && cells.iter().any(|(rw, ..)| rw.writes()), "{cells:?}");
        let walked: BTreeSet<_> = walks.iter().map(|run| cell(run)).collect();
        assert!(cells.is_subset(&walked), "the walks measured them before");
        for of in &cells {
            let of_cell = || ways.iter().filter(|run| cell(run) == *of);
            let huge = of_cell().filter(|run| run.workload.issuing.unwrap().iomem == IoMem::Huge).count();
            let beside_soaker = of_cell().filter(|run| run.pass == Pass::Soaker).count();
            assert!(huge == 4 && beside_soaker >= 3, "{of:?}: {huge}, {beside_soaker}");
        }
        let begun = runs.iter().position(|run| run.experiment == Some(Experiment::Engines)).unwrap();
        let together = runs[begun..begun + ways.len()].iter().all(|run| run.experiment == Some(Experiment::Engines));
        assert!(together, "no drift comes between them");
    }

    #[test]
    fn nothing_is_handed_to_a_kernel_in_virtual_time() {
        let question = Question { cache: vec![Cache::Device], issuing: None, ..Question::about("d") };
        assert!(runs(&question).iter().all(|run| run.walks()));
    }
}
