//! Finds every run of the walks that is worth its time, with its urgency.
//!
//! First a coarse look at each path; then what peak, half power and advice hang on; then the soaker's pass; then
//! repeats, the deciding cells first; and last whatever has an interval wider than it should.

use std::collections::BTreeMap;

use halfpower_spec::{Direction, Experiment, Pass, Question};

use crate::confirmation;
use crate::deciding_cells::{AdvisedCells, CellId, HalfPowerBracket, advice, best, half_power};
use crate::observed_path::ObservedPath;
use crate::priorities::Priority;
use crate::repeats::{SHARP, deciding_runs};
use crate::shown_cells::shown_cells;

/// Probability of lying on the other side of half power at which a cell needs no further run for it.
const SURE: f64 = 0.05;
/// Runs that are spent on a cell only because it stands near half power.
const DOUBT_RUNS: u32 = 10;
/// Runs after which a deciding cell that stays wide waits its turn with the others.
const PATIENCE_RUNS: u32 = 12;
/// How much less urgent each further run of a cell that decides most is, against 1 for the others.
const PATH_STEP: f64 = 0.4;
/// Runs of one cell that are planned ahead of what they will show.
const AHEAD: u32 = 4;
/// Expected gain over the best of a curve, and over the best of a path, that makes a cell worth a run.
const CURVE_GAIN: f64 = 0.015;
const PATH_GAIN: f64 = 0.01;
/// Cells of one curve that are looked into before what they show is used.
const CELLS_A_LOOK: usize = 2;
/// Probability of reaching half power, below the size that seems to be the first, that makes a cell worth a run.
const UNLIKELY: f64 = 0.1;
/// Relative difference of the peaks at either end of the depths below which a path keeps its own depth.
const DEPTH_MATTERS: f64 = 0.1;
/// What a first look at a cell is worth that is shown whatever it decides, among those that decide.
const SHOWN_VALUE: f64 = 0.5;
/// Block sizes beside the soaker, and in the coarse look.
const SPREAD_SIZES: usize = 3;

/// How far a study has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It looks at what it has not seen.
    Looking,
    /// What it would report now is measured again first, so that no lucky run alone chooses it.
    Choosing,
    /// What it chose is confirmed.
    Confirming,
}

/// A run that is worth its time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunCandidate {
    pub priority: Priority,
    /// Order within the priority, the lowest first.
    pub rank: f64,
    pub cell: CellId,
    pub pass: Pass,
    /// Which of the cell's next runs it is.
    pub later: u32,
}

/// Everything worth measuring, in no order.
///
/// At the stage of confirming, or where nothing is left that could change what is chosen, the choice is confirmed first.
pub(crate) fn candidates(question: &Question, paths: &[ObservedPath], stage: Stage) -> Vec<RunCandidate> {
    let advice = advice_by_kind(paths);
    let mut candidates = Vec::new();
    for (number, path) in paths.iter().enumerate().filter(|(_, path)| !path.hopeless()) {
        let advice = &advice[&(path.experiment, path.direction)];
        let mut path_candidates = PathCandidates { question, path, number, advice, candidates: &mut candidates };
        if path_candidates.seeds() {
            continue;
        }
        if !path.rates.is_empty() {
            path_candidates.explore();
            path_candidates.soaker();
        }
        path_candidates.repeat();
    }
    if stage == Stage::Choosing {
        choose(question, paths, &advice, &mut candidates);
    }
    if stage == Stage::Confirming || candidates.iter().all(|candidate| candidate.priority > Priority::Decide) {
        confirm(paths, &advice, &mut candidates);
        show(question, paths, &mut candidates);
    }
    candidates
}

/// Adds the runs that shown cells lack: a rate is shown with a few runs or badly known, however noisy the others are.
fn show(question: &Question, paths: &[ObservedPath], candidates: &mut Vec<RunCandidate>) {
    for (number, path) in paths.iter().enumerate() {
        for cell in shown_cells(path).into_iter().filter(|cell| path.cells[*cell].runs[0] > 0) {
            let done = path.cells[cell].runs[0];
            for later in 0..confirmation::LEAST_RUNS.min(question.repeats).saturating_sub(done) {
                let (priority, rank) = (Priority::Confirm, f64::from(done + later));
                candidates.push(RunCandidate { priority, rank, cell: (number, cell), pass: Pass::Plain, later });
            }
        }
    }
}

/// Adds the plain runs that what is chosen so far lacks. Where they show that one lucky run had chosen it, another cell
/// takes its place, and is measured again in its turn.
fn choose(question: &Question, paths: &[ObservedPath], advice: &AdviceByKind, candidates: &mut Vec<RunCandidate>) {
    let of_kind = |experiment, direction| advice.get(&(experiment, direction)).cloned();
    for cell in confirmation::chosen(paths, of_kind) {
        let done = paths[cell.0].cells[cell.1].runs[0];
        for later in 0..question.repeats.saturating_sub(done) {
            let rank = f64::from(done + later);
            candidates.push(RunCandidate { priority: Priority::Choose, rank, cell, pass: Pass::Plain, later });
        }
    }
}

/// Adds the confirming runs of what is chosen, one of each cell after the other; the fewest that the peaks need come
/// first.
fn confirm(paths: &[ObservedPath], advice: &AdviceByKind, candidates: &mut Vec<RunCandidate>) {
    let of_kind = |experiment, direction| advice.get(&(experiment, direction)).cloned();
    let peaks = confirmation::chosen_peaks(paths);
    for cell in confirmation::chosen(paths, of_kind) {
        let done = paths[cell.0].cells[cell.1].confirmed.count;
        for later in 0..confirmation::wanted_runs(&paths[cell.0], cell.1).min(AHEAD) {
            let made = done + later;
            let is_least = made < confirmation::LEAST_RUNS;
            let ahead = if is_least && peaks.contains(&cell) { confirmation::LEAST_RUNS } else { 0 };
            let rank = f64::from(made) - f64::from(ahead);
            let priority = if is_least { Priority::Confirm } else { Priority::ConfirmAgain };
            candidates.push(RunCandidate { priority, rank, cell, pass: Pass::Confirm, later });
        }
    }
}

/// The advice for each pattern and direction.
type AdviceByKind = BTreeMap<(Experiment, Direction), AdvisedCells>;

fn advice_by_kind(paths: &[ObservedPath]) -> AdviceByKind {
    let mut kinds: BTreeMap<_, Vec<(usize, &ObservedPath)>> = BTreeMap::new();
    for (number, path) in paths.iter().enumerate() {
        kinds.entry((path.experiment, path.direction)).or_default().push((number, path));
    }
    kinds.into_iter().map(|(kind, paths)| (kind, advice(&paths))).collect()
}

/// `count` places of an axis of `length` from its first to its last, evenly.
fn spread(length: usize, count: usize) -> Vec<usize> {
    let (count, last) = (count.min(length), length - 1);
    let mut places: Vec<usize> = (0..count).map(|index| index * last / (count - 1).max(1)).collect();
    places.dedup();
    places
}

/// How much a cell decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Importance {
    Nothing,
    /// Half power or the peak of one depth.
    Curve,
    /// The path's peak, its half power, the advice.
    Path,
}

struct PathCandidates<'a> {
    question: &'a Question,
    path: &'a ObservedPath,
    number: usize,
    advice: &'a AdvisedCells,
    candidates: &'a mut Vec<RunCandidate>,
}

impl PathCandidates<'_> {
    fn want(&mut self, priority: Priority, rank: f64, cell: usize, pass: Pass, later: u32) {
        self.candidates.push(RunCandidate { priority, rank, cell: (self.number, cell), pass, later });
    }

    /// Wants runs of a cell from those it has up to `runs`, each later one less urgently by `step`.
    fn want_up_to(&mut self, priority: Priority, step: f64, cell: usize, runs: u32) {
        let done = self.path.cells[cell].runs[0];
        for later in 0..runs.saturating_sub(done).min(AHEAD) {
            self.want(priority, step * f64::from(done + later), cell, Pass::Plain, later);
        }
    }

    fn measured(&self, cell: usize) -> bool {
        self.path.cells[cell].runs[0] > 0
    }

    /// The cells of the coarse look that are missing; whether there were any.
    fn seeds(&mut self) -> bool {
        let (depths, sizes) = (spread(self.path.depths.len(), 2), spread(self.path.sizes.len(), SPREAD_SIZES));
        let before = self.candidates.len();
        for depth in &depths {
            for size in &sizes {
                let cell = self.path.cell_at(*depth, *size);
                // A path that keeps its own depth is hardly another at the last one.
                let skipped = !self.path.cache.direct() && *depth != depths[0] && Some(size) != sizes.last();
                if skipped || self.measured(cell) || self.path.closed(cell) {
                    continue;
                }
                // Behind a limit in slices the deepest queues wait, until it is known how fast they pass.
                let queue_bytes = self.path.queue_bytes(cell);
                let (priority, rank) = match (self.path.looks(cell), self.path.is_in_slices()) {
                    (true, _) => (Priority::Look, queue_bytes),
                    (false, true) => (Priority::Seed, queue_bytes),
                    (false, false) => (Priority::Seed, 0.0),
                };
                self.want(priority, rank, cell, Pass::Plain, 0);
            }
        }
        self.candidates.len() > before
    }

    /// Whether this depth's curve is one that the answer shows first.
    fn leading(&self, depth: usize) -> bool {
        self.path.cache.direct() || depth == 0 || depth + 1 == self.path.depths.len()
    }

    fn explore(&mut self) {
        for cell in shown_cells(self.path).into_iter().filter(|cell| self.path.cells[*cell].runs[0] == 0) {
            self.want(Priority::Explore, -SHOWN_VALUE, cell, Pass::Plain, 0);
        }
        for (cell, value) in self.path_values() {
            self.want(Priority::Explore, -value, cell, Pass::Plain, 0);
        }
        let depth_matters = self.depth_matters();
        for depth in 0..self.path.depths.len() {
            let priority = match self.leading(depth) {
                true => Priority::Explore,
                false if depth_matters => Priority::Complete,
                false => continue,
            };
            let mut values = self.curve_values(depth);
            values.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
            for (cell, value) in values.into_iter().take(CELLS_A_LOOK) {
                self.want(priority, -value, cell, Pass::Plain, 0);
            }
        }
    }

    /// Whether the first and the last depth of the axis differ in their peaks.
    fn depth_matters(&self) -> bool {
        let log = |depth: usize| half_power(self.path, depth).map(|curve| self.path.rates[curve.peak].log);
        let ends = [0, self.path.depths.len() - 1].map(log);
        matches!(ends, [Some(first), Some(last)] if (last - first).abs() > DEPTH_MATTERS)
    }

    /// Unmeasured cells that may be the path's peak or its kind's advice, with what each is worth.
    fn path_values(&self) -> Vec<(usize, f64)> {
        let unmeasured = |cell: usize| !self.measured(cell) && !self.path.closed(cell);
        let own = |name: CellId| (name.0 == self.number && unmeasured(name.1)).then_some(name.1);
        let mut values: Vec<(usize, f64)> = Vec::new();
        values.extend(self.advice.presumed.and_then(own).map(|cell| (cell, 1.0)));
        values.extend(self.advice.rivals.iter().filter_map(|(name, likely)| Some((own(*name)?, *likely))));
        let Some(peak) = best(self.path, self.path.sound()) else { return values };
        let gain = |cell: usize| (cell, self.path.rates[cell].gain_over(self.path.rates[peak].log));
        let gains = (0..self.path.cells.len()).filter(|cell| unmeasured(*cell)).map(gain);
        let most = gains.reduce(|most, next| if next.1 > most.1 { next } else { most });
        values.extend(most.filter(|(_, gain)| *gain >= PATH_GAIN).map(|(cell, gain)| (cell, 0.5 + 5.0 * gain)));
        values
    }

    /// Unmeasured cells of a depth that its peak or its half power hang on, with what each is worth.
    fn curve_values(&self, depth: usize) -> Vec<(usize, f64)> {
        let open = |cell: &usize| !self.measured(*cell) && !self.path.closed(*cell);
        let unmeasured = || self.path.of_depth(depth).filter(open);
        let Some(curve) = half_power(self.path, depth) else {
            return best(self.path, unmeasured()).map(|cell| (cell, 0.5)).into_iter().collect();
        };
        let peak = self.path.rates[curve.peak].log;
        let value = |cell: usize| {
            let gain = self.path.rates[cell].gain_over(peak);
            let for_peak = if gain >= CURVE_GAIN { 0.2 + 3.0 * gain } else { 0.0 };
            let for_half = if cell == curve.reached || Some(cell) == curve.below {
                0.4 + curve.doubt(self.path, cell)
            } else if cell < curve.reached {
                Some(curve.reaches(self.path, cell)).filter(|reaches| *reaches >= UNLIKELY).unwrap_or(0.0)
            } else {
                0.0
            };
            (cell, for_peak + for_half)
        };
        unmeasured().map(value).filter(|(_, value)| *value > 0.0).collect()
    }

    /// Smallest, middle and largest block size at one depth, that of the peak when the pass began.
    fn soaker(&mut self) {
        let soaked = (0..self.path.cells.len()).find(|cell| self.path.cells[*cell].runs[1] > 0);
        let Some(at) = soaked.or_else(|| best(self.path, self.path.sound())) else { return };
        let depth = at / self.path.sizes.len();
        for size in spread(self.path.sizes.len(), SPREAD_SIZES) {
            let cell = self.path.cell_at(depth, size);
            let known = self.path.cells[cell];
            let runs = known.runs[1];
            if self.path.closed(cell) {
                continue;
            }
            // Without a plain run the cell would be in no finding.
            if !self.measured(cell) {
                self.want(Priority::Soaker, 0.0, cell, Pass::Plain, 0);
            }
            if runs == 0 {
                self.want(Priority::Soaker, 0.0, cell, Pass::Soaker, 0);
            } else if runs < self.question.repeats && known.soaker.reach(runs, 0.0) > SHARP {
                self.want(Priority::SoakerAgain, f64::from(runs), cell, Pass::Soaker, 0);
            }
        }
    }

    /// More runs of the cells that were measured.
    fn repeat(&mut self) {
        let weights = self.weights();
        let (least, deciding) = (self.question.repeats, deciding_runs(self.question));
        for (cell, weight) in weights.into_iter().enumerate() {
            let known = &self.path.cells[cell];
            let (runs, given_up) = (known.runs[0], known.given_up());
            if runs == 0 || given_up {
                continue;
            }
            // What decides most gets all its runs while the others get their first few.
            let wanted = if weight == Importance::Path { deciding } else { least };
            let step = if weight == Importance::Path { PATH_STEP } else { 1.0 };
            self.want_up_to(Priority::Repeat, step, cell, wanted);
            if runs < wanted {
                continue;
            }
            if weight > Importance::Nothing && runs < deciding {
                self.want_up_to(Priority::Decide, 1.0, cell, deciding);
            } else {
                self.sharpen(cell, weight);
            }
        }
        self.settle_half_power();
    }

    fn sharpen(&mut self, cell: usize, weight: Importance) {
        let known = &self.path.cells[cell];
        let (runs, spread) = (known.runs[0], self.path.spread);
        if known.rate.reach(known.rate.count, spread) <= SHARP {
            return;
        }
        let enough = (known.rate.count + 1..known.rate.count + AHEAD)
            .find(|count| known.rate.reach(*count, spread) <= SHARP)
            .unwrap_or(known.rate.count + AHEAD);
        let priority =
            if weight > Importance::Nothing && runs < PATIENCE_RUNS { Priority::Sharpen } else { Priority::Widest };
        self.want_up_to(priority, 1.0, cell, runs + enough - known.rate.count);
    }

    /// Runs of cells that may turn out on the other side of half power.
    fn settle_half_power(&mut self) {
        let deciding = deciding_runs(self.question);
        for curve in self.curves() {
            let sides = [Some(curve.reached), curve.below].into_iter().flatten();
            let doubtful: Vec<usize> =
                sides.filter(|cell| self.path.cells[*cell].sound() && curve.doubt(self.path, *cell) > SURE).collect();
            for cell in doubtful.iter().copied().chain((!doubtful.is_empty()).then_some(curve.peak)) {
                let runs = self.path.cells[cell].runs[0];
                if (deciding..DOUBT_RUNS).contains(&runs) {
                    self.want_up_to(Priority::Sharpen, 1.0, cell, runs + 1);
                }
            }
        }
    }

    fn curves(&self) -> Vec<HalfPowerBracket> {
        if self.path.rates.is_empty() {
            return Vec::new();
        }
        let depths = (0..self.path.depths.len()).filter(|depth| self.leading(*depth));
        depths.filter_map(|depth| half_power(self.path, depth)).collect()
    }

    /// How much each cell decides.
    fn weights(&self) -> Vec<Importance> {
        let mut weights = vec![Importance::Nothing; self.path.cells.len()];
        if self.path.rates.is_empty() {
            return weights;
        }
        let top = best(self.path, self.path.sound());
        for curve in self.curves() {
            let of_top = top.is_some_and(|top| top == curve.peak);
            let weight = if of_top { Importance::Path } else { Importance::Curve };
            for cell in [Some(curve.peak), Some(curve.reached), curve.below].into_iter().flatten() {
                weights[cell] = weights[cell].max(weight);
            }
        }
        let rivals = self.advice.rivals.iter().map(|(name, _)| *name);
        let advised = [self.advice.stands, self.advice.presumed].into_iter().flatten().chain(rivals);
        advised.filter(|name| name.0 == self.number).chain(top.map(|top| (self.number, top))).for_each(|(_, cell)| {
            weights[cell] = Importance::Path;
        });
        weights
    }
}
