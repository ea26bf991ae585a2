//! What is known of a path so far? Observations enter; means with their spread, and an estimate for every cell, leave.

use std::sync::OnceLock;

use analyse::t95;
use spec::{Bytes, Cache, Direction, Experiment, Pass, Pattern, Question, Run, Rw, Workload};

use crate::belief::{Estimate, Known, Place, Prior};
use crate::order::seeded;
use crate::planner::Observation;
use crate::window::runtime_for;

/// Spread from run to run that is taken for granted before a path has shown its own.
const USUAL_SPREAD: f64 = 0.03;
/// Cells with a spread of their own that make a path's.
const CELLS_FOR_SPREAD: usize = 4;
/// Least spread: no cell is known better than that from one run.
const LEAST_SPREAD: f64 = 0.002;
/// Runs that the path's spread counts for beside a cell's own.
const BORROWED: f64 = 3.0;
/// By how much predictions may be found too sure of themselves, or too careful.
const SURPRISE: (f64, f64) = (0.4, 3.0);
/// Runs without a byte after which a cell is given up.
const EMPTY_RUNS: u32 = 2;
/// Cells of a block size or a depth that have to fail before the others are taken to.
const FAILURES: usize = 2;
/// Degrees of freedom above which t is as good as the last.
const MOST_QUANTILES: usize = 60;
/// Rates climb with block size and depth, until they do not.
const RATE: Prior =
    Prior { slope: (0.35, 0.35), slope_deviation: (0.35, 0.35), roughness: (0.7, 0.4), depth_scale: 1.0 };
/// The page cache keeps its own depth.
const BUFFERED_RATE: Prior =
    Prior { slope: (0.2, 0.0), slope_deviation: (0.3, 0.1), roughness: (0.5, 0.2), depth_scale: 0.3 };
/// The cost of a byte falls with block size, as the fixed part is shared by more.
const COST: Prior =
    Prior { slope: (-0.35, 0.0), slope_deviation: (0.35, 0.1), roughness: (0.4, 0.2), depth_scale: 0.5 };

/// Means and squares of repeated values (B. Welford, 1962).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sample {
    pub count: u32,
    pub mean: f64,
    squares: f64,
}

impl Sample {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / f64::from(self.count);
        self.squares += off * (value - self.mean);
    }

    /// Relative variance from run to run; 0 for fewer than two runs.
    fn variance(&self) -> f64 {
        if self.count < 2 { 0.0 } else { self.squares / f64::from(self.count - 1) / (self.mean * self.mean) }
    }

    /// Half of the relative t interval that `count` runs of this spread have, at least as wide as `spread` makes it:
    /// a cell whose few runs agree by luck is not taken at their word.
    pub fn reach(&self, count: u32, spread: f64) -> f64 {
        if count < 2 {
            return f64::INFINITY;
        }
        quantile(count) * (self.variance().sqrt().max(spread) / f64::from(count).sqrt())
    }
}

/// A cell so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cell {
    /// MB/s of its plain runs that moved bytes.
    pub rate: Sample,
    /// Charged nanoseconds a byte of the same runs.
    pub cost: Sample,
    /// What the soaker lost, in nanoseconds a byte.
    pub soaker: Sample,
    /// Plain and soaker runs so far, also those that moved nothing.
    pub runs: [u32; 2],
    /// The repeat after the highest, by pass.
    next_repeat: [u32; 2],
    /// A request failed: no conclusion rests on it.
    pub failed: bool,
    /// The page cache held it: it is on no advice.
    pub cached: bool,
    spent_ns: u64,
}

impl Cell {
    /// Whether conclusions may rest on it.
    pub fn sound(&self) -> bool {
        self.rate.count > 0 && !self.failed
    }

    /// Whether more runs of it would be of no use.
    pub fn given_up(&self) -> bool {
        self.failed || (self.rate.count == 0 && self.runs[0] >= EMPTY_RUNS)
    }

    /// What a run of it takes, where it had any.
    pub fn run_ns(&self) -> Option<u64> {
        (self.runs[0] > 0).then(|| self.spent_ns / u64::from(self.runs[0]))
    }
}

/// Student's t for `count` runs; the quantile is an iteration, so it is made once.
fn quantile(count: u32) -> f64 {
    static QUANTILES: OnceLock<Vec<f64>> = OnceLock::new();
    let quantiles = QUANTILES.get_or_init(|| (1..=MOST_QUANTILES).map(t95).collect());
    quantiles[(count as usize - 2).min(MOST_QUANTILES - 1)]
}

/// Two values told apart by the pass.
pub(crate) fn by_pass(pass: Pass) -> usize {
    usize::from(pass == Pass::Soaker)
}

/// All cells of one pattern, direction and cache setting; they are numbered depth by depth.
#[derive(Debug, Clone)]
pub(crate) struct KnownPath {
    pub experiment: Experiment,
    pub pattern: Pattern,
    pub direction: Direction,
    pub cache: Cache,
    pub depths: Vec<u32>,
    pub sizes: Vec<Bytes>,
    pub cells: Vec<Cell>,
    /// MB/s of every cell, measured or not; empty until anything was.
    pub rates: Vec<Estimate>,
    /// The same of the charged nanoseconds a byte.
    pub costs: Vec<Estimate>,
    /// Relative spread from run to run, of rates and of costs.
    pub spread: f64,
    pub cost_spread: f64,
    /// Sum and number of the squares by which first runs missed their predictions, in deviations.
    surprise: (f64, f64),
    /// What the deviations in `rates` were multiplied by for it.
    calibration: f64,
    /// Runs that failed or moved nothing.
    failures: u32,
    stale: bool,
}

impl KnownPath {
    /// Every path that the question asks for, with nothing known.
    pub fn all(question: &Question) -> Vec<Self> {
        let mut paths = Vec::new();
        for pattern in question.patterns() {
            for direction in &question.directions {
                paths.extend(question.cache.iter().map(|cache| Self::new(question, pattern, *direction, *cache)));
            }
        }
        paths
    }

    fn new(question: &Question, pattern: Pattern, direction: Direction, cache: Cache) -> Self {
        let cells = question.iodepth.len() * question.bs.len();
        Self {
            experiment: Experiment::walking(pattern),
            pattern,
            direction,
            cache,
            depths: question.iodepth.clone(),
            sizes: question.bs.clone(),
            cells: vec![Cell::default(); cells],
            rates: Vec::new(),
            costs: Vec::new(),
            spread: USUAL_SPREAD,
            cost_spread: USUAL_SPREAD,
            surprise: (0.0, 0.0),
            calibration: 1.0,
            failures: 0,
            stale: false,
        }
    }

    /// The number of the cell of this depth and block size, by their places on the axes.
    pub fn cell_at(&self, depth: usize, size: usize) -> usize {
        depth * self.sizes.len() + size
    }

    /// The cells of one depth, by the place of the depth on its axis.
    pub fn of_depth(&self, depth: usize) -> std::ops::Range<usize> {
        self.cell_at(depth, 0)..self.cell_at(depth + 1, 0)
    }

    /// Depth and block size of a cell.
    pub fn settings(&self, cell: usize) -> (u32, Bytes) {
        (self.depths[cell / self.sizes.len()], self.sizes[cell % self.sizes.len()])
    }

    /// The cells that conclusions may rest on.
    pub fn sound(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.cells.len()).filter(|cell| self.cells[*cell].sound())
    }

    /// Whether a run of the cell would be of no use: it was given up, or its block size or its depth failed twice and
    /// never worked.
    pub fn closed(&self, cell: usize) -> bool {
        let fails = |cells: &mut dyn Iterator<Item = usize>| {
            let (mut failures, mut works) = (0, false);
            for cell in cells {
                failures += usize::from(self.cells[cell].given_up());
                works |= self.cells[cell].sound();
            }
            failures >= FAILURES && !works
        };
        let (depth, size) = (cell / self.sizes.len(), cell % self.sizes.len());
        self.cells[cell].given_up()
            || (self.failures > 0
                && (fails(&mut self.of_depth(depth)) || fails(&mut (size..self.cells.len()).step_by(self.sizes.len()))))
    }

    /// Whether nothing can be got out of this path: three cells were given up and none gave anything.
    pub fn hopeless(&self) -> bool {
        self.cells.iter().filter(|cell| cell.given_up()).count() >= 3 && self.sound().next().is_none()
    }

    /// What a plain run of this path has taken, where there was any.
    pub fn run_ns(&self) -> Option<u64> {
        let runs: u64 = self.cells.iter().map(|cell| u64::from(cell.runs[0])).sum();
        let spent_ns: u64 = self.cells.iter().map(|cell| cell.spent_ns).sum();
        spent_ns.checked_div(runs)
    }

    /// Takes in an observation of this path; one of a cell that nobody asked for is passed over.
    pub fn learn(&mut self, seen: &Observation) {
        let Workload { iodepth, bs, .. } = seen.run.workload;
        let (Ok(depth), Ok(size)) = (self.depths.binary_search(&iodepth), self.sizes.binary_search(&bs)) else {
            return;
        };
        let index = self.cell_at(depth, size);
        self.note_surprise(index, seen);
        let cell = &mut self.cells[index];
        let pass = by_pass(seen.run.pass);
        cell.runs[pass] += 1;
        cell.next_repeat[pass] = cell.next_repeat[pass].max(seen.run.repeat + 1);
        if seen.run.pass == Pass::Soaker {
            seen.soaker_ns_per_byte.into_iter().for_each(|cost| cell.soaker.add(cost));
            return;
        }
        cell.spent_ns += seen.spent_ns;
        cell.failed |= seen.failed;
        cell.cached |= seen.cached;
        self.failures += u32::from(seen.failed || seen.mbps <= 0.0);
        if seen.mbps > 0.0 {
            cell.rate.add(seen.mbps);
            // A cost of nothing is below what the clock of processor time can tell.
            cell.cost.add(seen.charged_ns_per_byte.max(1e-9));
        }
        self.stale = true;
    }

    fn note_surprise(&mut self, index: usize, seen: &Observation) {
        let first = self.cells[index].runs[0] == 0 && seen.run.pass == Pass::Plain;
        let Some(predicted) = self.rates.get(index).filter(|_| first && seen.mbps > 0.0) else {
            return;
        };
        let variance = (predicted.deviation / self.calibration).powi(2) + self.spread.powi(2);
        self.surprise.0 += (seen.mbps.ln() - predicted.log).powi(2) / variance;
        self.surprise.1 += 1.0;
    }

    /// How far predictions have been off, in deviations; begun with two that were exactly as far off as they said.
    fn misjudged(&self) -> f64 {
        ((2.0 + self.surprise.0) / (2.0 + self.surprise.1)).sqrt().clamp(SURPRISE.0, SURPRISE.1)
    }

    /// Works out every cell's estimate anew where something was learnt since.
    pub fn refresh(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.spread = spread(self.sound().map(|cell| &self.cells[cell].rate));
        self.cost_spread = spread(self.sound().map(|cell| &self.cells[cell].cost));
        let rate = if self.cache.direct() { RATE } else { BUFFERED_RATE };
        self.calibration = self.misjudged();
        self.rates = self.estimates(&rate, self.spread, self.calibration, |cell| &cell.rate);
        self.costs = self.estimates(&COST, self.cost_spread, 1.0, |cell| &cell.cost);
    }

    fn estimates(&self, prior: &Prior, spread: f64, calibration: f64, of: fn(&Cell) -> &Sample) -> Vec<Estimate> {
        let own = |cell: usize| {
            let sample = of(&self.cells[cell]);
            let freedom = BORROWED + f64::from(sample.count) - 1.0;
            let squares = BORROWED * spread * spread + sample.variance() * (f64::from(sample.count) - 1.0);
            (sample.mean.ln(), squares / freedom / f64::from(sample.count))
        };
        let known: Vec<Known> = self
            .sound()
            .map(|cell| {
                let (log, variance) = own(cell);
                Known { at: self.place(cell), log, variance }
            })
            .collect();
        if known.is_empty() {
            return Vec::new();
        }
        let estimate = |cell: usize| {
            if self.cells[cell].sound() {
                let (log, variance) = own(cell);
                return Estimate { log, deviation: variance.sqrt() };
            }
            let nothing = Estimate { log: known[0].log, deviation: LEVEL_DOUBT };
            let predicted = prior.estimate(&known, self.place(cell)).unwrap_or(nothing);
            Estimate { deviation: predicted.deviation * calibration, ..predicted }
        };
        (0..self.cells.len()).map(estimate).collect()
    }

    fn place(&self, cell: usize) -> Place {
        let (depth, bs) = self.settings(cell);
        ((bs.0 as f64).log2(), f64::from(depth).log2())
    }

    /// The next run of a cell, `later` runs after the one that comes next.
    pub fn run(&self, question: &Question, cell: usize, pass: Pass, later: u32) -> Run {
        let (iodepth, bs) = self.settings(cell);
        let workload = Workload {
            rw: Rw::of(self.pattern, self.direction),
            bs,
            iodepth,
            threads: question.threads,
            cache: self.cache,
            engine: question.engine,
            ..Workload::default()
        };
        let repeat = self.cells[cell].next_repeat[by_pass(pass)] + later;
        Run {
            experiment: Some(self.experiment),
            workload,
            repeat,
            pass,
            runtime: runtime_for(question, bs, self.rates.get(cell).map(|rate| rate.log.exp())),
            seed: seeded(question.seed, &workload, pass, repeat),
        }
    }
}

/// Deviation of the logarithm where nothing can be said.
const LEVEL_DOUBT: f64 = 3.0;

/// The spread from run to run of a path: the median over its cells, so that a few wild ones do not make it.
fn spread<'a>(samples: impl Iterator<Item = &'a Sample>) -> f64 {
    // The median of chi squared over its degrees of freedom is about (1 - 2/9f)^3 (Wilson and Hilferty, 1931).
    let unbiased = |sample: &Sample| {
        let freedom = f64::from(sample.count - 1);
        sample.variance() / (1.0 - 2.0 / (9.0 * freedom)).powi(3)
    };
    let mut variances: Vec<f64> = samples.filter(|sample| sample.count > 1).map(unbiased).collect();
    while variances.len() < CELLS_FOR_SPREAD {
        variances.push(USUAL_SPREAD * USUAL_SPREAD);
    }
    variances.sort_by(f64::total_cmp);
    variances[variances.len() / 2].sqrt().max(LEAST_SPREAD)
}
