//! Plans the runs of `application`: the shapes of its profile round by round, then those whose figures are not yet sharp.
//!
//! Alone they have the whole budget, and beside other experiments a share of it. Every shape has its fewest runs first, so
//! that a small budget leaves no need without a figure. Further rounds hold the shapes that a need or a setting rests on and
//! whose interval is wide, until none is left or the budget ends.

use std::collections::BTreeMap;

use halfpower_experiments::application::{Further, RunFigures};
use halfpower_experiments::{PlanRequest, plan};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Direction, Experiment, InOrder, Nanos, Pass, Question, Run, Workload};

use crate::own_runs::{OwnRuns, Progress};
use crate::planner::Step;
use crate::seeds::{mixed, seeded};
use crate::slices::Slices;

/// Share of the budget where the study has other experiments.
const SHARE: f64 = 0.4;
/// Share of these runs' time for windows; preparation takes the rest.
const WINDOWS_SHARE: f64 = 0.5;
/// Shortest and longest window, in nanoseconds. A percentile needs its requests, so that windows are longer than others'.
const WINDOW_NS: (f64, f64) = (100e6, 5e9);
/// Further runs of a shape whose interval is wide, if there is time.
const MORE_ROUNDS: u32 = 24;

/// The runs of `application` in one study.
#[derive(Debug, Clone)]
pub(crate) struct ApplicationRuns {
    /// All runs in their order.
    runs: Vec<Run>,
    /// What decides whether a shape needs runs from the repeat `repeats` on; `None` without a profile.
    further: Option<Further>,
    repeats: u32,
    budget: Nanos,
    progress: Progress,
    figures: BTreeMap<Workload, Vec<RunFigures>>,
}

impl ApplicationRuns {
    /// The runs of a study about `question`: none if it does not ask for them, or no shape can run here.
    pub fn new(question: &Question, environment: &Environment) -> Self {
        let asked = question.experiments.contains(&Experiment::Application);
        let request = PlanRequest { question, environment };
        let cells = if asked { plan(Experiment::Application, &request) } else { Ok(Vec::new()) };
        let workloads: Vec<Workload> = cells.unwrap_or_default().iter().map(|cell| cell.workload).collect();
        let is_alone = question.experiments.iter().all(|experiment| *experiment == Experiment::Application);
        let repeats = question.repeats.max(1);
        let mut planned = Self {
            runs: Vec::new(),
            further: None,
            repeats,
            budget: Nanos(0),
            progress: Progress::default(),
            figures: BTreeMap::new(),
        };
        if workloads.is_empty() {
            return planned;
        }
        planned.budget = Nanos((question.budget.0 as f64 * if is_alone { 1.0 } else { SHARE }) as u64);
        planned.further = Further::of(question, environment);
        let fewest = workloads.len() as f64 * f64::from(repeats);
        let usual_ns = (planned.budget.0 as f64 * WINDOWS_SHARE / fewest).clamp(WINDOW_NS.0, WINDOW_NS.1);
        let usual = Nanos((usual_ns / 1e6) as u64 * 1_000_000);
        let window = |workload: &Workload| {
            let direction = workload.rw.direction().unwrap_or(Direction::Write);
            let slices = Slices::advertised(environment, direction, workload.bs);
            let queue_bytes = workload.bs.0 as f64 * f64::from(workload.total_depth());
            slices.map_or(usual, |slices| slices.window(usual, None, queue_bytes, planned.budget))
        };
        let run = |workload: &Workload, repeat: u32| {
            let runtime = question.runtime.unwrap_or_else(|| window(workload));
            let workload = *workload;
            let pass = Pass::Plain;
            let seed = seeded(question.seed, &workload, pass, repeat);
            Run { experiment: Some(Experiment::Application), workload, repeat, pass, runtime, seed }
        };
        let round = |repeat: u32| {
            let mut runs: Vec<Run> = workloads.iter().map(|workload| run(workload, repeat)).collect();
            // Reads first, so that after-effects of writes do not reach them.
            runs.order_by_key(|run| (run.workload.writes(), mixed(run.seed)));
            runs
        };
        let runs: Vec<Run> = (0..repeats + MORE_ROUNDS).flat_map(round).collect();
        planned.runs = runs;
        planned
    }

    /// The runs of the plan, done or not.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.repeat < self.repeats)
    }

    /// The next run of a shape that decides something and is not known well enough.
    fn next_of_more_rounds(&self) -> Option<&Run> {
        let wanted = self.further.as_ref()?.open(&self.figures);
        let is_further = |run: &&Run| run.repeat >= self.repeats && wanted.contains(&run.workload);
        self.runs.iter().filter(is_further).find(|run| self.progress.is_open(run))
    }
}

impl OwnRuns for ApplicationRuns {
    fn experiment(&self) -> Experiment {
        Experiment::Application
    }

    fn budget(&self) -> Nanos {
        self.budget
    }

    fn known(&self) -> Vec<Run> {
        self.runs().copied().collect()
    }

    fn observe(&mut self, record: &Record) {
        self.progress.observe(record);
        if let Some(figures) = RunFigures::of(record) {
            self.figures.entry(record.run.workload).or_default().push(figures);
        }
    }

    fn give_up(&mut self, workload: &Workload) {
        self.progress.give_up(workload);
    }

    fn next(&self) -> Step {
        let fewest = self.runs().find(|run| self.progress.is_open(run));
        let next = fewest.or_else(|| self.next_of_more_rounds());
        next.map_or(Step::Answered, |run| self.progress.step(run, self.budget))
    }

    fn left(&self) -> Nanos {
        match self.next() {
            Step::Run(_) => self.progress.left(self.budget),
            Step::Answered | Step::BudgetSpent => Nanos(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use halfpower_record::{Capabilities, LatencyCounter, TargetKind};
    use halfpower_spec::{Application, Bytes};

    use super::*;
    use crate::built::{disk, record};

    fn folder() -> Environment {
        let capabilities = Capabilities {
            kind: TargetKind::Folder,
            span: Bytes(1 << 30),
            members: 1,
            direct_unit: Some(Bytes(512)),
            ..Capabilities::default()
        };
        Environment { capabilities, ..Environment::default() }
    }

    fn question(name: &str) -> Question {
        let application = Application::built_in(name);
        let experiments = vec![Experiment::Application];
        Question { experiments, application, ..Question::about("d") }
    }

    /// All runs; the flushes of a run take `flush_ms`, moved apart by `noise` from run to run.
    fn made(question: &Question, flush_ms: f64, noise: f64) -> Vec<Run> {
        let mut planned = ApplicationRuns::new(question, &folder());
        let disk = disk("fixed=80us,rate=500MB/s");
        let mut runs = Vec::new();
        let mut left = Nanos(u64::MAX);
        while let Step::Run(run) = planned.next() {
            assert!(run.experiment == Some(Experiment::Application) && !runs.contains(&run), "{run:?}");
            assert!(planned.left() <= left, "what is left only falls");
            left = planned.left();
            let factor = 1.0 + noise * (f64::from(run.repeat % 3) - 1.0);
            let mut record = record(&disk, Workload { threads: 1, ..run.workload }, run.repeat, run.pass, 1.0);
            let mut counter = LatencyCounter::default();
            counter.add((flush_ms * factor * 1e6) as u64, 1000);
            (record.commits, record.syncs) = (counter.latency(), counter.latency());
            planned.observe(&Record { run, spent_ns: run.runtime.0 * 3 / 2, ..record });
            runs.push(run);
        }
        runs
    }

    #[test]
    fn every_shape_has_its_fewest_runs_and_what_is_sharp_no_more() {
        let question = question("etcd");
        let runs = made(&question, 2.0, 0.0);
        let shapes: BTreeSet<Workload> = runs.iter().map(|run| run.workload).collect();
        assert_eq!((shapes.len(), runs.len()), (5, 5 * question.repeats as usize));
        let spent_ns: u64 = runs.iter().map(|run| run.runtime.0 * 3 / 2).sum();
        assert!(spent_ns <= question.budget.0, "{spent_ns}");
    }

    #[test]
    fn a_figure_near_its_bound_gets_further_runs_until_the_budget_ends() {
        let question = question("etcd");
        let runs = made(&question, 10.0, 0.5);
        let of_log = runs.iter().filter(|run| run.workload.bs == Bytes(2300)).count();
        assert!(of_log > question.repeats as usize, "{of_log}");
        let spent_ns: u64 = runs.iter().map(|run| run.runtime.0 * 3 / 2).sum();
        assert!(spent_ns <= question.budget.0 && spent_ns > question.budget.0 / 2, "{spent_ns}");
    }

    #[test]
    fn beside_other_experiments_it_has_a_share_and_without_a_profile_none() {
        let mut beside = question("backup");
        beside.experiments.insert(0, Experiment::Random);
        assert_eq!(ApplicationRuns::new(&beside, &folder()).budget(), Nanos(48_000_000_000));
        let none = Question { application: None, ..question("etcd") };
        assert_eq!(ApplicationRuns::new(&none, &folder()).next(), Step::Answered);
        assert_eq!(ApplicationRuns::new(&Question::about("d"), &folder()).budget(), Nanos(0));
    }
}
