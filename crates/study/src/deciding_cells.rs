//! Finds the cells that decide the answer (peaks, both sides of half power, and candidates for advice), and those that
//! the first screen of a report always shows.

use halfpower_analyse::policy::{self, Contender, Ease};
use halfpower_spec::{Direction, Pattern};

use crate::kriging::LogEstimate;
use crate::observed_cell::ObservedCell;
use crate::observed_path::ObservedPath;

/// Least probability of being the better advice that makes a cell worth a run.
const RIVAL: f64 = 0.25;

/// Half power on one depth's curve, measured or predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HalfPowerBracket {
    /// The best cell measured.
    pub peak: usize,
    /// Half of the peak's rate, with its deviation.
    pub half: LogEstimate,
    /// The smallest size that reaches half of the peak, measured or predicted.
    pub reached: usize,
    /// The next smaller size, if there is one.
    pub below: Option<usize>,
}

/// Half power at a depth, given by its index on the axis; `None` until one of its cells was measured.
pub(crate) fn half_power(path: &ObservedPath, depth: usize) -> Option<HalfPowerBracket> {
    let on_curve = || path.of_depth(depth).filter(|cell| !path.closed(*cell));
    let peak = best(path, on_curve().filter(|cell| path.cells[*cell].sound()))?;
    let half = LogEstimate { log: path.rates[peak].log - 2f64.ln(), ..path.rates[peak] };
    let reached = on_curve().find(|cell| path.rates[*cell].log >= half.log)?;
    let below = on_curve().take_while(|cell| *cell < reached).last();
    Some(HalfPowerBracket { peak, half, reached, below })
}

impl HalfPowerBracket {
    /// The probability that the cell reaches half of the peak.
    pub fn reaches(&self, path: &ObservedPath, cell: usize) -> f64 {
        path.rates[cell].above_estimate(&self.half)
    }

    /// The probability that the cell is on the other side of half power than it seems; 0 for the peak itself.
    pub fn doubt(&self, path: &ObservedPath, cell: usize) -> f64 {
        let reaches = self.reaches(path, cell);
        if cell == self.peak { 0.0 } else { reaches.min(1.0 - reaches) }
    }
}

/// The cell with the highest rate; the first of equal ones.
pub(crate) fn best(path: &ObservedPath, cells: impl Iterator<Item = usize>) -> Option<usize> {
    cells.reduce(|best, cell| if path.rates[cell].log > path.rates[best].log { cell } else { best })
}

/// A cell among all paths: index of the path, and of the cell in it.
pub(crate) type CellId = (usize, usize);

/// The advice for one pattern and direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct AdvisedCells {
    /// The advised cell among those measured.
    pub stands: Option<CellId>,
    /// The cell that would be advised if all predictions were right.
    pub presumed: Option<CellId>,
    /// Cells that may be better advice, each with the probability of it.
    pub rivals: Vec<(CellId, f64)>,
}

/// A cell that may be advised.
struct AdviceCandidate {
    cell: CellId,
    measured: bool,
    rate: LogEstimate,
    cost: LogEstimate,
    ease: Ease,
}

impl AdviceCandidate {
    fn contender(&self) -> Contender {
        Contender { log_rate: self.rate.log, log_cost: self.cost.log, ease: self.ease }
    }
}

/// The advice over `paths` of one pattern and direction, each with its index.
pub(crate) fn advice(paths: &[(usize, &ObservedPath)]) -> AdvisedCells {
    let candidates = candidates(paths);
    let measured: Vec<&AdviceCandidate> = candidates.iter().filter(|candidate| candidate.measured).collect();
    let Some(best) = measured.iter().map(|candidate| candidate.rate.log).reduce(f64::max) else {
        return AdvisedCells::default();
    };
    let stands = policy::advised(measured.iter().map(|candidate| candidate.contender()), best);
    let presumed = policy::advised(candidates.iter().map(AdviceCandidate::contender), best);
    let Some(chosen) = stands.map(|place| measured[place]) else { return AdvisedCells::default() };
    let near = policy::near_best(best);
    let dear = policy::same_cost(chosen.cost.log);
    let rival = |candidate: &AdviceCandidate| {
        let better = candidate.cell != chosen.cell && candidate.contender().may_displace(&chosen.contender());
        let likely = candidate.rate.above(near) * (1.0 - candidate.cost.above(dear));
        (better && likely >= RIVAL).then_some((candidate.cell, likely))
    };
    AdvisedCells {
        stands: Some(chosen.cell),
        presumed: presumed.map(|place| candidates[place].cell),
        rivals: candidates.iter().filter_map(rival).collect(),
    }
}

fn candidates(paths: &[(usize, &ObservedPath)]) -> Vec<AdviceCandidate> {
    let direct = paths.iter().filter(|(_, path)| path.cache.direct() && path.direction == Direction::Read);
    let best_direct =
        direct.filter_map(|(_, path)| best(path, path.sound()).map(|cell| path.rates[cell].log)).reduce(f64::max);
    let mut candidates = Vec::new();
    for (number, path) in paths.iter().filter(|(_, path)| !path.rates.is_empty()) {
        let is_buffered_read = policy::is_buffered_read(path.cache, path.direction);
        let limit = best_direct.filter(|_| is_buffered_read);
        let most = limit.map_or(f64::INFINITY, |best| best + policy::ABOVE_DIRECT.ln());
        let is_the_devices = |cell: &ObservedCell| cell.rate.count > 0 && !cell.unwitnessed;
        let allowed = |number: &usize| {
            let cell = &path.cells[*number];
            !path.closed(*number) && !cell.cached && (path.rates[*number].log <= most || is_the_devices(cell))
        };
        candidates.extend((0..path.cells.len()).filter(allowed).map(|cell| {
            let (depth, bs) = path.settings(cell);
            let measured = path.cells[cell].sound();
            let rate = path.rates[cell];
            let cost = path.costs[cell];
            AdviceCandidate { cell: (*number, cell), measured, rate, cost, ease: (depth, bs, path.cache) }
        }));
    }
    candidates
}

/// The cells of the first screen's rows of small requests on a direct path of random ones: the smallest block size at the
/// last depth, for reads also at the first.
pub(crate) fn row_cells(path: &ObservedPath) -> Vec<usize> {
    if path.pattern != Pattern::Random || !path.cache.direct() {
        return Vec::new();
    }
    let deep = path.cell_at(path.depths.len() - 1, 0);
    let alone = path.cell_at(0, 0);
    let mut cells = if path.direction == Direction::Read { vec![alone, deep] } else { vec![deep] };
    cells.dedup();
    cells.retain(|cell| !path.closed(*cell));
    cells
}

/// The shown cells of a direct path of random requests: the smallest block size at the first and the last depth; for
/// reads also the size next to a database page at every depth, which the advice needs.
pub(crate) fn shown_cells(path: &ObservedPath) -> Vec<usize> {
    if path.pattern != Pattern::Random || !path.cache.direct() {
        return Vec::new();
    }
    let last = path.depths.len() - 1;
    let mut cells = vec![path.cell_at(0, 0), path.cell_at(last, 0)];
    if path.direction == Direction::Read {
        let database = policy::database_bs(path.sizes.iter().copied());
        if let Some(size) = path.sizes.iter().position(|size| Some(*size) == database) {
            cells.extend((0..=last).map(|depth| path.cell_at(depth, size)));
        }
    }
    cells.sort_unstable();
    cells.dedup();
    cells.retain(|cell| !path.closed(*cell));
    cells
}
