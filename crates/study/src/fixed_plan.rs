//! Puts the runs of the experiments with a fixed plan in order, and says how long each is.
//!
//! Round by round, so that a budget that is too small costs repeats and no experiment; in each round one experiment
//! after the other, reads before writes, and all else mixed by the study's seed, so that no drift passes for an effect.

use std::collections::BTreeSet;

use halfpower_record::Environment;
use halfpower_spec::{Direction, Experiment, Nanos, Pass, Question, Run, Workload};

use crate::planner::Step;
use crate::seeds::{mixed, seeded};
use halfpower_experiments::{PlanRequest, PlannedCell, plan};

/// The part of their budget that windows fill; preparation takes the rest.
const SHARE: f64 = 0.6;
/// Shortest and longest window, in nanoseconds: throttles work in slices of 100 ms, and what takes longer than a
/// second is measured in more runs instead.
const WINDOW_NS: (f64, f64) = (100e6, 1e9);
/// How much longer than its window a run is taken to be, until one was seen.
const LENGTH: f64 = 1.5;

/// The runs of all fixed plans, and which of them are done.
#[derive(Debug, Clone)]
pub(crate) struct FixedRuns {
    runs: Vec<Run>,
    done: BTreeSet<RunKey>,
    given_up: BTreeSet<Workload>,
    budget_ns: u64,
    spent_ns: u64,
}

/// What tells runs apart, as in the study file.
type RunKey = (Option<Experiment>, Workload, Pass, u32);

fn key_of(run: &Run) -> RunKey {
    (run.experiment, run.workload, run.pass, run.repeat)
}

impl FixedRuns {
    /// The runs that `question` asks for beside the walks of block size and depth, in `budget`.
    pub fn new(question: &Question, environment: &Environment, budget: Nanos) -> Self {
        let request = PlanRequest { question, environment };
        let cells = |experiment: &Experiment| plan(*experiment, &request).ok().map(|cells| (*experiment, cells));
        let plans: Vec<(Experiment, Vec<PlannedCell>)> = question.experiments.iter().filter_map(cells).collect();
        let count = |most: u32| -> u64 {
            let of_cell =
                |cell: &PlannedCell| cell.passes.len() as u64 * u64::from(repeats_of(cell, question).min(most));
            plans.iter().flat_map(|(_, cells)| cells).map(of_cell).sum()
        };
        // Fewer repeats where all of them would leave none of them time.
        let fits = |most: &u32| count(*most) as f64 * WINDOW_NS.0 <= budget.0 as f64 * SHARE;
        let most = (1..=question.repeats.max(1)).rev().find(fits).unwrap_or(1);
        let usual = (budget.0 as f64 * SHARE / count(most).max(1) as f64).clamp(WINDOW_NS.0, WINDOW_NS.1);
        let runtime = question.runtime.unwrap_or(Nanos((usual / 1e6) as u64 * 1_000_000));
        let mut runs = Vec::new();
        for (experiment, cells) in &plans {
            runs.extend(in_order(*experiment, cells, question, most, runtime));
        }
        runs.sort_by_key(|run| run.repeat);
        Self { runs, done: BTreeSet::new(), given_up: BTreeSet::new(), budget_ns: budget.0, spent_ns: 0 }
    }

    /// All runs, done or not.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Takes in that `run` was measured, and what it took.
    pub fn observe(&mut self, run: &Run, spent_ns: u64) {
        self.done.insert(key_of(run));
        self.spent_ns += spent_ns;
    }

    /// Leaves out all runs of a workload that cannot be measured.
    pub fn give_up(&mut self, workload: &Workload) {
        self.given_up.insert(*workload);
    }

    fn to_do(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| !self.done.contains(&key_of(run)) && !self.given_up.contains(&run.workload))
    }

    /// What comes next.
    pub fn next(&self) -> Step {
        match self.to_do().next() {
            None => Step::Answered,
            Some(run) if self.spent_ns > 0 && self.spent_ns + run.runtime.0 > self.budget_ns => Step::BudgetSpent,
            Some(run) => Step::Run(*run),
        }
    }

    /// How long they will still take.
    pub fn left(&self) -> Nanos {
        let expected: f64 = self.to_do().map(|run| run.runtime.0 as f64 * LENGTH).sum();
        Nanos((expected as u64).min(self.budget_ns.saturating_sub(self.spent_ns)))
    }
}

fn repeats_of(cell: &PlannedCell, question: &Question) -> u32 {
    cell.repeats.unwrap_or(question.repeats).max(1)
}

fn in_order(experiment: Experiment, cells: &[PlannedCell], question: &Question, most: u32, runtime: Nanos) -> Vec<Run> {
    let mut runs = Vec::new();
    for cell in cells {
        for pass in cell.passes {
            for repeat in 0..repeats_of(cell, question).min(most) {
                let (workload, pass) = (cell.workload, *pass);
                let seed = seeded(question.seed, &workload, pass, repeat);
                runs.push(Run { experiment: Some(experiment), workload, repeat, pass, runtime, seed });
            }
        }
    }
    let writes = |run: &Run| run.workload.rw.direction() != Some(Direction::Read);
    runs.sort_by_key(|run| (run.repeat, writes(run), mixed(run.seed)));
    runs
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Capabilities, Machine, TargetKind};
    use halfpower_spec::{Bytes, Kernel};

    use super::*;

    fn zones(budget_s: u64) -> (Question, Environment, Nanos) {
        let question = Question { experiments: vec![Experiment::Zones], ..Question::about("d") };
        let capabilities = Capabilities {
            kind: TargetKind::Folder,
            span: Bytes(1 << 30),
            direct_unit: Some(Bytes(512)),
            ..Capabilities::default()
        };
        (question, Environment { capabilities, ..Environment::default() }, Nanos(budget_s * 1_000_000_000))
    }

    #[test]
    fn every_experiment_has_had_its_turn_before_any_is_repeated() {
        let (question, environment, budget) = zones(60);
        let question = Question { experiments: vec![Experiment::Zones, Experiment::Streams], ..question };
        let fixed = FixedRuns::new(&question, &environment, budget);
        let repeats: Vec<u32> = fixed.runs().iter().map(|run| run.repeat).collect();
        assert!(repeats.is_sorted() && repeats.last() > Some(&0), "{repeats:?}");
        let first: BTreeSet<_> = fixed.runs().iter().filter(|run| run.repeat == 0).map(|run| run.experiment).collect();
        assert_eq!(first.len(), 2);
    }

    #[test]
    fn every_run_comes_once_and_windows_fit_the_budget() {
        let (question, environment, budget) = zones(60);
        let mut fixed = FixedRuns::new(&question, &environment, budget);
        let (all, mut seen) = (fixed.runs().len(), Vec::new());
        let windows: u64 = fixed.runs().iter().map(|run| run.runtime.0).sum();
        assert!(windows <= budget.0 && windows >= budget.0 / 3, "{windows}");
        while let Step::Run(run) = fixed.next() {
            assert!(!seen.contains(&run), "{run:?} comes twice");
            fixed.observe(&run, run.runtime.0);
            seen.push(run);
        }
        assert_eq!((seen.len(), fixed.next(), fixed.left()), (all, Step::Answered, Nanos(0)));
        // Repeat by repeat, so that a study cut short has all places alike.
        assert!(seen.windows(2).all(|pair| pair[0].repeat <= pair[1].repeat));
        assert!(seen.windows(2).any(|pair| pair[0].workload > pair[1].workload), "the order is no order of places");
    }

    #[test]
    fn a_small_budget_makes_fewer_repeats_and_ends() {
        let (question, environment, budget) = zones(6);
        let mut fixed = FixedRuns::new(&question, &environment, budget);
        assert_eq!(fixed.runs().iter().map(|run| run.repeat).max(), Some(0));
        let mut count = 0;
        while let Step::Run(run) = fixed.next() {
            fixed.observe(&run, 1_000_000_000);
            count += 1;
        }
        assert_eq!((count, fixed.next()), (6, Step::BudgetSpent));
    }

    #[test]
    fn what_cannot_be_measured_is_asked_for_no_more() {
        let (question, environment, budget) = zones(60);
        let mut fixed = FixedRuns::new(&question, &environment, budget);
        let Step::Run(first) = fixed.next() else { panic!("nothing to do") };
        fixed.give_up(&first.workload);
        while let Step::Run(run) = fixed.next() {
            assert_ne!(run.workload, first.workload);
            fixed.observe(&run, 1);
        }
        assert_eq!(fixed.next(), Step::Answered);
    }

    #[test]
    fn each_round_has_every_kernel_in_an_order_of_its_own() {
        let question = Question {
            repeats: 3,
            budget: Nanos(600_000_000_000),
            experiments: vec![Experiment::Memory],
            ..Question::about("/data")
        };
        let capabilities = Capabilities { kind: TargetKind::Nothing, ..Capabilities::default() };
        let machine = Machine { cpus: 2, ..Machine::default() };
        let environment = Environment { machine, capabilities, ..Environment::default() };
        let fixed = FixedRuns::new(&question, &environment, question.budget);
        let runs = fixed.runs();
        let rounds: Vec<Vec<Workload>> =
            runs.chunks(2 * Kernel::ALL.len()).map(|round| round.iter().map(|run| run.workload).collect()).collect();
        assert_eq!(rounds.len(), 3);
        let sorted = |round: &Vec<Workload>| {
            let mut round = round.clone();
            round.sort_unstable();
            round
        };
        assert!(rounds.windows(2).all(|pair| pair[0] != pair[1] && sorted(&pair[0]) == sorted(&pair[1])));
    }
}
