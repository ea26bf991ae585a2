//! What is to be measured next? A pure function from the question and what was seen so far to the next run.
//!
//! The planner holds an estimate with its deviation for every cell (`belief`), asks which runs would sharpen the
//! answer (`wants`), and takes the most urgent of one direction together as a batch, in an order that the study's
//! seed decides: reads and writes in blocks, so that what a device remembers of writes does not leak into reads,
//! and all else interleaved, so that no drift passes for an effect.

use std::collections::BTreeSet;

use record::Record;
use spec::{Direction, Nanos, Pass, Question, Run};

use crate::known::{KnownPath, by_pass};
use crate::order::mixed;
use crate::wants::{Tier, Want, wants};
use crate::window::runtime;

/// Most runs of a batch, and the number up to which less urgent ones fill it.
const BATCH: usize = 16;
const FILLED_BATCH: usize = 8;
/// The share of the budget that may go into looking further before what was seen is repeated.
const EXPLORING_SHARE: f64 = 0.6;
/// The share that may at any time: where noise has moved half power, its new sides are seen at least once.
const FEW_SHARE: f64 = 0.05;
/// How much longer than a plain run one beside the soaker is taken to be, until one was seen.
const SOAKER_LENGTH: f64 = 1.5;

/// What the planner keeps of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// What was asked.
    pub run: Run,
    /// What it gave, in MB/s, as the analysis counts it: without a trimmed start; 0 where nothing moved.
    pub mbps: f64,
    /// Charged processor time a byte, in nanoseconds.
    pub charged_ns_per_byte: f64,
    /// What the soaker lost a byte, in nanoseconds; `None` where it did not run.
    pub soaker_ns_per_byte: Option<f64>,
    /// Whether a request failed, so that no conclusion rests on it.
    pub failed: bool,
    /// Whether it read what the page cache held when it began, so that it is no advice.
    pub cached: bool,
    /// What it took of the budget.
    pub spent_ns: u64,
}

/// Share of its span in the page cache above which a buffered read has measured memory (as in the analysis).
const CACHED_SHARE: f64 = 0.1;

impl From<&Record> for Observation {
    fn from(record: &Record) -> Self {
        let workload = record.run.workload;
        let bytes = (record.cpu.ios.max(1) * workload.bs.0) as f64;
        let reads_cache = !workload.cache.direct() && workload.rw.direction() == Some(Direction::Read);
        let held = record.cached_bytes.map_or(0.0, |bytes| bytes as f64 / record.span_bytes.max(1) as f64);
        Self {
            run: record.run,
            mbps: analyse::run_mbps(record),
            charged_ns_per_byte: record.cpu.charged_ns() as f64 / bytes,
            soaker_ns_per_byte: record.cpu.soaker.as_ref().map(|soaker| soaker.lost_ns as f64 / bytes),
            failed: !record.errors.is_empty(),
            cached: reads_cache && held > CACHED_SHARE,
            spent_ns: record.spent_ns,
        }
    }
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// This run.
    Run(Run),
    /// Nothing: all that decides is sharp, and every cell shown has the runs that it should.
    Answered,
    /// Nothing: the budget does not hold another run.
    BudgetSpent,
}

/// The next run of a study about `question`, after `seen` in the order in which it was seen.
///
/// It works through all of `seen`; whoever asks again and again keeps a [`Planner`].
pub fn next(question: &Question, seen: &[Observation]) -> Step {
    after(question, seen).next()
}

/// How long the study will still take, as [`Planner::left`] says it.
pub fn left(question: &Question, seen: &[Observation]) -> Nanos {
    after(question, seen).left()
}

fn after(question: &Question, seen: &[Observation]) -> Planner {
    let mut planner = Planner::new(question);
    seen.iter().for_each(|observation| planner.observe(observation));
    planner
}

/// A study's plan as far as it goes: told what was seen, it says what comes next.
///
/// The same observations in the same order always lead to the same next run, whenever it was asked for.
#[derive(Debug, Clone)]
pub struct Planner {
    question: Question,
    paths: Vec<KnownPath>,
    /// The rest of the batch, the next run first.
    batch: Vec<Planned>,
    /// Whether runs were left out because the budget does not hold them.
    held_back: bool,
    costs: Costs,
    /// What all that is wanted was expected to take when the batch was planned, and what was spent by then.
    outstanding: (u64, u64),
}

/// What runs have taken of the budget so far.
#[derive(Debug, Clone, Default)]
struct Costs {
    spent_ns: u64,
    /// Time and number of runs, by pass.
    runs: [(u64, u64); 2],
    /// Time by direction: what keeps reads and writes balanced.
    directions: [u64; 2],
}

impl Planner {
    /// The plan of a study of which nothing was measured yet.
    pub fn new(question: &Question) -> Self {
        let paths = KnownPath::all(question);
        let mut planner = Self {
            question: question.clone(),
            paths,
            batch: Vec::new(),
            held_back: false,
            costs: Costs::default(),
            outstanding: (question.budget.0, 0),
        };
        planner.plan();
        planner
    }

    /// Takes in what was seen of a run, whoever asked for it.
    pub fn observe(&mut self, seen: &Observation) {
        let Run { experiment, workload, pass, .. } = seen.run;
        self.costs.add(seen);
        let own = |path: &&mut KnownPath| {
            (Some(path.experiment), Some(path.direction), path.cache)
                == (experiment, workload.rw.direction(), workload.cache)
        };
        if let Some(path) = self.paths.iter_mut().find(own) {
            path.learn(seen);
        }
        let same =
            |Planned { run, .. }: &Planned| (run.workload, run.pass, run.repeat) == (workload, pass, seen.run.repeat);
        self.batch.retain(|planned| !same(planned));
        if self.batch.is_empty() {
            self.plan();
        }
    }

    /// What comes next.
    pub fn next(&self) -> Step {
        let spent_ns = self.costs.spent_ns;
        let fits = |planned: &&Planned| spent_ns == 0 || spent_ns + planned.expected_ns <= self.question.budget.0;
        match self.batch.iter().find(fits) {
            Some(planned) => Step::Run(planned.run),
            None if self.batch.is_empty() && !self.held_back => Step::Answered,
            None => Step::BudgetSpent,
        }
    }

    /// How long the study will still take, as far as can be told: what is wanted by now, or what is left of the
    /// budget where that is less.
    pub fn left(&self) -> Nanos {
        let budget = self.question.budget.0.saturating_sub(self.costs.spent_ns);
        let (wanted, by_then) = self.outstanding;
        match self.next() {
            Step::Run(_) => Nanos(budget.min((wanted + by_then).saturating_sub(self.costs.spent_ns))),
            Step::Answered | Step::BudgetSpent => Nanos(0),
        }
    }

    /// Plans the next batch from all that is known.
    fn plan(&mut self) {
        self.paths.iter_mut().for_each(KnownPath::refresh);
        let expected = Expected::new(self);
        let mut wants = wants(&self.question, &self.paths);
        wants.sort_by(|one, other| {
            let by_chance = |want: &Want| self.chance(want);
            (one.tier.cmp(&other.tier))
                .then(one.rank.total_cmp(&other.rank))
                .then_with(|| by_chance(one).cmp(&by_chance(other)))
        });
        let mut taken = BTreeSet::new();
        wants.retain(|want| taken.insert((want.name, by_pass(want.pass), want.later)));
        let all = wants.len();
        self.afford(&mut wants, &expected);
        self.held_back = wants.len() < all;
        let batch = self.select(&wants);
        let planned = batch.into_iter().map(|want| {
            let run = self.paths[want.name.0].run(&self.question, want.name.1, want.pass, want.later);
            // A slow cell's window may be longer than all before it.
            Planned { run, expected_ns: expected.run_ns(&self.paths, want).max(run.runtime.0) }
        });
        let mut batch: Vec<Planned> = planned.collect();
        batch.sort_by_key(|planned| planned.run.seed);
        self.outstanding = (self.outlook_ns(&wants, &expected), self.costs.spent_ns);
        self.batch = batch;
    }

    /// A number that orders equally urgent runs as if by chance, so that no block size always goes first.
    fn chance(&self, want: &Want) -> u64 {
        let place = ((want.name.0 as u64) << 40) | ((want.name.1 as u64) << 8) | u64::from(want.later);
        mixed(self.question.seed ^ mixed(place))
    }

    /// Leaves out what looks further when that would cost cells already seen the runs that they are owed.
    fn afford(&self, wants: &mut Vec<Want>, expected: &Expected) {
        let remaining_ns = self.question.budget.0.saturating_sub(self.costs.spent_ns);
        let owed = wants.iter().filter(|want| matches!(want.tier, Tier::Repeat | Tier::Soaker));
        let owed_ns: u64 = owed.map(|want| expected.run_ns(&self.paths, want)).sum();
        let looking_ns: u64 =
            wants.iter().filter(|want| want.tier == Tier::Explore).map(|want| expected.run_ns(&self.paths, want)).sum();
        let few = looking_ns as f64 <= self.question.budget.0 as f64 * FEW_SHARE;
        let early = (self.costs.spent_ns as f64) < self.question.budget.0 as f64 * EXPLORING_SHARE;
        wants.retain(|want| {
            let runs_ns = u64::from(self.question.repeats) * expected.run_ns(&self.paths, want);
            let held = remaining_ns >= owed_ns + runs_ns;
            match want.tier {
                Tier::Explore => early || held || few,
                Tier::Complete => held,
                _ => true,
            }
        });
    }

    /// The most urgent runs of one direction: where both are as urgent, of the one that had less time so far.
    fn select<'a>(&self, wants: &'a [Want]) -> Vec<&'a Want> {
        let Some(first) = wants.first() else { return Vec::new() };
        let direction = |want: &Want| self.paths[want.name.0].direction;
        let urgent = wants.iter().filter(|want| want.tier == first.tier).map(direction);
        let chosen = urgent.min_by_key(|way| (self.costs.directions[*way as usize], *way)).expect("there is a first");
        let own = wants.iter().filter(|want| direction(want) == chosen);
        let filling = own.enumerate().take(BATCH);
        filling.take_while(|(at, want)| *at < FILLED_BATCH || want.tier == first.tier).map(|(_, want)| want).collect()
    }

    /// What all that is wanted will take: a cell that is looked into will be owed repeats.
    fn outlook_ns(&self, wants: &[Want], expected: &Expected) -> u64 {
        let ns = |want: &Want| {
            let looks = matches!(want.tier, Tier::Seed | Tier::Explore | Tier::Complete);
            expected.run_ns(&self.paths, want) * if looks { u64::from(self.question.repeats) } else { 1 }
        };
        wants.iter().map(ns).sum()
    }
}

/// A run of the batch, and what it is expected to take.
#[derive(Debug, Clone, Copy)]
struct Planned {
    run: Run,
    expected_ns: u64,
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

/// What a run is expected to take, from the runs so far.
struct Expected {
    /// A plain run of each path.
    paths_ns: Vec<u64>,
    soaker_ns: u64,
}

impl Expected {
    fn new(planner: &Planner) -> Self {
        let window_ns = runtime(&planner.question).0;
        let mean = |(ns, runs): (u64, u64)| ns.checked_div(runs);
        let [plain, soaker] = planner.costs.runs.map(mean);
        let of_path = |path: &KnownPath| path.run_ns().or(plain).unwrap_or(window_ns);
        let unseen_ns = (plain.unwrap_or(window_ns) as f64 * SOAKER_LENGTH) as u64;
        Self { paths_ns: planner.paths.iter().map(of_path).collect(), soaker_ns: soaker.unwrap_or(unseen_ns) }
    }

    fn run_ns(&self, paths: &[KnownPath], want: &Want) -> u64 {
        match want.pass {
            Pass::Soaker => self.soaker_ns,
            Pass::Plain | Pass::Traced => {
                paths[want.name.0].cells[want.name.1].run_ns().unwrap_or(self.paths_ns[want.name.0])
            }
        }
    }
}
