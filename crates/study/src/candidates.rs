//! Lists every run of the walks that is worth its time, with its urgency.
//!
//! Before all others, the first screen's rows of small requests are measured, and again from time to time, since a path may
//! wander. Then the order: a coarse look at each path, at direct requests first; then those rows until they are known well;
//! then the cells that decide peak, half power and advice; then the soaker's pass; then repeats, deciding cells first; and
//! last, cells with too wide an interval.

use std::collections::BTreeMap;

use halfpower_analyse::OCCASION_NS;
use halfpower_spec::{Decides, Direction, Experiment, InOrder, Nanos, Pass, Question};

use crate::confirmation;
use crate::deciding_cells::{AdvisedCells, CellId, HalfPowerBracket, advice, best, half_power, row_cells, shown_cells};
use crate::observed_cell::{SHARP, deciding_runs};
use crate::observed_path::ObservedPath;

/// A cell needs no further run for half power if it lies on the other side with at most this probability.
const SURE: f64 = 0.05;
/// Most runs of a cell that are made only because it is near half power.
const DOUBT_RUNS: u32 = 10;
/// Runs after which a deciding cell with a wide interval has no precedence any more.
const PATIENCE_RUNS: u32 = 12;
/// Loss of urgency per further run of a cell that decides the path; 1 for other cells.
const PATH_STEP: f64 = 0.4;
/// Most runs of one cell that are planned before their results are known.
const AHEAD: u32 = 4;
/// Least relative gain over the best of a curve, or of a path, that makes a cell worth a run.
const CURVE_GAIN: f64 = 0.015;
const PATH_GAIN: f64 = 0.01;
/// Most cells of one curve that are measured before the results are used.
const CELLS_A_LOOK: usize = 2;
/// Least probability of reaching half power that makes a cell below the presumed half-power size worth a run.
const UNLIKELY: f64 = 0.1;
/// Least relative difference between the peaks of the first and last depth at which depth matters.
const DEPTH_MATTERS: f64 = 0.1;
/// Value of a first run of a cell that is always shown, relative to deciding cells.
const SHOWN_VALUE: f64 = 0.5;
/// A row of small requests is measured again as soon as that is another occasion, and then after this part of the budget, but
/// not sooner than that: by then its path may have wandered.
const AGAIN_PARTS: u64 = 12;
const AGAIN: Nanos = Nanos(8_000_000_000);
/// A run for that takes no more than this part of the budget, the second one of a row and each later one.
const SECOND_RUN_PARTS: u64 = 100;
const AGAIN_RUN_PARTS: u64 = 400;
/// Number of block sizes in the soaker's pass and in the coarse look.
const SPREAD_SIZES: usize = 3;

/// Stage of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Measures new cells.
    Looking,
    /// First repeats the cells that it would report now, so that a single lucky run does not decide the choice.
    Choosing,
    /// Confirms the chosen cells.
    Confirming,
}

/// A run that is worth its time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunCandidate {
    pub priority: Priority,
    /// Order within the priority, lowest first.
    pub rank: f64,
    pub cell: CellId,
    pub pass: Pass,
    /// Index among the cell's next runs, from 0.
    pub later: u32,
}

/// All runs worth making, unordered.
///
/// `spent_ns` is what the study has spent. In the confirming stage, or if nothing is left that could change the choice, the choice is confirmed first.
pub(crate) fn candidates(
    question: &Question,
    paths: &[ObservedPath],
    stage: Stage,
    spent_ns: u64,
) -> Vec<RunCandidate> {
    let advice = advice_by_kind(paths);
    let mut candidates = Vec::new();
    for (number, path) in paths.iter().enumerate().filter(|(_, path)| !path.hopeless()) {
        let advice = &advice[&(path.experiment, path.direction)];
        let mut path_candidates = PathCandidates { question, path, number, advice, candidates: &mut candidates };
        path_candidates.rows_again(spent_ns);
        if path_candidates.seeds() {
            continue;
        }
        path_candidates.rows();
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

/// What the study will have spent when the first row of small requests is to be measured for the second time; `None` if
/// none is.
pub(crate) fn rows_due_ns(question: &Question, paths: &[ObservedPath]) -> Option<u64> {
    let of_path = |path: &ObservedPath| {
        let rows = row_cells(path).into_iter().filter(|cell| path.cells[*cell].runs[0] == 1);
        rows.filter_map(|cell| row_due_ns(question, path, cell)).min()
    };
    paths.iter().filter(|path| !path.hopeless()).filter_map(of_path).min()
}

/// What the study will have spent when a measured row of small requests is to be measured again; `None` for one whose runs are
/// long.
fn row_due_ns(question: &Question, path: &ObservedPath, cell: usize) -> Option<u64> {
    let Nanos(budget_ns) = question.budget;
    let known = &path.cells[cell];
    let (after_ns, parts) = match known.runs[0] {
        1 => (OCCASION_NS, SECOND_RUN_PARTS),
        _ => (AGAIN.0.max(budget_ns / AGAIN_PARTS), AGAIN_RUN_PARTS),
    };
    let run_ns = known.run_ns().filter(|_| known.sound())?;
    (run_ns <= budget_ns / parts).then_some(known.last_ns + after_ns)
}

/// Adds the runs that shown cells still lack, so that every shown rate rests on the fewest runs, and those that the rows of
/// small requests need to be known well.
fn show(question: &Question, paths: &[ObservedPath], candidates: &mut Vec<RunCandidate>) {
    for (number, path) in paths.iter().enumerate() {
        for cell in shown_cells(path).into_iter().filter(|cell| path.cells[*cell].runs[0] > 0) {
            let done = path.cells[cell].runs[0];
            for later in 0..confirmation::LEAST_RUNS.min(question.repeats).saturating_sub(done) {
                let priority = Priority::Confirm;
                let rank = f64::from(done + later);
                candidates.push(RunCandidate { priority, rank, cell: (number, cell), pass: Pass::Plain, later });
            }
        }
        for cell in row_cells(path).into_iter().filter(|cell| path.cells[*cell].sound()) {
            let rate = &path.cells[cell].rate;
            for later in 0..confirmation::runs_to_know(rate, path.spread).min(AHEAD) {
                let priority = Priority::ConfirmAgain;
                let rank = -rate.narrows(rate.count + later, path.spread);
                candidates.push(RunCandidate { priority, rank, cell: (number, cell), pass: Pass::Plain, later });
            }
        }
    }
}

/// Adds the plain runs that the cells chosen so far lack. If they show that a choice was due to one lucky run, another
/// cell takes its place, and is then repeated too.
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

/// Adds the confirming runs of the chosen cells: first the fewest of each, one run per cell in turn, those of the peaks
/// before all; then those that narrow an interval most.
fn confirm(paths: &[ObservedPath], advice: &AdviceByKind, candidates: &mut Vec<RunCandidate>) {
    let of_kind = |experiment, direction| advice.get(&(experiment, direction)).cloned();
    let peaks = confirmation::chosen_peaks(paths);
    for cell in confirmation::chosen(paths, of_kind) {
        let path = &paths[cell.0];
        let confirmed = &path.cells[cell.1].confirmed;
        for later in 0..confirmation::wanted_runs(path, cell.1).min(AHEAD) {
            let made = confirmed.count + later;
            let ahead = if peaks.contains(&cell) { confirmation::LEAST_RUNS } else { 0 };
            let (priority, rank) = match made < confirmation::LEAST_RUNS {
                true => (Priority::Confirm, f64::from(made) - f64::from(ahead)),
                false => (Priority::ConfirmAgain, -confirmed.narrows(made, path.spread)),
            };
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

/// `count` evenly spaced indices of an axis of `length`, from the first to the last.
fn spread(length: usize, count: usize) -> Vec<usize> {
    let count = count.min(length);
    let last = length - 1;
    let mut places: Vec<usize> = (0..count).map(|index| index * last / (count - 1).max(1)).collect();
    places.dedup();
    places
}

/// What depends on a cell.
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

    /// Requests runs of a cell until it has `runs`; each later run is less urgent by `step`.
    fn want_up_to(&mut self, priority: Priority, step: f64, cell: usize, runs: u32) {
        let done = self.path.cells[cell].runs[0];
        for later in 0..runs.saturating_sub(done).min(AHEAD) {
            self.want(priority, step * f64::from(done + later), cell, Pass::Plain, later);
        }
    }

    fn measured(&self, cell: usize) -> bool {
        self.path.cells[cell].runs[0] > 0
    }

    /// Requests the missing cells of the coarse look; returns whether there were any.
    fn seeds(&mut self) -> bool {
        let depths = spread(self.path.depths.len(), 2);
        let sizes = spread(self.path.sizes.len(), SPREAD_SIZES);
        let before = self.candidates.len();
        for depth in &depths {
            for size in &sizes {
                let cell = self.path.cell_at(*depth, *size);
                // The page cache keeps its own depth, so the last depth hardly differs.
                let skipped = !self.path.cache.direct() && *depth != depths[0] && Some(size) != sizes.last();
                if skipped || self.measured(cell) || self.path.closed(cell) {
                    continue;
                }
                // Behind a limit in slices, the deepest queues come last, when it is known how fast they pass.
                let queue_bytes = self.path.queue_bytes(cell);
                let (priority, rank) = match (self.path.looks(cell), self.path.is_in_slices()) {
                    (true, _) => (Priority::Look, queue_bytes),
                    (false, true) => (Priority::Seed, queue_bytes),
                    // The answer shows direct requests first, and others take long where they wait for a disk.
                    (false, false) => (Priority::Seed, if self.path.cache.direct() { 0.0 } else { 1.0 }),
                };
                self.want(priority, rank, cell, Pass::Plain, 0);
            }
        }
        self.candidates.len() > before
    }

    /// Requests runs of the first screen's rows of small requests, until they are known well or have the runs of a deciding
    /// cell: what narrows a row most comes first.
    fn rows(&mut self) {
        let spread = self.path.spread;
        for cell in row_cells(self.path).into_iter().filter(|cell| self.measured(*cell)).collect::<Vec<_>>() {
            let known = self.path.cells[cell];
            let lacking = deciding_runs(self.question).saturating_sub(known.runs[0]);
            for later in 0..lacking.min(confirmation::runs_to_know(&known.rate, spread)).min(AHEAD) {
                let rank = -known.rate.narrows(known.rate.count + later, spread);
                self.want(Priority::Row, rank, cell, Pass::Plain, later);
            }
        }
    }

    /// Requests the first run of each of these rows, and one where the last lies far back.
    fn rows_again(&mut self, spent_ns: u64) {
        for cell in row_cells(self.path) {
            let is_due = row_due_ns(self.question, self.path, cell).is_some_and(|due_ns| due_ns <= spent_ns);
            match self.measured(cell) {
                true if is_due => self.want(Priority::RowAgain, 0.0, cell, Pass::Plain, 0),
                true => {}
                false => self.want(Priority::RowFirst, 0.0, cell, Pass::Plain, 0),
            }
        }
    }

    /// Whether the answer shows this depth's curve first.
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
            values.order_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
            for (cell, value) in values.into_iter().take(CELLS_A_LOOK) {
                self.want(priority, -value, cell, Pass::Plain, 0);
            }
        }
    }

    /// Whether the peaks of the first and the last depth differ.
    fn depth_matters(&self) -> bool {
        let log = |depth: usize| half_power(self.path, depth).map(|curve| self.path.rates[curve.peak].log);
        let ends = [0, self.path.depths.len() - 1].map(log);
        matches!(ends, [Some(first), Some(last)] if (last - first).abs() > DEPTH_MATTERS)
    }

    /// Unmeasured cells that may be the path's peak or the advice, each with its value.
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

    /// Unmeasured cells of a depth that may decide its peak or half power, each with its value.
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

    /// Requests the soaker's pass: smallest, middle and largest block size at the depth of the peak.
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
            // Findings leave out a cell without a plain run.
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

    /// Requests more runs of measured cells.
    fn repeat(&mut self) {
        let weights = self.weights();
        let least = self.question.repeats;
        let deciding = deciding_runs(self.question);
        for (cell, weight) in weights.into_iter().enumerate() {
            let known = &self.path.cells[cell];
            let runs = known.runs[0];
            let given_up = known.given_up();
            if runs == 0 || given_up {
                continue;
            }
            // Cells that decide the path get all their runs while the others get their first few.
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
        let runs = known.runs[0];
        let spread = self.path.spread;
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

    /// Requests runs of cells that may be on the other side of half power.
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

    /// What depends on each cell.
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

/// Urgency of a run, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// The first run of a row of small requests. It is made before a look, and made again if that shows a limit in
    /// slices.
    RowFirst,
    /// A row of small requests whose last run lies far back.
    RowAgain,
    /// The fewest runs of cells that the headline and the advice report once chosen, and that the first screen shows.
    Confirm,
    /// Further runs of cells that the headline and the advice report, until they are known well.
    ConfirmAgain,
    /// A run that shows whether a limit in slices requires longer windows; made alone, before the runs
    /// that it decides.
    Look,
    /// The coarse look.
    Seed,
    /// Cells that would be reported now, until they have the fewest runs.
    Choose,
    /// The first screen's rows of small requests, until they are known well.
    Row,
    /// Cells that decide peak, half power and advice.
    Explore,
    /// First run with the soaker.
    Soaker,
    /// The fewest runs that a cell gets.
    Repeat,
    /// The runs that a deciding cell gets.
    Decide,
    /// Deciding cells with a wide interval, or near half power.
    Sharpen,
    /// Further runs with the soaker.
    SoakerAgain,
    /// Half power at the depths of a path that keeps its own depth.
    Complete,
    /// All other cells with a wide interval.
    Widest,
}

impl Priority {
    /// What runs of this priority decide.
    pub fn decides(self) -> Decides {
        match self {
            Self::Confirm | Self::ConfirmAgain => Decides::Headline,
            Self::Look => Decides::Slices,
            Self::RowFirst | Self::Seed => Decides::Outline,
            Self::Choose => Decides::Luck,
            Self::Explore => Decides::Leaders,
            Self::Soaker | Self::SoakerAgain => Decides::Cost,
            Self::Repeat => Decides::Scatter,
            Self::Row | Self::RowAgain | Self::Decide | Self::Sharpen | Self::Widest => Decides::Widest,
            Self::Complete => Decides::OtherDepths,
        }
    }
}
