//! Orders the runs of experiments with a fixed plan, and sets their windows.
//!
//! Runs go round by round, so that a small budget reduces repeats and not experiments. Each round goes through the
//! experiments one after the other, reads before writes, and shuffles everything else by the study's seed, so that
//! drift does not look like an effect.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use halfpower_record::Environment;
use halfpower_spec::{Direction, Experiment, InOrder, Nanos, Pass, Question, Run, Workload};

use crate::observed_cell::{Observation, SHARP, Sample};
use crate::planner::Step;
use crate::seeds::{mixed, seeded};
use crate::slices::Slices;
use halfpower_experiments::{PlanRequest, PlannedCell, plan};

/// Share of the budget for windows; preparation takes the rest.
const SHARE: f64 = 0.6;
/// The same share if every run is long.
const LONG_SHARE: f64 = 0.8;
/// Shortest and longest window, in nanoseconds: throttles work in slices of 100 ms, and above a second more runs are
/// better than longer ones.
const WINDOW_NS: (f64, f64) = (100e6, 1e9);
/// Assumed time of a run as a multiple of its window, until a run was seen.
const LENGTH: f64 = 1.5;

/// Most extra rounds, made while there is time and a cell has too wide an interval.
const MORE_ROUNDS: u32 = 12;
/// First window of each direction, in nanoseconds, and its largest share of the budget: long enough to see whether
/// requests complete in waves.
const LOOK_NS: u64 = 500_000_000;
const LOOK_SHARE: u64 = 40;

/// The runs of all fixed plans, and which of them are done.
#[derive(Debug, Clone)]
pub(crate) struct FixedRuns {
    /// The plan's runs, then those of extra rounds.
    runs: Vec<Run>,
    /// Number of the plan's runs.
    planned: usize,
    done: BTreeSet<RunKey>,
    given_up: BTreeSet<Workload>,
    /// Throughput of each workload's plain runs, in MB/s.
    rates: BTreeMap<(Option<Experiment>, Workload), Sample>,
    /// The known limits in time slices.
    slices: BTreeMap<Direction, Slices>,
    /// Whether the question sets the length of windows.
    fixed_windows: bool,
    /// Shortest run that stands for many windows, in nanoseconds.
    least_long_ns: u64,
    /// Whether to look for limits and to add extra rounds for wide cells; simulated targets need neither.
    is_hardware: bool,
    budget_ns: u64,
    spent_ns: u64,
}

/// The key of a run, as in the study file.
type RunKey = (Option<Experiment>, Workload, Pass, u32);

fn key_of(run: &Run) -> RunKey {
    (run.experiment, run.workload, run.pass, run.repeat)
}

impl FixedRuns {
    /// The runs of `question` other than the walks of block size and depth, within `budget`.
    pub fn new(question: &Question, environment: &Environment, budget: Nanos) -> Self {
        let request = PlanRequest { question, environment };
        let cells = |experiment: &Experiment| plan(*experiment, &request).ok().map(|cells| (*experiment, cells));
        let fixed = question.experiments.iter().filter(|experiment| !experiment.has_own_runs());
        let plans: Vec<(Experiment, Vec<PlannedCell>)> = fixed.filter_map(cells).collect();
        let count = |most: u32| -> u64 {
            let of_cell = |cell: &PlannedCell| {
                u64::from(cell.windows) * cell.passes.len() as u64 * u64::from(repeats_of(cell, question).min(most))
            };
            plans.iter().flat_map(|(_, cells)| cells).map(of_cell).sum()
        };
        let all_long = plans.iter().flat_map(|(_, cells)| cells).all(|cell| cell.windows > 1);
        let windows_ns = budget.0 as f64 * if all_long { LONG_SHARE } else { SHARE };
        // Make fewer repeats if windows would otherwise become too short.
        let fits = |most: &u32| count(*most) as f64 * WINDOW_NS.0 <= windows_ns;
        let most = (1..=question.repeats.max(1)).rev().find(fits).unwrap_or(1);
        let window_ns = windows_ns / count(most).max(1) as f64;
        let mut runs = Vec::new();
        for (experiment, cells) in &plans {
            runs.extend(in_order(*experiment, cells, question, 0..most, window_ns));
        }
        runs.order_by_key(|run| run.repeat);
        let planned = runs.len();
        let mut more = Vec::new();
        for (experiment, cells) in &plans {
            more.extend(in_order(*experiment, cells, question, most..most + MORE_ROUNDS, window_ns));
        }
        more.order_by_key(|run| run.repeat);
        runs.extend(more);
        let least_bs = runs.iter().map(|run| run.workload.bs).min().unwrap_or_default();
        let advertised = |way: &Direction| Some((*way, Slices::advertised(environment, *way, least_bs)?));
        Self {
            planned,
            runs,
            done: BTreeSet::new(),
            given_up: BTreeSet::new(),
            rates: BTreeMap::new(),
            slices: Direction::ALL.iter().filter_map(advertised).collect(),
            fixed_windows: question.runtime.is_some(),
            least_long_ns: least_long_ns(plans.iter().flat_map(|(_, cells)| cells)),
            is_hardware: environment.capabilities.kind.is_hardware(),
            budget_ns: budget.0,
            spent_ns: 0,
        }
    }

    /// All runs of the plan, done or not.
    pub fn runs(&self) -> &[Run] {
        &self.runs[..self.planned]
    }

    /// Charges time to the budget.
    pub fn charge(&mut self, spent: Nanos) {
        self.spent_ns += spent.0;
    }

    /// Records the result and the time of a run.
    pub fn observe(&mut self, seen: &Observation) {
        let Run { experiment, workload, pass, .. } = seen.run;
        self.done.insert(key_of(&seen.run));
        self.charge(Nanos(seen.spent_ns));
        if pass == Pass::Plain && seen.mbps > 0.0 && !seen.failed {
            self.rates.entry((experiment, workload)).or_default().add(seen.mbps);
        }
        self.follow(seen);
    }

    /// Learns from any run of the study: a limit in slices that one run shows limits all runs of its direction.
    pub fn follow(&mut self, seen: &Observation) {
        if let Some((slices, direction)) = Slices::seen(seen).zip(seen.run.workload.rw.direction()) {
            let known = self.slices.get(&direction).copied();
            self.slices.insert(direction, slices.joined(known));
        }
    }

    /// Skips all runs of a workload that cannot be measured.
    pub fn give_up(&mut self, workload: &Workload) {
        self.given_up.insert(*workload);
    }

    fn to_do<'a>(&'a self, of: &'a [Run]) -> impl Iterator<Item = &'a Run> {
        of.iter().filter(|run| !self.done.contains(&key_of(run)) && !self.given_up.contains(&run.workload))
    }

    /// The next step.
    pub fn next(&self) -> Step {
        let planned = self.to_do(self.runs()).next().map(|run| Run { runtime: self.window(run), ..*run });
        let more = || self.next_of_more_rounds().map(|run| Run { runtime: self.window_of_more(run), ..*run });
        let Some(run) = planned.or_else(more) else { return Step::Answered };
        if self.spent_ns > 0 && self.spent_ns + run.runtime.0 > self.budget_ns {
            return Step::BudgetSpent;
        }
        Step::Run(run)
    }

    /// The next run of the extra rounds: from a round already begun, or from a new one if a cell is not known well
    /// enough. Such a cell goes first among long runs, of which the budget may hold a single one: what goes on after a
    /// credit is known from several runs.
    fn next_of_more_rounds(&self) -> Option<&Run> {
        let more = &self.runs[self.planned..];
        let next = self.to_do(more).next().filter(|_| self.is_hardware)?;
        let is_begun = more.iter().any(|run| run.repeat == next.repeat && self.done.contains(&key_of(run)));
        let is_wide = |rate: &Sample| rate.count > 1 && rate.reach(rate.count, 0.0) > SHARP;
        let is_of_wide = |run: &&Run| self.rates.get(&(run.experiment, run.workload)).is_some_and(is_wide);
        let round = self.to_do(more).take_while(|run| run.repeat == next.repeat);
        let wide = round.filter(|run| self.is_long(run)).find(is_of_wide);
        (is_begun || self.rates.values().any(is_wide)).then_some(wide.unwrap_or(next))
    }

    /// Whether a run lasts as long as the budget allows.
    fn is_long(&self, run: &Run) -> bool {
        !self.fixed_windows && self.least_long_ns > 0 && run.runtime.0 >= self.least_long_ns
    }

    /// The window of a run of an extra round: a long one may be as short as any of its kind, to end within the budget.
    fn window_of_more(&self, run: &Run) -> Nanos {
        let window = self.window(run);
        let left = self.budget_ns.saturating_sub(self.spent_ns).max(self.least_long_ns);
        if self.is_long(run) { Nanos(window.0.min(left)) } else { window }
    }

    /// The window of a run: long enough for the slices of a limit, if there is one.
    fn window(&self, run: &Run) -> Nanos {
        let Some(direction) = run.workload.rw.direction().filter(|_| run.workload.cache.direct()) else {
            return run.runtime;
        };
        if self.fixed_windows {
            return run.runtime;
        }
        let budget = Nanos(self.budget_ns);
        if let Some(slices) = self.slices.get(&direction) {
            let mbps = self.rates.get(&(run.experiment, run.workload)).map(|rate| rate.mean);
            let queue_bytes = run.workload.bs.0 as f64 * f64::from(run.workload.total_depth());
            let slices = slices.of_members(run.workload.options.members);
            return slices.window(run.runtime, mbps, queue_bytes, budget);
        }
        let is_first =
            self.is_hardware && !self.done.iter().any(|(_, workload, ..)| workload.rw.direction() == Some(direction));
        let look = if is_first { LOOK_NS.min(budget.0 / LOOK_SHARE) } else { 0 };
        Nanos(run.runtime.0.max(look))
    }

    /// Time that the remaining runs will take.
    pub fn left(&self) -> Nanos {
        let expected: f64 = self.to_do(self.runs()).map(|run| run.runtime.0 as f64 * LENGTH).sum();
        Nanos((expected as u64).min(self.budget_ns.saturating_sub(self.spent_ns)))
    }
}

fn repeats_of(cell: &PlannedCell, question: &Question) -> u32 {
    cell.repeats.unwrap_or(question.repeats).max(1)
}

/// The shortest run among cells that stand for many windows, in nanoseconds; 0 if there are none.
fn least_long_ns<'a>(cells: impl Iterator<Item = &'a PlannedCell>) -> u64 {
    let windows = cells.map(|cell| cell.windows).filter(|windows| *windows > 1).min();
    windows.map_or(0, |windows| (WINDOW_NS.0 * f64::from(windows)) as u64)
}

/// The end of a cell's repeats; extra rounds contain only cells whose repeats the plan leaves open.
fn repeats_within(cell: &PlannedCell, question: &Question, repeats: &Range<u32>) -> u32 {
    if repeats.start > 0 && cell.repeats.is_none() { repeats.end } else { repeats_of(cell, question) }
}

/// The runs of these repeats in order, with windows of `window_ns` within the limits for windows.
fn in_order(
    experiment: Experiment,
    cells: &[PlannedCell],
    question: &Question,
    repeats: Range<u32>,
    window_ns: f64,
) -> Vec<Run> {
    let mut runs = Vec::new();
    for cell in cells {
        // A run that stands for many windows may be as long as the budget allows.
        let longest = if cell.windows > 1 { f64::INFINITY } else { WINDOW_NS.1 };
        let usual = window_ns.clamp(WINDOW_NS.0, longest) * f64::from(cell.windows);
        let runtime = question.runtime.unwrap_or(Nanos((usual / 1e6) as u64 * 1_000_000));
        for pass in cell.passes {
            for repeat in repeats.start..repeats.end.min(repeats_within(cell, question, &repeats)) {
                let workload = cell.workload;
                let pass = *pass;
                let seed = seeded(question.seed, &workload, pass, repeat);
                runs.push(Run { experiment: Some(experiment), workload, repeat, pass, runtime, seed });
            }
        }
    }
    let writes = |run: &Run| run.workload.rw.direction() != Some(Direction::Read);
    runs.order_by_key(|run| (run.repeat, writes(run), mixed(run.seed)));
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

    /// An observation of `run` that took `spent_ns`.
    fn seen_of(run: Run, spent_ns: u64) -> Observation {
        Observation {
            run,
            mbps: 100.0,
            charged_ns_per_byte: 1.0,
            soaker_ns_per_byte: None,
            failed: false,
            cached: false,
            from_device: false,
            wave_ns: None,
            spent_ns,
        }
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
        let all = fixed.runs().len();
        let mut seen = Vec::new();
        let windows: u64 = fixed.runs().iter().map(|run| run.runtime.0).sum();
        assert!(windows <= budget.0 && windows >= budget.0 / 3, "{windows}");
        while let Step::Run(run) = fixed.next() {
            assert!(!seen.contains(&run), "{run:?} comes twice");
            fixed.observe(&seen_of(run, run.runtime.0));
            seen.push(run);
        }
        assert_eq!((seen.len(), fixed.next(), fixed.left()), (all, Step::Answered, Nanos(0)));
        // Repeat by repeat, so that a study cut short has measured all cells equally often.
        assert!(seen.windows(2).all(|pair| pair[0].repeat <= pair[1].repeat));
        assert!(seen.windows(2).any(|pair| pair[0].workload > pair[1].workload), "the order is no order of places");
    }

    #[test]
    fn what_is_left_of_the_budget_goes_into_rounds_while_a_cell_is_wide() {
        let (question, environment, budget) = zones(60);
        let rounds = |mbps: fn(&Run) -> f64| {
            let mut fixed = FixedRuns::new(&question, &environment, budget);
            let mut last = 0;
            while let Step::Run(run) = fixed.next() {
                fixed.observe(&Observation { mbps: mbps(&run), ..seen_of(run, run.runtime.0) });
                last = run.repeat;
            }
            (last + 1, fixed.spent_ns as f64 / budget.0 as f64)
        };
        assert_eq!(rounds(|_| 100.0).0, question.repeats, "all is known");
        let (many, spent) = rounds(|run| if run.repeat % 2 == 0 { 100.0 } else { 140.0 });
        assert!(many > question.repeats && spent > 0.9, "{many} rounds in {spent} of the budget");
    }

    #[test]
    fn a_third_run_shows_what_goes_on_after_a_credit() {
        let (question, environment, _) = zones(20);
        let question =
            Question { experiments: vec![Experiment::Credit], directions: vec![Direction::Read], ..question };
        let budget = Nanos(20_000_000_000);
        let rates_of = |is_fast: fn(usize) -> bool| {
            let mut fixed = FixedRuns::new(&question, &environment, budget);
            let mut seen: Vec<Run> = Vec::new();
            while let Step::Run(run) = fixed.next() {
                let mbps = if is_fast(seen.len()) { 400.0 } else { 100.0 };
                // Each run takes a little more than its window.
                fixed.observe(&Observation { mbps, ..seen_of(run, run.runtime.0 + 100_000_000) });
                seen.push(run);
            }
            seen
        };
        assert_eq!(rates_of(|_| false).len(), 4, "two runs of each size fill the budget");
        let seen = rates_of(|run| run == 0);
        assert_eq!(seen.len(), 5);
        assert_eq!(seen[4].workload, seen[0].workload, "the cell whose first run was fast has a third one");
        assert!(seen[4].runtime >= Nanos(3_000_000_000) && seen[4].runtime < seen[0].runtime, "{:?}", seen[4].runtime);
    }

    #[test]
    fn windows_hold_the_slices_of_a_limit_once_it_is_seen() {
        let (question, environment, budget) = zones(20);
        let mut fixed = FixedRuns::new(&question, &environment, budget);
        let Step::Run(first) = fixed.next() else { panic!("nothing to do") };
        assert!(first.runtime >= Nanos(400_000_000), "the first one looks: {}", first.runtime);
        fixed.observe(&Observation { wave_ns: Some(100_000_000), ..seen_of(first, first.runtime.0) });
        let Step::Run(second) = fixed.next() else { panic!("nothing to do") };
        let same = first.workload.rw.direction() == second.workload.rw.direction();
        assert!(same && second.runtime >= Nanos(900_000_000), "{same}: {}", second.runtime);
    }

    #[test]
    fn windows_hold_the_slices_that_the_walks_have_seen() {
        let (question, environment, budget) = zones(20);
        let mut fixed = FixedRuns::new(&question, &environment, budget);
        let Step::Run(first) = fixed.next() else { panic!("nothing to do") };
        let walked = Run { experiment: Some(Experiment::Random), ..first };
        fixed.follow(&Observation { wave_ns: Some(100_000_000), ..seen_of(walked, walked.runtime.0) });
        let Step::Run(again) = fixed.next() else { panic!("nothing to do") };
        assert_eq!(again.workload, first.workload, "the walks' run is none of the plan's");
        assert!(again.runtime >= Nanos(900_000_000), "{}", again.runtime);
    }

    #[test]
    fn a_small_budget_makes_fewer_repeats_and_ends() {
        let (question, environment, budget) = zones(6);
        let mut fixed = FixedRuns::new(&question, &environment, budget);
        assert_eq!(fixed.runs().iter().map(|run| run.repeat).max(), Some(0));
        let mut count = 0;
        while let Step::Run(run) = fixed.next() {
            fixed.observe(&seen_of(run, 1_000_000_000));
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
            fixed.observe(&seen_of(run, 1));
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
