//! What is to be measured next? A pure function from the question and what was seen so far to the next run.
//!
//! A coarse grid over every path first, then the cells that the answer hangs on (between the half-power bracket,
//! around the peak, next to the advised cell), then the soaker's pass, then repeats, then what is left of the
//! grid. Within an urgency the order is shuffled by the study's seed, reads and writes in blocks, so that what a
//! device remembers of writes does not leak into reads.

use std::collections::{BTreeMap, BTreeSet};

use record::Record;
use spec::{Bytes, Cache, Direction, Experiment, Nanos, Pass, Question, Run, Rw, Workload};

use crate::order::seeded;

/// Runs that a deciding cell gets: the peak, the half-power bracket, the advised cell.
const DECIDING_REPEATS: u32 = 5;
/// The part of the budget that windows are planned to fill; the rest is preparation.
const WINDOW_SHARE: f64 = 0.8;
/// Shortest and longest window planned, in nanoseconds.
const WINDOW_NS: (f64, f64) = (50e6, 5e9);
/// A cell this close to the best is as good as the best.
const AS_GOOD: f64 = 0.95;

/// What the planner keeps of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// What was asked.
    pub run: Run,
    /// What it gave, in MB/s.
    pub mbps: f64,
    /// Charged processor time a byte, in nanoseconds.
    pub charged_ns_per_byte: f64,
    /// What it took of the budget.
    pub spent_ns: u64,
}

impl From<&Record> for Observation {
    fn from(record: &Record) -> Self {
        Self {
            run: record.run,
            mbps: record.mbps(),
            charged_ns_per_byte: record.cpu.charged_ns() as f64
                / (record.cpu.ios.max(1) * record.run.workload.bs.0) as f64,
            spent_ns: record.spent_ns,
        }
    }
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// This run.
    Run(Run),
    /// Nothing: every cell has been measured as often as it is worth.
    Answered,
    /// Nothing: the budget does not hold another run.
    BudgetSpent,
}

/// The next run of a study about `question`, after `seen`.
pub fn next(question: &Question, seen: &[Observation]) -> Step {
    let plan = Plan::new(question, seen);
    let Some(run) = plan.most_urgent() else {
        return Step::Answered;
    };
    let spent_ns: u64 = seen.iter().map(|observation| observation.spent_ns).sum();
    let overhead_ns = match seen.len() as u64 {
        0 => 0,
        runs => spent_ns.saturating_sub(runs * plan.runtime.0) / runs,
    };
    if !seen.is_empty() && spent_ns + run.runtime.0 + overhead_ns > question.budget.0 {
        return Step::BudgetSpent;
    }
    Step::Run(run)
}

/// A pattern, a direction and a cache setting: what shares a peak.
type Path = (Experiment, Direction, Cache);

/// One path's cells so far, by depth and block size.
type Grid = BTreeMap<(u32, Bytes), Cell>;

/// A cell so far.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    runs: u32,
    mbps_sum: f64,
    charged_sum: f64,
}

impl Cell {
    fn mbps(self) -> f64 {
        self.mbps_sum / f64::from(self.runs.max(1))
    }

    fn charged(self) -> f64 {
        self.charged_sum / f64::from(self.runs.max(1))
    }
}

struct Plan<'a> {
    question: &'a Question,
    runtime: Nanos,
    plain: BTreeMap<Path, Grid>,
    soaked: BTreeMap<Path, BTreeSet<Workload>>,
}

impl<'a> Plan<'a> {
    fn new(question: &'a Question, seen: &[Observation]) -> Self {
        let mut plan = Self { question, runtime: runtime(question), plain: BTreeMap::new(), soaked: BTreeMap::new() };
        for path in plan.paths() {
            plan.plain.insert(path, Grid::new());
        }
        seen.iter().for_each(|observation| plan.learn(observation));
        plan
    }

    fn learn(&mut self, observation: &Observation) {
        let Run { experiment, workload, pass, .. } = observation.run;
        let (Some(experiment), Some(direction)) = (experiment, workload.rw.direction()) else {
            return;
        };
        let path = (experiment, direction, workload.cache);
        if pass == Pass::Soaker {
            self.soaked.entry(path).or_default().insert(workload);
            return;
        }
        let cell = self.plain.entry(path).or_default().entry((workload.iodepth, workload.bs)).or_default();
        cell.runs += 1;
        cell.mbps_sum += observation.mbps;
        cell.charged_sum += observation.charged_ns_per_byte;
    }

    fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        for experiment in &self.question.experiments {
            for direction in &self.question.directions {
                paths.extend(self.question.cache.iter().map(|cache| (*experiment, *direction, *cache)));
            }
        }
        paths
    }

    /// The most urgent run that has not been made.
    fn most_urgent(&self) -> Option<Run> {
        let repeats = self.question.repeats;
        let once = |cells: fn(&Self, &Path) -> Vec<(u32, Bytes)>| self.wanted(cells, 1);
        once(Self::coarse)
            .or_else(|| once(Self::refined))
            .or_else(|| self.soaker_pass())
            .or_else(|| self.wanted(Self::measured, repeats))
            .or_else(|| self.wanted(Self::deciding, repeats.max(DECIDING_REPEATS.min(repeats + 2))))
            .or_else(|| once(Self::everything))
            .or_else(|| self.wanted(Self::everything, repeats))
    }

    /// The next run towards `runs` runs of each of these cells, the least measured first.
    fn wanted(&self, cells: impl Fn(&Self, &Path) -> Vec<(u32, Bytes)>, runs: u32) -> Option<Run> {
        let mut candidates = Vec::new();
        for (path, grid) in &self.plain {
            for key in cells(self, path) {
                let done = grid.get(&key).map_or(0, |cell| cell.runs);
                if done < runs {
                    candidates.push(self.run(path, key, Pass::Plain, done));
                }
            }
        }
        candidates.into_iter().min_by_key(|run| (run.repeat, run.workload.rw.direction(), run.seed))
    }

    fn run(&self, path: &Path, (iodepth, bs): (u32, Bytes), pass: Pass, repeat: u32) -> Run {
        let (experiment, direction, cache) = *path;
        let workload = Workload {
            rw: Rw::of(experiment.pattern(), direction),
            bs,
            iodepth,
            threads: self.question.threads,
            cache,
            engine: self.question.engine,
            ..Workload::default()
        };
        Run {
            experiment: Some(experiment),
            workload,
            repeat,
            pass,
            runtime: self.runtime,
            seed: seeded(self.question.seed, &workload, pass, repeat),
        }
    }

    /// Every second block size, at the least, the middle and the greatest depth; where the page cache decides
    /// (it keeps its own depth), three sizes at two depths.
    fn coarse(&self, path: &Path) -> Vec<(u32, Bytes)> {
        coarse(self.question, path.2)
    }

    /// Cells that were not measured and stand next to what decides.
    fn refined(&self, path: &Path) -> Vec<(u32, Bytes)> {
        let grid = &self.plain[path];
        let mut cells = Vec::new();
        let depths: BTreeSet<u32> = grid.keys().map(|(depth, _)| *depth).collect();
        for depth in depths {
            cells.extend(self.inside_bracket(grid, depth).map(|bs| (depth, bs)));
        }
        for (depth, bs) in [peak(grid), advised(grid)].into_iter().flatten() {
            cells.extend(neighbours(&self.question.bs, bs).map(|near| (depth, near)));
            cells.extend(neighbours(&self.question.iodepth, depth).map(|near| (near, bs)));
        }
        cells.retain(|key| !grid.contains_key(key));
        cells
    }

    /// The block size in the middle of what is not measured between the two sides of half power.
    fn inside_bracket(&self, grid: &Grid, depth: u32) -> Option<Bytes> {
        let (below, reached) = bracket(grid, depth)?;
        let inside: Vec<Bytes> = self.question.bs.iter().copied().filter(|bs| *bs > below && *bs < reached).collect();
        inside.get(inside.len() / 2).copied()
    }

    /// Smallest, middle and largest block size at the depth of each path's peak, beside the soaker.
    fn soaker_pass(&self) -> Option<Run> {
        let mut candidates = Vec::new();
        for (path, grid) in &self.plain {
            let Some((depth, _)) = peak(grid) else {
                continue;
            };
            let sizes = spread(&self.question.bs, 3);
            // Once it has its sizes, a path's peak may move on without another pass.
            if self.soaked.get(path).is_some_and(|done| done.len() >= sizes.len()) {
                continue;
            }
            candidates.extend(sizes.into_iter().map(|bs| self.run(path, (depth, bs), Pass::Soaker, 0)));
        }
        candidates.retain(|run| !self.soaked.values().any(|done| done.contains(&run.workload)));
        candidates.into_iter().min_by_key(|run| (run.workload.rw.direction(), run.seed))
    }

    fn measured(&self, path: &Path) -> Vec<(u32, Bytes)> {
        self.plain[path].keys().copied().collect()
    }

    fn everything(&self, path: &Path) -> Vec<(u32, Bytes)> {
        let _ = path;
        let depths = self.question.iodepth.iter();
        depths.flat_map(|depth| self.question.bs.iter().map(|bs| (*depth, *bs))).collect()
    }

    /// The peak, the advised cell and both sides of half power at their depths.
    fn deciding(&self, path: &Path) -> Vec<(u32, Bytes)> {
        let grid = &self.plain[path];
        let mut cells: Vec<(u32, Bytes)> = [peak(grid), advised(grid)].into_iter().flatten().collect();
        for depth in cells.iter().map(|(depth, _)| *depth).collect::<BTreeSet<_>>() {
            let sides = bracket(grid, depth).into_iter().flat_map(|(below, reached)| [below, reached]);
            cells.extend(sides.map(|bs| (depth, bs)));
        }
        cells
    }
}

fn coarse(question: &Question, cache: Cache) -> Vec<(u32, Bytes)> {
    let (depths, sizes) = if cache.direct() {
        (spread(&question.iodepth, 3), spread(&question.bs, question.bs.len().div_ceil(2)))
    } else {
        (spread(&question.iodepth, 3).into_iter().take(2).collect(), spread(&question.bs, 3))
    };
    depths.iter().flat_map(|depth| sizes.iter().map(|bs| (*depth, *bs))).collect()
}

/// `count` values of an axis from its first to its last, evenly.
fn spread<T: Copy + PartialEq>(axis: &[T], count: usize) -> Vec<T> {
    let (count, last) = (count.min(axis.len()), axis.len() - 1);
    let mut values: Vec<T> = (0..count).map(|index| axis[index * last / (count - 1).max(1)]).collect();
    values.dedup();
    values
}

/// The values next to `value` on an axis.
fn neighbours<T: Copy + PartialEq>(axis: &[T], value: T) -> impl Iterator<Item = T> + '_ {
    let at = axis.iter().position(|other| *other == value);
    let sides = at.into_iter().flat_map(|at| [at.checked_sub(1), Some(at + 1)]).flatten();
    sides.filter_map(|at| axis.get(at).copied())
}

fn peak(grid: &Grid) -> Option<(u32, Bytes)> {
    grid.iter().max_by(|a, b| a.1.mbps().total_cmp(&b.1.mbps())).map(|(key, _)| *key)
}

/// The cell that costs the processor least a byte, of those as good as the best.
fn advised(grid: &Grid) -> Option<(u32, Bytes)> {
    let best = grid.get(&peak(grid)?)?.mbps();
    let good = grid.iter().filter(|(_, cell)| cell.mbps() >= AS_GOOD * best);
    good.min_by(|a, b| a.1.charged().total_cmp(&b.1.charged())).map(|(key, _)| *key)
}

/// Of the block sizes measured at a depth, the smallest that reaches half of the peak there, and the one before.
fn bracket(grid: &Grid, depth: u32) -> Option<(Bytes, Bytes)> {
    let curve: Vec<(Bytes, f64)> =
        grid.iter().filter(|((other, _), _)| *other == depth).map(|((_, bs), cell)| (*bs, cell.mbps())).collect();
    let half = curve.iter().map(|(_, mbps)| *mbps).fold(0.0, f64::max) / 2.0;
    let reached = curve.iter().position(|(_, mbps)| *mbps >= half)?;
    let below = reached.checked_sub(1)?;
    Some((curve[below].0, curve[reached].0))
}

/// The window that lets the planned runs fill the budget.
fn runtime(question: &Question) -> Nanos {
    let paths_a_cache = (question.experiments.len() * question.directions.len()) as f64;
    let repeats = f64::from(question.repeats);
    let runs: f64 = question
        .cache
        .iter()
        .map(|cache| {
            // Refinement finds about six more cells a path; the soaker's pass and the deciding cells add theirs.
            let cells = coarse(question, *cache).len() as f64 + 6.0;
            paths_a_cache * (cells * repeats + 3.0 + 8.0)
        })
        .sum();
    let ns = (question.budget.0 as f64 * WINDOW_SHARE / runs.max(1.0)).clamp(WINDOW_NS.0, WINDOW_NS.1);
    Nanos((ns / 1e6).round() as u64 * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk of fixed cost and rate with a ceiling, in MB/s for a depth and block size.
    fn disk(depth: u32, bs: Bytes) -> f64 {
        let us = 100.0 + bs.0 as f64 / 500.0;
        (f64::from(depth.min(4)) * bs.0 as f64 / us).min(1200.0)
    }

    fn observe(run: Run) -> Observation {
        let Workload { iodepth, bs, .. } = run.workload;
        Observation {
            run,
            mbps: disk(iodepth, bs),
            charged_ns_per_byte: 5000.0 / bs.0 as f64 + 0.05,
            spent_ns: run.runtime.0 + 5_000_000,
        }
    }

    fn play(question: &Question) -> (Vec<Observation>, Step) {
        let mut seen = Vec::new();
        loop {
            match next(question, &seen) {
                Step::Run(run) => seen.push(observe(run)),
                end => return (seen, end),
            }
        }
    }

    #[test]
    fn the_default_study_fills_its_budget_and_no_more() {
        let question = Question::about("x");
        let (seen, end) = play(&question);
        let spent: u64 = seen.iter().map(|observation| observation.spent_ns).sum();
        assert_eq!(end, Step::BudgetSpent);
        assert!(spent <= question.budget.0 && spent > question.budget.0 * 9 / 10, "{spent}");
    }

    #[test]
    fn no_run_is_made_twice_and_the_order_is_the_seeds() {
        let question = Question::about("x");
        let (seen, _) = play(&question);
        let keys: BTreeSet<_> = seen.iter().map(|o| (o.run.workload.to_string(), o.run.pass, o.run.repeat)).collect();
        assert_eq!(keys.len(), seen.len());
        assert_eq!(play(&question).0, seen);
        let other = Question { seed: 2, ..question };
        assert_ne!(play(&other).0[..20], seen[..20]);
    }

    #[test]
    fn a_study_taken_up_again_goes_on_as_it_would_have() {
        let question = Question::about("x");
        let (seen, _) = play(&question);
        for cut in [0, 1, 17, seen.len() / 2, seen.len() - 1] {
            assert_eq!(next(&question, &seen[..cut]), Step::Run(seen[cut].run));
        }
    }

    #[test]
    fn peak_and_half_power_are_bracketed_by_measured_neighbours() {
        let question = Question { cache: vec![Cache::Device], ..Question::about("x") };
        let (seen, _) = play(&question);
        let measured: BTreeSet<(u32, Bytes)> = seen
            .iter()
            .filter(|o| o.run.workload.rw == Rw::Read && o.run.pass == Pass::Plain)
            .map(|o| (o.run.workload.iodepth, o.run.workload.bs))
            .collect();
        // At depth 1 the peak is at 1 MiB; half of it is first reached at 64 KiB, and 32 KiB stays below.
        let peak = disk(1, Bytes(1 << 20));
        assert!(disk(1, Bytes(1 << 15)) < peak / 2.0 && disk(1, Bytes(1 << 16)) >= peak / 2.0);
        assert!(measured.contains(&(1, Bytes(1 << 15))) && measured.contains(&(1, Bytes(1 << 16))));
    }

    #[test]
    fn deciding_cells_are_measured_more_often() {
        let question = Question { budget: Nanos(600_000_000_000), ..Question::about("x") };
        let (seen, _) = play(&question);
        let peak_runs = seen.iter().filter(|o| o.run.workload.rw == Rw::Read && o.mbps == 1200.0);
        let repeats = peak_runs.map(|o| o.run.repeat + 1).max();
        assert_eq!(repeats, Some(DECIDING_REPEATS));
        assert!(seen.iter().any(|o| o.run.pass == Pass::Soaker));
    }

    #[test]
    fn a_question_of_one_cell_is_answered() {
        let question = Question {
            experiments: vec![Experiment::Random],
            directions: vec![Direction::Read],
            bs: vec![Bytes(4096)],
            iodepth: vec![1],
            cache: vec![Cache::Device],
            ..Question::about("x")
        };
        let (seen, end) = play(&question);
        assert_eq!(end, Step::Answered);
        assert_eq!(seen.iter().filter(|o| o.run.pass == Pass::Plain).count(), DECIDING_REPEATS as usize);
    }

    #[test]
    fn reads_come_before_writes_in_each_block() {
        let (seen, _) = play(&Question::about("x"));
        let turns =
            seen.windows(2).filter(|pair| pair[0].run.workload.rw.direction() != pair[1].run.workload.rw.direction());
        assert!(turns.count() < seen.len() / 4);
    }
}
