//! Keeps the results of one path: every cell's runs, and an estimate for every cell.

use halfpower_spec::{Bytes, Cache, Direction, Experiment, Nanos, Pass, Pattern, Question, Run, Rw, Workload};

use crate::kriging::{LogEstimate, MeasuredPoint, Position, Surface, SurfacePrior, highest};
use crate::observed_cell::{Observation, ObservedCell, Sample, by_pass};
use crate::seeds::seeded;
use crate::slices::Slices;
use crate::window_length::{Expectation, long_runtime, runtime_for};

/// Assumed spread from run to run until a path has shown its own.
const USUAL_SPREAD: f64 = 0.03;
/// Cells with repeated runs needed to compute a path's spread.
const CELLS_FOR_SPREAD: usize = 4;
/// Least spread: a single run never tells more.
const LEAST_SPREAD: f64 = 0.002;
/// Weight of the path's spread, in runs, against a cell's own spread.
const BORROWED: f64 = 3.0;
/// Limits of the factor that corrects the deviations of predictions.
const SURPRISE: (f64, f64) = (0.4, 3.0);
/// Failed cells of a block size or a depth after which the others count as failing too.
const FAILURES: usize = 2;
/// Rates rise with block size and depth, up to a ceiling.
const RATE: SurfacePrior =
    SurfacePrior { slope: (0.35, 0.35), slope_deviation: (0.35, 0.35), roughness: (0.7, 0.4), depth_scale: 1.0 };
/// The page cache keeps its own depth, so depth hardly changes buffered rates.
const BUFFERED_RATE: SurfacePrior =
    SurfacePrior { slope: (0.2, 0.0), slope_deviation: (0.3, 0.1), roughness: (0.5, 0.2), depth_scale: 0.3 };
/// The cost per byte falls with block size, because more bytes share the fixed part.
const COST: SurfacePrior =
    SurfacePrior { slope: (-0.35, 0.0), slope_deviation: (0.35, 0.1), roughness: (0.4, 0.2), depth_scale: 0.5 };

/// All cells of one pattern, direction and cache setting; they are numbered depth by depth.
#[derive(Debug, Clone)]
pub(crate) struct ObservedPath {
    pub experiment: Experiment,
    pub pattern: Pattern,
    pub direction: Direction,
    pub cache: Cache,
    pub depths: Vec<u32>,
    pub sizes: Vec<Bytes>,
    pub cells: Vec<ObservedCell>,
    /// Estimated MB/s of every cell, measured or not; empty until a cell was measured.
    pub rates: Vec<LogEstimate>,
    /// Estimated charged nanoseconds per byte, likewise.
    pub costs: Vec<LogEstimate>,
    /// Relative spread from run to run, of rates and of costs.
    pub spread: f64,
    pub cost_spread: f64,
    /// Sum and number of squared errors of predictions against first runs, in deviations.
    surprise: (f64, f64),
    /// Resulting factor in the deviations of `rates`.
    calibration: f64,
    /// Runs that failed or moved nothing.
    failures: u32,
    /// The limit in time slices on its requests, if known.
    slices: Option<Slices>,
    /// Whether its first runs must find out whether there is such a limit.
    looks: bool,
    /// Budget of the whole study.
    budget: Nanos,
    threads: u32,
    stale: bool,
}

impl ObservedPath {
    /// Every path of the question, without results.
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
            cells: vec![ObservedCell::default(); cells],
            rates: Vec::new(),
            costs: Vec::new(),
            spread: USUAL_SPREAD,
            cost_spread: USUAL_SPREAD,
            surprise: (0.0, 0.0),
            calibration: 1.0,
            failures: 0,
            slices: None,
            looks: false,
            budget: question.budget,
            threads: question.threads,
            stale: false,
        }
    }

    /// Index of the cell with this depth and block size, given by their indices on the axes.
    pub fn cell_at(&self, depth: usize, size: usize) -> usize {
        depth * self.sizes.len() + size
    }

    /// The cells of one depth, given by its index on the axis.
    pub fn of_depth(&self, depth: usize) -> std::ops::Range<usize> {
        self.cell_at(depth, 0)..self.cell_at(depth + 1, 0)
    }

    /// Depth and block size of a cell.
    pub fn settings(&self, cell: usize) -> (u32, Bytes) {
        (self.depths[cell / self.sizes.len()], self.sizes[cell % self.sizes.len()])
    }

    /// The cells that support conclusions.
    pub fn sound(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.cells.len()).filter(|cell| self.cells[*cell].sound())
    }

    /// Whether a run of the cell would be useless: the cell was given up, its block size or depth failed twice and
    /// never worked, or its queue passes a limit in slices too slowly for the budget.
    pub fn closed(&self, cell: usize) -> bool {
        let fails = |cells: &mut dyn Iterator<Item = usize>| {
            let mut failures = 0;
            let mut works = false;
            for cell in cells {
                failures += usize::from(self.cells[cell].given_up());
                works |= self.cells[cell].sound();
            }
            failures >= FAILURES && !works
        };
        let depth = cell / self.sizes.len();
        let size = cell % self.sizes.len();
        self.cells[cell].given_up()
            || self.passes_too_slowly(cell)
            || (self.failures > 0
                && (fails(&mut self.of_depth(depth)) || fails(&mut (size..self.cells.len()).step_by(self.sizes.len()))))
    }

    /// Whether a cell's queue passes a limit too slowly for the budget. The smallest queue never does.
    fn passes_too_slowly(&self, cell: usize) -> bool {
        let Some(slices) = self.slices.filter(|_| cell > 0) else { return false };
        self.queue_bytes(cell) > slices.most_queue_bytes(self.expected_mbps(cell), self.budget)
    }

    /// The expected rate of a cell; `None` if nothing is known.
    fn expected_mbps(&self, cell: usize) -> Option<f64> {
        self.rates.get(cell).map(|rate| rate.log.exp())
    }

    /// Bytes in flight in a cell.
    pub fn queue_bytes(&self, cell: usize) -> f64 {
        let (depth, bs) = self.settings(cell);
        bs.0 as f64 * f64::from(depth) * f64::from(self.threads)
    }

    /// Whether the path gives nothing: three cells were given up and none moved bytes.
    pub fn hopeless(&self) -> bool {
        self.cells.iter().filter(|cell| cell.given_up()).count() >= 3 && self.sound().next().is_none()
    }

    /// Mean time of a plain run of this path; `None` without one.
    pub fn run_ns(&self) -> Option<u64> {
        let runs: u64 = self.cells.iter().map(|cell| u64::from(cell.runs[0])).sum();
        let spent_ns: u64 = self.cells.iter().map(|cell| cell.spent_ns).sum();
        spent_ns.checked_div(runs)
    }

    /// Records an observation of this path, after which the study has spent `spent_ns`; ignores cells outside the question.
    pub fn learn(&mut self, seen: &Observation, spent_ns: u64) {
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
        if seen.run.pass == Pass::Confirm {
            cell.failed |= seen.failed;
            if seen.mbps > 0.0 {
                cell.confirmed.add(seen.mbps);
            }
            return;
        }
        cell.spent_ns += seen.spent_ns;
        cell.last_ns = spent_ns;
        cell.failed |= seen.failed;
        cell.cached |= seen.cached;
        cell.unwitnessed |= !seen.from_device;
        self.failures += u32::from(seen.failed || seen.mbps <= 0.0);
        if seen.mbps > 0.0 {
            cell.rate.add(seen.mbps);
            // A cost of 0 is below the resolution of the processor clock.
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

    /// Root mean square error of predictions, in deviations; starts with two errors of exactly one deviation.
    fn misjudged(&self) -> f64 {
        ((2.0 + self.surprise.0) / (2.0 + self.surprise.1)).sqrt().clamp(SURPRISE.0, SURPRISE.1)
    }

    /// Recomputes every cell's estimate if there are new results.
    pub fn refresh(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.spread = spread(self.sound().map(|cell| &self.cells[cell].rate));
        self.cost_spread = spread(self.sound().map(|cell| &self.cells[cell].cost));
        self.calibration = self.misjudged();
        self.rates = self.estimates(self.rate_prior(), self.spread, self.calibration, |cell| &cell.rate);
        self.costs = self.estimates(&COST, self.cost_spread, 1.0, |cell| &cell.cost);
    }

    fn estimates(
        &self,
        prior: &SurfacePrior,
        spread: f64,
        calibration: f64,
        of: fn(&ObservedCell) -> &Sample,
    ) -> Vec<LogEstimate> {
        let point = |cell: usize| self.point(cell, spread, of(&self.cells[cell]));
        let known: Vec<MeasuredPoint> = self.sound().map(point).collect();
        if known.is_empty() {
            return Vec::new();
        }
        let mut surface = Surface::new(prior, &known);
        let estimate = |cell: usize| {
            if self.cells[cell].sound() {
                let MeasuredPoint { log, variance, .. } = point(cell);
                return LogEstimate { log, deviation: variance.sqrt() };
            }
            let nothing = LogEstimate { log: known[0].log, deviation: LEVEL_DOUBT };
            let predicted = surface.estimate(self.position(cell)).unwrap_or(nothing);
            LogEstimate { deviation: predicted.deviation * calibration, ..predicted }
        };
        (0..self.cells.len()).map(estimate).collect()
    }

    /// The measured point of a cell from its own runs.
    fn point(&self, cell: usize, spread: f64, sample: &Sample) -> MeasuredPoint {
        let freedom = BORROWED + f64::from(sample.count) - 1.0;
        let squares = BORROWED * spread * spread + sample.variance() * (f64::from(sample.count) - 1.0);
        let variance = squares / freedom / f64::from(sample.count);
        MeasuredPoint { at: self.position(cell), log: sample.mean.ln(), variance }
    }

    /// The fastest sound cell among those that are `open`, judged by its own plain runs together with those of its
    /// neighbours, with the estimate. One lucky run among slow neighbours has little weight; many neighbours that agree
    /// have much, however noisy each of them is.
    pub fn fastest_by_all(&self, open: impl Fn(&ObservedCell) -> bool) -> Option<(LogEstimate, usize)> {
        let point = |cell: usize| self.point(cell, self.spread, &self.cells[cell].rate);
        let known: Vec<MeasuredPoint> = self.sound().map(point).collect();
        let mut surface = Surface::new(self.rate_prior(), &known);
        let open = self.sound().filter(|cell| open(&self.cells[*cell]));
        highest(open.filter_map(|cell| Some((surface.estimate(self.position(cell))?, cell))))
    }

    fn rate_prior(&self) -> &'static SurfacePrior {
        if self.cache.direct() { &RATE } else { &BUFFERED_RATE }
    }

    fn position(&self, cell: usize) -> Position {
        let (depth, bs) = self.settings(cell);
        ((bs.0 as f64).log2(), f64::from(depth).log2())
    }

    /// Makes windows of this path hold the slices of a limit from now on. If the limit is new, results of shorter
    /// windows are dropped.
    pub fn limit_in_slices(&mut self, slices: Slices) {
        if self.slices.is_none() {
            for cell in &mut self.cells {
                *cell = ObservedCell { next_repeat: cell.next_repeat, ..ObservedCell::default() };
            }
            (self.rates, self.costs) = (Vec::new(), Vec::new());
        }
        self.slices = Some(slices.joined(self.slices));
    }

    /// Makes the first runs of the deepest cells long enough to find out whether there is such a limit.
    pub fn look(&mut self) {
        self.looks = true;
    }

    /// Whether a limit in slices is known.
    pub fn is_in_slices(&self) -> bool {
        self.slices.is_some()
    }

    /// The limit in slices, if known.
    pub fn slices(&self) -> Option<Slices> {
        self.slices
    }

    /// Whether the next run of a cell must find out whether there is a limit in slices: true for the deepest cells of
    /// the smallest and the largest block, as long as no limit is known.
    pub fn looks(&self, cell: usize) -> bool {
        let deepest = self.of_depth(self.depths.len() - 1);
        let is_extreme = cell == deepest.start || cell + 1 == deepest.end;
        self.looks && is_extreme && self.slices.is_none() && self.cells[cell].runs[0] == 0
    }

    fn expectation(&self, cell: usize) -> Expectation {
        Expectation {
            bs: self.settings(cell).1,
            queue_bytes: self.queue_bytes(cell),
            mbps: self.expected_mbps(cell),
            slices: self.slices,
            looks: self.looks(cell),
        }
    }

    /// A coming run of a cell: the next one, or `later` runs after it.
    pub fn run(&self, question: &Question, cell: usize, pass: Pass, later: u32) -> Run {
        let (iodepth, bs) = self.settings(cell);
        let workload = Workload {
            rw: Rw::of(self.pattern, self.direction),
            bs,
            iodepth,
            threads: self.threads,
            cache: self.cache,
            engine: question.engine,
            issuing: question.issuing,
            options: question.options(),
            ..Workload::default()
        };
        let repeat = self.cells[cell].next_repeat[by_pass(pass)] + later;
        let usual = runtime_for(question, &self.expectation(cell));
        let is_long = pass == Pass::Confirm && repeat == 0;
        Run {
            experiment: Some(self.experiment),
            workload,
            repeat,
            pass,
            runtime: if is_long { long_runtime(question, usual) } else { usual },
            seed: seeded(question.seed, &workload, pass, repeat),
        }
    }
}

/// Deviation of the logarithm if nothing is known.
const LEVEL_DOUBT: f64 = 3.0;

/// The spread from run to run of a path: the median over its cells, so that a few outliers do not matter.
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
