//! Plans the runs of `commits`: first the cells that the first screen tells of, then the axis around them.
//!
//! Beside other experiments they have a small share of the budget, and their turn comes after the walks. A share that
//! does not hold a run of each of the first cells is left to the others, and the report says so.

use std::collections::BTreeMap;

use halfpower_analyse::run_mbps;
use halfpower_experiments::{PlanRequest, commits, plan};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Direction, Experiment, InOrder, Nanos, Pass, Question, Run, Workload};

use crate::observed_cell::{SHARP, Sample};
use crate::own_runs::{LENGTH, OwnRuns, Progress};
use crate::planner::Step;
use crate::seeds::{mixed, seeded};
use crate::slices::Slices;

/// Share of the budget where the study has other experiments.
const SHARE: f64 = 0.1;
/// Share of these runs' time for windows; preparation takes the rest.
const WINDOWS_SHARE: f64 = 0.6;
/// Windows that their time should hold: the first cells' runs, and one of each other cell.
const WINDOWS: f64 = 40.0;
/// Shortest and longest window, in nanoseconds, and the windows in a run of a first cell.
const WINDOW_NS: (f64, f64) = (100e6, 1e9);
const CHIEF_WINDOWS: u64 = 2;
/// Further runs of a first cell whose interval is wide, if there is time.
const MORE_ROUNDS: u32 = 6;

/// The runs of `commits` in one study.
#[derive(Debug, Clone)]
pub(crate) struct CommitRuns {
    /// All runs in their order.
    runs: Vec<Run>,
    /// Runs from this repeat on are made only for cells with wide intervals.
    repeats: u32,
    budget: Nanos,
    progress: Progress,
    /// Throughput of each workload's runs, in MB/s.
    rates: BTreeMap<Workload, Sample>,
}

impl CommitRuns {
    /// The runs of a study about `question`: none if it does not ask for them, the target has no commits, or their share
    /// of the budget is too small.
    pub fn new(question: &Question, environment: &Environment) -> Self {
        let asked = question.experiments.contains(&Experiment::Commits);
        let cells =
            if asked { plan(Experiment::Commits, &PlanRequest { question, environment }) } else { Ok(Vec::new()) };
        let workloads: Vec<Workload> = cells.unwrap_or_default().iter().map(|cell| cell.workload).collect();
        let is_alone = question.experiments.iter().all(|experiment| *experiment == Experiment::Commits);
        let share = if is_alone { 1.0 } else { SHARE };
        let budget_ns = question.budget.0 as f64 * share;
        let usual_ns = (budget_ns * WINDOWS_SHARE / WINDOWS).clamp(WINDOW_NS.0, WINDOW_NS.1);
        let usual = Nanos((usual_ns / 1e6) as u64 * 1_000_000);
        let least_bs = workloads.iter().map(|workload| workload.bs).min().unwrap_or_default();
        let slices = Slices::advertised(environment, Direction::Write, least_bs);
        let held =
            |window: Nanos| slices.map_or(window, |slices| slices.window(window, None, 0.0, Nanos(budget_ns as u64)));
        let window = question.runtime.unwrap_or_else(|| held(usual));
        let chief = question.runtime.unwrap_or_else(|| held(Nanos(usual.0 * CHIEF_WINDOWS)));
        let fewest_ns = chief.0 as f64 * LENGTH * commits::CHIEF_CELLS as f64;
        let repeats = question.repeats.max(1);
        let mut commit_runs =
            Self { runs: Vec::new(), repeats, budget: Nanos(0), progress: Progress::default(), rates: BTreeMap::new() };
        if workloads.is_empty() || (fewest_ns > budget_ns && !is_alone) {
            return commit_runs;
        }
        let (first, others) = workloads.split_at(commits::CHIEF_CELLS.min(workloads.len()));
        let run = |workload: &Workload, repeat: u32, runtime: Nanos| {
            let workload = *workload;
            let pass = Pass::Plain;
            let seed = seeded(question.seed, &workload, pass, repeat);
            Run { experiment: Some(Experiment::Commits), workload, repeat, pass, runtime, seed }
        };
        let round = |of: &[Workload], repeat: u32, runtime: Nanos| {
            let mut runs: Vec<Run> = of.iter().map(|workload| run(workload, repeat, runtime)).collect();
            runs.order_by_key(|run| mixed(run.seed));
            runs
        };
        let runs = &mut commit_runs.runs;
        runs.extend((0..repeats).flat_map(|repeat| round(first, repeat, chief)));
        // In the order of their use, so that a small budget holds the most useful ones.
        runs.extend(others.iter().map(|workload| run(workload, 0, window)));
        runs.extend((1..repeats).flat_map(|repeat| round(others, repeat, window)));
        runs.extend((repeats..repeats + MORE_ROUNDS).flat_map(|repeat| round(first, repeat, chief)));
        commit_runs.budget = Nanos(budget_ns as u64);
        commit_runs
    }

    /// The runs of the plan, done or not.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.repeat < self.repeats)
    }

    /// Whether the runs of a workload differ so much that further ones are worth their time.
    fn is_wide(&self, workload: &Workload) -> bool {
        self.rates.get(workload).is_some_and(|rate| rate.count > 1 && rate.reach(rate.count, 0.0) > SHARP)
    }
}

impl OwnRuns for CommitRuns {
    fn experiment(&self) -> Experiment {
        Experiment::Commits
    }

    fn budget(&self) -> Nanos {
        self.budget
    }

    fn known(&self) -> Vec<Run> {
        self.runs().copied().collect()
    }

    fn observe(&mut self, record: &Record) {
        self.progress.observe(record);
        let mbps = run_mbps(record);
        if mbps > 0.0 && record.errors.is_empty() {
            self.rates.entry(record.run.workload).or_default().add(mbps);
        }
    }

    fn give_up(&mut self, workload: &Workload) {
        self.progress.give_up(workload);
    }

    fn next(&self) -> Step {
        let is_wanted =
            |run: &&Run| self.progress.is_open(run) && (run.repeat < self.repeats || self.is_wide(&run.workload));
        self.runs.iter().find(is_wanted).map_or(Step::Answered, |run| self.progress.step(run, self.budget))
    }

    fn left(&self) -> Nanos {
        let expected: f64 =
            self.runs().filter(|run| self.progress.is_open(run)).map(|run| run.runtime.0 as f64 * LENGTH).sum();
        Nanos(expected as u64).min(self.progress.left(self.budget))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use halfpower_record::{Ability, Capabilities, TargetKind};
    use halfpower_spec::{Bytes, Cache};

    use super::*;
    use crate::built::{disk, record};

    fn folder() -> Environment {
        let kind = TargetKind::Folder;
        let capabilities = Capabilities {
            kind,
            span: Bytes(1 << 30),
            members: 1,
            direct_unit: Some(Bytes(512)),
            ..Capabilities::default()
        };
        Environment { capabilities, ..Environment::default() }
    }

    fn question(budget_s: u64) -> Question {
        let experiments = vec![Experiment::Sequential, Experiment::Random, Experiment::Commits];
        Question { experiments, budget: Nanos(budget_s * 1_000_000_000), ..Question::about("d") }
    }

    /// All runs, each of which takes `times` its window; `noise` moves their rates apart.
    fn made(commit_runs: &mut CommitRuns, times: f64, noise: f64) -> Vec<Run> {
        let disk = disk("fixed=80us,rate=500MB/s");
        let mut runs = Vec::new();
        let mut left = Nanos(u64::MAX);
        while let Step::Run(run) = commit_runs.next() {
            assert!(run.experiment == Some(Experiment::Commits) && !runs.contains(&run), "{run:?}");
            assert!(commit_runs.left() <= left, "what is left only falls");
            left = commit_runs.left();
            let factor = 1.0 + noise * (f64::from(run.repeat % 3) - 1.0);
            let record = record(&disk, Workload { threads: 1, ..run.workload }, run.repeat, run.pass, factor);
            let spent_ns = (run.runtime.0 as f64 * times) as u64;
            commit_runs.observe(&Record { run, spent_ns, ..record });
            runs.push(run);
        }
        runs
    }

    #[test]
    fn the_first_screens_cells_come_first_and_all_stays_within_a_share() {
        let mut commit_runs = CommitRuns::new(&question(120), &folder());
        assert_eq!(commit_runs.budget(), Nanos(12_000_000_000));
        let runs = made(&mut commit_runs, 1.7, 0.0);
        let of_first: Vec<u32> = runs[..6].iter().map(|run| run.workload.threads).collect();
        assert!(of_first.iter().all(|threads| [1, 16].contains(threads)), "{of_first:?}");
        assert!(runs[..6].iter().all(|run| run.workload.cache == Cache::Both && run.workload.options.fdatasync == 1));
        let spent_ns: u64 = runs.iter().map(|run| (run.runtime.0 as f64 * 1.7) as u64).sum();
        assert!(spent_ns <= 12_000_000_000, "{spent_ns}");
        let all: BTreeSet<Workload> = commit_runs.runs().map(|run| run.workload).collect();
        let measured: BTreeSet<Workload> = runs.iter().map(|run| run.workload).collect();
        assert_eq!(measured, all, "every cell has had a run");
    }

    #[test]
    fn a_small_budget_measures_the_first_cells_alone_and_the_smallest_nothing() {
        let mut small = CommitRuns::new(&question(20), &folder());
        let runs = made(&mut small, 1.5, 0.0);
        let first: BTreeSet<u32> = runs[..2].iter().map(|run| run.workload.threads).collect();
        assert!(first == BTreeSet::from([1, 16]) && runs.len() < 12, "{}", runs.len());
        let mut smallest = CommitRuns::new(&question(5), &folder());
        assert_eq!(
            (smallest.next(), smallest.budget(), made(&mut smallest, 1.0, 0.0).len()),
            (Step::Answered, Nanos(0), 0)
        );
    }

    #[test]
    fn windows_hold_the_slices_of_a_limit_on_writes() {
        let limit = halfpower_record::Level {
            name: "cgroup limit".to_string(),
            pap: Some(halfpower_spec::Rate(20e6)),
            ..halfpower_record::Level::default()
        };
        let limited = Environment { levels: vec![limit], ..folder() };
        let least_ns = |environment: &Environment| {
            let commit_runs = CommitRuns::new(&question(120), environment);
            commit_runs.runs().map(|run| run.runtime.0).min().unwrap()
        };
        assert!(least_ns(&folder()) < 200_000_000 && least_ns(&limited) >= 650_000_000);
    }

    #[test]
    fn wide_intervals_get_further_runs_and_what_cannot_be_measured_none() {
        let alone = Question { experiments: vec![Experiment::Commits], ..question(120) };
        let most = |noise| {
            let mut commit_runs = CommitRuns::new(&alone, &folder());
            made(&mut commit_runs, 1.0, noise).iter().map(|run| run.repeat).max()
        };
        assert_eq!(most(0.0), Some(alone.repeats - 1));
        assert!(most(0.2) >= Some(alone.repeats));
        let mut commit_runs = CommitRuns::new(&alone, &folder());
        let Step::Run(first) = commit_runs.next() else { panic!("nothing to do") };
        commit_runs.give_up(&first.workload);
        assert!(made(&mut commit_runs, 1.0, 0.0).iter().all(|run| run.workload != first.workload));
    }

    #[test]
    fn a_question_without_commits_and_a_target_without_flushes_have_none() {
        let usual = Question::about("d");
        assert_eq!(CommitRuns::new(&usual, &folder()).budget(), Nanos(0));
        let mut without = folder();
        without.capabilities.unavailable.insert(Ability::Commits, "it has no flush".to_string());
        assert_eq!(CommitRuns::new(&question(120), &without).next(), Step::Answered);
        let only_reads = Question { directions: vec![halfpower_spec::Direction::Read], ..question(120) };
        assert_eq!(CommitRuns::new(&only_reads, &folder()).budget(), Nanos(0));
    }
}
