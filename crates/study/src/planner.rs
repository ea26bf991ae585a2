//! Decides the next run in the walks of block size and depth, as a pure function of the question and the observations.
//!
//! The planner keeps an estimate with its deviation for every cell (`kriging`), lists the runs that would sharpen the
//! answer (`candidates`), and takes the most urgent ones of one direction as a batch, in an order set by the study's
//! seed. Reads and writes form separate batches, so that after-effects of writes do not reach reads; everything else is
//! interleaved, so that drift does not look like an effect.

use std::collections::BTreeSet;

use halfpower_record::Environment;
use halfpower_spec::{Bytes, Decides, Direction, Experiment, InOrder, Nanos, Pass, Pattern, Question, Run, Workload};

use crate::candidates::{Priority, RunCandidate, Stage, candidates, rows_due_ns};
use crate::confirmation;
use crate::deciding_cells::{CellId, half_power};
use crate::observed_cell::{Observation, by_pass};
use crate::observed_path::ObservedPath;
use crate::seeds::mixed;
use crate::slices::Slices;
use crate::window_length::runtime;

/// Most runs of a batch, and the size up to which less urgent runs fill it.
const BATCH: usize = 16;
const FILLED_BATCH: usize = 8;
/// Largest share of the budget for a batch, so that each direction gets its turn however long windows are.
const BATCH_SHARE: f64 = 0.15;
/// Share of the budget for exploring, before measured cells are repeated.
const EXPLORING_SHARE: f64 = 0.6;
/// Share of the budget for exploring at any time: if noise has moved half power, its new sides get a run.
const FEW_SHARE: f64 = 0.05;
/// Share of the budget after which the cells that would be chosen are repeated before anything else.
const CHOOSING_SHARE: f64 = 0.45;
/// Share of the budget after which the choice is confirmed before anything else.
const CONFIRMING_SHARE: f64 = 0.65;
/// Time reserved for the fewest runs that confirm the peaks, as a multiple of their expected time.
const RESERVE: f64 = 1.5;
/// Share of the budget after which the fastest cells count as found.
const PEAK_SHARE: f64 = 0.4;
/// Share of the budget after which the cells chosen by then are also issued in other ways.
const ISSUING_SHARE: f64 = 0.7;
/// Assumed time of a soaker run as a multiple of a plain run, until one was seen.
const SOAKER_LENGTH: f64 = 1.5;

/// The next step of a study.
#[allow(clippy::large_enum_variant, reason = "there is one at a time, and a run is copied anyway")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Make this run.
    Run(Run),
    /// End: all deciding cells are known well, and every shown cell has its runs.
    Answered,
    /// End: the budget does not hold another run.
    BudgetSpent,
}

/// The next step of a study about `question`, after the observations `seen` in their order.
///
/// Replays all of `seen`; for repeated calls, keep a [`Planner`].
pub fn next(question: &Question, seen: &[Observation]) -> Step {
    after(question, seen).next()
}

/// Most time that the study will still take; see [`Planner::left`].
pub fn left(question: &Question, seen: &[Observation]) -> Nanos {
    after(question, seen).left()
}

fn after(question: &Question, seen: &[Observation]) -> Planner {
    let mut planner = Planner::new(question);
    seen.iter().for_each(|observation| planner.observe(observation));
    planner
}

/// The plan of a study: takes observations, and returns the next step.
///
/// The same observations in the same order always lead to the same next run, however often it is asked for.
#[derive(Debug, Clone)]
pub struct Planner {
    question: Question,
    paths: Vec<ObservedPath>,
    /// The remaining runs of the batch, the next one first.
    batch: Vec<Planned>,
    /// Whether runs were left out because the budget does not hold them.
    held_back: bool,
    costs: Costs,
}

/// Time that runs have taken of the budget so far.
#[derive(Debug, Clone, Default)]
struct Costs {
    spent_ns: u64,
    /// Time and number of runs, by pass.
    runs: [(u64, u64); 3],
    /// Time by direction, to balance reads and writes.
    directions: [u64; 2],
}

impl Planner {
    /// The plan of a study without observations.
    pub fn new(question: &Question) -> Self {
        let mut paths = ObservedPath::all(question);
        for direction in Direction::ALL {
            let mut direct = paths.iter_mut().filter(|path| path.cache.direct());
            direct.find(|path| path.direction == *direction).into_iter().for_each(ObservedPath::look);
        }
        let mut planner =
            Self { question: question.clone(), paths, batch: Vec::new(), held_back: false, costs: Costs::default() };
        planner.plan();
        planner
    }

    /// Records the observation of a run, whether or not this planner asked for it.
    pub fn observe(&mut self, seen: &Observation) {
        let Run { experiment, workload, pass, .. } = seen.run;
        self.costs.add(seen);
        let own = |path: &&mut ObservedPath| {
            (Some(path.experiment), Some(path.direction), path.cache)
                == (experiment, workload.rw.direction(), workload.cache)
        };
        if let Some(path) = self.paths.iter_mut().find(own) {
            path.learn(seen, self.costs.spent_ns);
        }
        let same =
            |Planned { run, .. }: &Planned| (run.workload, run.pass, run.repeat) == (workload, pass, seen.run.repeat);
        self.batch.retain(|planned| !same(planned));
        let slices = Slices::seen(seen).zip(workload.rw.direction());
        let changes = slices.is_some_and(|(slices, direction)| self.limit_in_slices(direction, slices));
        if self.batch.is_empty() || changes {
            self.plan();
        }
    }

    /// Makes the windows of a direction hold the slices of a limit; returns whether the limit is new.
    pub(crate) fn limit_in_slices(&mut self, direction: Direction, slices: Slices) -> bool {
        let mut is_new = false;
        for path in self.paths.iter_mut().filter(|path| path.direction == direction && path.cache.direct()) {
            is_new |= !path.is_in_slices();
            path.limit_in_slices(slices);
        }
        is_new
    }

    /// The plan with limits that the environment's levels advertise, valid from the start.
    pub(crate) fn within(mut self, environment: &Environment) -> Self {
        let least_bs = self.question.bs.first().copied().unwrap_or(Bytes(0));
        for direction in Direction::ALL {
            if let Some(slices) = Slices::advertised(environment, *direction, least_bs) {
                self.limit_in_slices(*direction, slices);
            }
        }
        self.plan();
        self
    }

    /// The next step.
    pub fn next(&self) -> Step {
        let spent_ns = self.costs.spent_ns;
        let fits = |planned: &&Planned| spent_ns == 0 || spent_ns + planned.expected_ns <= self.question.budget.0;
        match self.batch.iter().find(fits) {
            Some(planned) => Step::Run(planned.run),
            None if self.batch.is_empty() && !self.held_back => Step::Answered,
            None => Step::BudgetSpent,
        }
    }

    /// What a run of the present batch decides.
    pub(crate) fn decides(&self, run: &Run) -> Decides {
        let planned = self.batch.iter().find(|planned| planned.run == *run);
        planned.map_or(Decides::Leaders, |planned| planned.priority.decides())
    }

    /// Most time that the study will still take: the rest of the budget. A closer estimate would rise whenever noise
    /// required more runs.
    pub fn left(&self) -> Nanos {
        match self.next() {
            Step::Run(_) => Nanos(self.question.budget.0.saturating_sub(self.costs.spent_ns)),
            Step::Answered | Step::BudgetSpent => Nanos(0),
        }
    }

    /// Plans the next batch from all observations.
    fn plan(&mut self) {
        self.paths.iter_mut().for_each(ObservedPath::refresh);
        let expected = Expected::new(self);
        let mut candidates = candidates(&self.question, &self.paths, self.stage(&expected), self.costs.spent_ns);
        candidates.order_by(|one, other| {
            let by_chance = |want: &RunCandidate| self.chance(want);
            (one.priority.cmp(&other.priority))
                .then(one.rank.total_cmp(&other.rank))
                .then_with(|| by_chance(one).cmp(&by_chance(other)))
        });
        let mut taken = BTreeSet::new();
        candidates.retain(|want| taken.insert((want.cell, by_pass(want.pass), want.later)));
        let all = candidates.len();
        self.afford(&mut candidates, &expected);
        self.held_back = candidates.len() < all;
        let batch = self.select(&candidates);
        let planned = batch.into_iter().map(|want| {
            let run = self.paths[want.cell.0].run(&self.question, want.cell.1, want.pass, want.later);
            // A slow cell's window may be longer than all earlier ones.
            let expected_ns = expected.run_ns(&self.paths, want).max(run.runtime.0);
            Planned { run, expected_ns, priority: want.priority }
        });
        let mut batch: Vec<Planned> = planned.collect();
        // It ends where a row of small requests is to be measured for the second time.
        let due_ns =
            rows_due_ns(&self.question, &self.paths).map_or(u64::MAX, |ns| ns.saturating_sub(self.costs.spent_ns));
        let mut left_ns = (self.question.budget.0 as f64 * BATCH_SHARE).min(due_ns as f64);
        let held = batch.iter().take_while(|planned| {
            left_ns -= planned.expected_ns as f64;
            left_ns >= 0.0
        });
        batch.truncate(held.count().max(1));
        batch.order_by_key(|planned| planned.run.seed);
        self.batch = batch;
    }

    /// The chosen direct write cell; `None` until there is one.
    pub(crate) fn chosen_direct_write(&self) -> Option<(Experiment, Workload)> {
        let (path, cell) = confirmation::chosen_direct(&self.paths, Direction::Write)?;
        let run = self.paths[path].run(&self.question, cell, Pass::Plain, 0);
        Some((self.paths[path].experiment, run.workload))
    }

    /// The direct cells for which other ways of issuing are worth measuring: the fastest of each direction (in order where
    /// that is near the best), the smallest block that reaches half of the main one's rate, and the deepest smallest block.
    /// Empty until enough was measured.
    pub(crate) fn issuing_cells(&self) -> Vec<Workload> {
        let is_early = (self.costs.spent_ns as f64) < self.question.budget.0 as f64 * ISSUING_SHARE;
        if is_early && self.next() != Step::Answered {
            return Vec::new();
        }
        let mut cells: Vec<CellId> = Vec::new();
        for direction in Direction::ALL {
            let Some(peak) = confirmation::chosen_for_copies(&self.paths, *direction) else { continue };
            let is_chief = cells.is_empty();
            cells.push(peak);
            if is_chief {
                cells.extend(self.half_power_beside(peak));
                cells.extend(self.deepest_smallest(*direction));
            }
        }
        let mut workloads: Vec<Workload> = Vec::new();
        for (path, cell) in cells {
            let workload = self.paths[path].run(&self.question, cell, Pass::Plain, 0).workload;
            if !workloads.contains(&workload) {
                workloads.push(workload);
            }
        }
        workloads
    }

    /// The smallest block that reaches half of a cell's rate at the same depth.
    fn half_power_beside(&self, (number, peak): CellId) -> Option<CellId> {
        let path = &self.paths[number];
        let curve = half_power(path, peak / path.sizes.len())?;
        path.cells[curve.reached].sound().then_some((number, curve.reached))
    }

    /// The deepest cell of the smallest block; random if one was measured.
    fn deepest_smallest(&self, direction: Direction) -> Option<CellId> {
        let of_path = |(number, path): (usize, &ObservedPath)| {
            let cell = path.cell_at(path.depths.len() - 1, 0);
            let is_it = path.direction == direction && path.cache.direct() && path.cells[cell].sound();
            is_it.then_some((path.pattern, (number, cell)))
        };
        let found = self.paths.iter().enumerate().filter_map(of_path);
        found.max_by_key(|(pattern, _)| *pattern == Pattern::Random).map(|(_, cell)| cell)
    }

    /// The limit in slices on direct requests of a direction, if known.
    pub(crate) fn slices(&self, direction: Direction) -> Option<Slices> {
        let mut direct = self.paths.iter().filter(|path| path.direction == direction && path.cache.direct());
        direct.find_map(ObservedPath::slices)
    }

    /// Charges the time of other runs to the walks' budget.
    pub(crate) fn charge(&mut self, spent: Nanos) {
        self.costs.spent_ns += spent.0;
    }

    /// The fastest cell of each direction so far with the window of its runs; empty until enough was measured.
    pub(crate) fn peaks(&self) -> Vec<(Experiment, Workload, Nanos)> {
        if (self.costs.spent_ns as f64) < self.question.budget.0 as f64 * PEAK_SHARE {
            return Vec::new();
        }
        let of_direction = |direction: &Direction| {
            let (path, cell) = confirmation::direct_peak(&self.paths, *direction)?;
            let run = self.paths[path].run(&self.question, cell, Pass::Plain, 0);
            Some((self.paths[path].experiment, run.workload, run.runtime))
        };
        Direction::ALL.iter().filter_map(of_direction).collect()
    }

    /// The present stage. Confirming begins at a share of the budget, or sooner if runs are so long that the rest of
    /// the budget holds little more than the fewest runs of the peaks.
    fn stage(&self, expected: &Expected) -> Stage {
        let Nanos(budget_ns) = self.question.budget;
        let spent = self.costs.spent_ns as f64 / budget_ns as f64;
        let left_ns = budget_ns.saturating_sub(self.costs.spent_ns) as f64;
        match spent {
            _ if spent >= CONFIRMING_SHARE => Stage::Confirming,
            _ if spent < CHOOSING_SHARE => Stage::Looking,
            _ if left_ns < RESERVE * expected.peaks_ns(&self.paths) as f64 => Stage::Confirming,
            _ => Stage::Choosing,
        }
    }

    /// A pseudorandom number that orders equally urgent runs, so that no block size always goes first.
    fn chance(&self, want: &RunCandidate) -> u64 {
        let number = ((want.cell.0 as u64) << 40) | ((want.cell.1 as u64) << 8) | u64::from(want.later);
        mixed(self.question.seed ^ mixed(number))
    }

    /// Drops exploring runs for which measured cells would have to give up runs that they still need.
    fn afford(&self, candidates: &mut Vec<RunCandidate>, expected: &Expected) {
        let remaining_ns = self.question.budget.0.saturating_sub(self.costs.spent_ns);
        let owed = candidates.iter().filter(|want| matches!(want.priority, Priority::Repeat | Priority::Soaker));
        let owed_ns: u64 = owed.map(|want| expected.run_ns(&self.paths, want)).sum();
        let looking_ns: u64 = candidates
            .iter()
            .filter(|want| want.priority == Priority::Explore)
            .map(|want| expected.run_ns(&self.paths, want))
            .sum();
        let few = looking_ns as f64 <= self.question.budget.0 as f64 * FEW_SHARE;
        let early = (self.costs.spent_ns as f64) < self.question.budget.0 as f64 * EXPLORING_SHARE;
        candidates.retain(|want| {
            let runs_ns = u64::from(self.question.repeats) * expected.run_ns(&self.paths, want);
            let held = remaining_ns >= owed_ns + runs_ns;
            match want.priority {
                Priority::Explore => early || held || few,
                Priority::Complete => held,
                _ => true,
            }
        });
    }

    /// The most urgent runs of one direction; if both are equally urgent, of the one with less time so far.
    fn select<'a>(&self, candidates: &'a [RunCandidate]) -> Vec<&'a RunCandidate> {
        let Some(first) = candidates.first() else { return Vec::new() };
        let direction = |want: &RunCandidate| self.paths[want.cell.0].direction;
        let urgent = candidates.iter().filter(|want| want.priority == first.priority).map(direction);
        let chosen = urgent.min_by_key(|way| (self.costs.directions[*way as usize], *way)).expect("there is a first");
        let own = candidates.iter().filter(|want| direction(want) == chosen);
        // The result of a look decides the windows of all later runs, and a row that is due does not wait for others.
        let (most, filled) = match first.priority {
            Priority::Look => (1, 0),
            Priority::RowFirst | Priority::RowAgain => (BATCH, 0),
            _ => (BATCH, FILLED_BATCH),
        };
        let filling = own.enumerate().take(most);
        filling.take_while(|(at, want)| *at < filled || want.priority == first.priority).map(|(_, want)| want).collect()
    }
}

/// A run of the batch, its expected time, and how urgent it was.
#[derive(Debug, Clone, Copy)]
struct Planned {
    run: Run,
    expected_ns: u64,
    priority: Priority,
}

impl Costs {
    fn add(&mut self, seen: &Observation) {
        self.spent_ns += seen.spent_ns;
        let of_pass = &mut self.runs[by_pass(seen.run.pass)];
        *of_pass = (of_pass.0 + seen.spent_ns, of_pass.1 + 1);
        if let Some(direction) = seen.run.workload.rw.direction() {
            self.directions[direction as usize] += seen.spent_ns;
        }
    }
}

/// Expected times of runs, from the runs so far.
struct Expected {
    /// Time of a plain run of each path.
    paths_ns: Vec<u64>,
    soaker_ns: u64,
}

impl Expected {
    fn new(planner: &Planner) -> Self {
        let window_ns = runtime(&planner.question).0;
        let mean = |(ns, runs): (u64, u64)| ns.checked_div(runs);
        let [plain, soaker, _] = planner.costs.runs.map(mean);
        let of_path = |path: &ObservedPath| path.run_ns().or(plain).unwrap_or(window_ns);
        let unseen_ns = (plain.unwrap_or(window_ns) as f64 * SOAKER_LENGTH) as u64;
        Self { paths_ns: planner.paths.iter().map(of_path).collect(), soaker_ns: soaker.unwrap_or(unseen_ns) }
    }

    fn run_ns(&self, paths: &[ObservedPath], want: &RunCandidate) -> u64 {
        match want.pass {
            Pass::Soaker => self.soaker_ns,
            Pass::Plain | Pass::Traced | Pass::Confirm => self.plain_ns(paths, want.cell),
        }
    }

    fn plain_ns(&self, paths: &[ObservedPath], (path, cell): CellId) -> u64 {
        paths[path].cells[cell].run_ns().unwrap_or(self.paths_ns[path])
    }

    /// Time of the fewest runs that confirm the peaks.
    fn peaks_ns(&self, paths: &[ObservedPath]) -> u64 {
        let peaks = confirmation::chosen_peaks(paths);
        peaks.into_iter().map(|cell| u64::from(confirmation::LEAST_RUNS) * self.plain_ns(paths, cell)).sum()
    }
}
