//! Which cells does the answer hang on? What is known of the paths enters; peaks, half power and advice leave, as
//! they stand and as they may turn out.

use spec::{Bytes, Cache, Direction, Question};

use crate::belief::Estimate;
use crate::known::KnownPath;

/// Runs that a deciding cell gets: the peak, the half-power bracket, the advised cell.
pub(crate) const DECIDING_RUNS: u32 = 5;
/// A cell this close to the best is as good as the best (as in the advice of the analysis).
const NEAR_BEST: f64 = 0.95;
/// Costs that differ by less are equal (the same).
const SAME_COST: f64 = 1.05;
/// How far above the best direct read a buffered one may be before it is a cache's (the same).
const ABOVE_DIRECT: f64 = 1.5;
/// Probability of being the better advice from which a cell is worth a look.
const RIVAL: f64 = 0.25;

/// Runs of a deciding cell: five, or two more than the others get where few are asked for.
pub(crate) fn deciding_runs(question: &Question) -> u32 {
    question.repeats.max(DECIDING_RUNS.min(question.repeats + 2))
}

/// Where half power lies on one depth's curve, as far as it is known or predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Curve {
    /// The best cell measured.
    pub peak: usize,
    /// Half of its rate, with its deviation.
    pub half: Estimate,
    /// The smallest size that reaches half of the peak, by measurement or by prediction.
    pub reached: usize,
    /// The size below it, where there is one.
    pub below: Option<usize>,
}

/// The curve of a depth, by the depth's place on its axis; `None` until a cell of it was measured.
pub(crate) fn curve(path: &KnownPath, depth: usize) -> Option<Curve> {
    let on_curve = || path.of_depth(depth).filter(|cell| !path.closed(*cell));
    let peak = best(path, on_curve().filter(|cell| path.cells[*cell].sound()))?;
    let half = Estimate { log: path.rates[peak].log - 2f64.ln(), ..path.rates[peak] };
    let reached = on_curve().find(|cell| path.rates[*cell].log >= half.log)?;
    let below = on_curve().take_while(|cell| *cell < reached).last();
    Some(Curve { peak, half, reached, below })
}

impl Curve {
    /// The probability that the cell reaches half of the peak.
    pub fn reaches(&self, path: &KnownPath, cell: usize) -> f64 {
        let own = path.rates[cell];
        Estimate { log: own.log, deviation: own.deviation.hypot(self.half.deviation) }.above(self.half.log)
    }

    /// The probability that the cell turns out on the other side of half power than it seems; 0 for the peak itself.
    pub fn doubt(&self, path: &KnownPath, cell: usize) -> f64 {
        let reaches = self.reaches(path, cell);
        if cell == self.peak { 0.0 } else { reaches.min(1.0 - reaches) }
    }
}

/// The cell of the highest rate; of equals the first.
pub(crate) fn best(path: &KnownPath, cells: impl Iterator<Item = usize>) -> Option<usize> {
    cells.reduce(|best, cell| if path.rates[cell].log > path.rates[best].log { cell } else { best })
}

/// A cell among all paths: the path's number and its own.
pub(crate) type CellName = (usize, usize);

/// What is advised for one pattern and direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Advice {
    /// The advised cell of those measured.
    pub stands: Option<CellName>,
    /// The cell that would be advised if every prediction were right.
    pub presumed: Option<CellName>,
    /// Cells that may turn out to be better advice, with the probability of it.
    pub rivals: Vec<(CellName, f64)>,
}

/// One cell as advice sees it.
struct Candidate {
    name: CellName,
    measured: bool,
    rate: Estimate,
    cost: Estimate,
    /// Depth, then block size: of equally cheap cells the one that asks least of an application.
    ease: (u32, Bytes, Cache),
}

/// The advice over `paths` that share a pattern and a direction, each with its number.
pub(crate) fn advice(paths: &[(usize, &KnownPath)]) -> Advice {
    let candidates = candidates(paths);
    let measured = || candidates.iter().filter(|candidate| candidate.measured);
    let Some(best) = measured().map(|candidate| candidate.rate.log).reduce(f64::max) else {
        return Advice::default();
    };
    let near = best + NEAR_BEST.ln();
    let stands = cheapest(measured(), near);
    let presumed = cheapest(candidates.iter(), near);
    let Some(chosen) = stands else { return Advice::default() };
    let dear = chosen.cost.log + SAME_COST.ln();
    let rival = |candidate: &Candidate| {
        let easier = candidate.ease < chosen.ease;
        let cheaper = candidate.cost.log < chosen.cost.log - SAME_COST.ln();
        let likely = candidate.rate.above(near) * (1.0 - candidate.cost.above(dear));
        (candidate.name != chosen.name && (easier || cheaper) && likely >= RIVAL).then_some((candidate.name, likely))
    };
    Advice {
        stands: Some(chosen.name),
        presumed: presumed.map(|candidate| candidate.name),
        rivals: candidates.iter().filter_map(rival).collect(),
    }
}

fn candidates(paths: &[(usize, &KnownPath)]) -> Vec<Candidate> {
    let direct = paths.iter().filter(|(_, path)| path.cache.direct() && path.direction == Direction::Read);
    let best_direct =
        direct.filter_map(|(_, path)| best(path, path.sound()).map(|cell| path.rates[cell].log)).reduce(f64::max);
    let mut candidates = Vec::new();
    for (number, path) in paths.iter().filter(|(_, path)| !path.rates.is_empty()) {
        let buffered_read = !path.cache.direct() && path.direction == Direction::Read;
        let most = best_direct.filter(|_| buffered_read).map_or(f64::INFINITY, |best| best + ABOVE_DIRECT.ln());
        let allowed = |cell: &usize| {
            let known = &path.cells[*cell];
            !path.closed(*cell) && !known.cached && path.rates[*cell].log <= most
        };
        candidates.extend((0..path.cells.len()).filter(allowed).map(|cell| {
            let (depth, bs) = path.settings(cell);
            let measured = path.cells[cell].sound();
            let (rate, cost) = (path.rates[cell], path.costs[cell]);
            Candidate { name: (*number, cell), measured, rate, cost, ease: (depth, bs, path.cache) }
        }));
    }
    candidates
}

/// Of the cells with a rate near the best, those about as cheap as the cheapest; of these the easiest.
fn cheapest<'a>(candidates: impl Iterator<Item = &'a Candidate>, near: f64) -> Option<&'a Candidate> {
    let good: Vec<&Candidate> = candidates.filter(|candidate| candidate.rate.log >= near).collect();
    let least = good.iter().map(|candidate| candidate.cost.log).reduce(f64::min)?;
    let affordable = good.into_iter().filter(|candidate| candidate.cost.log <= least + SAME_COST.ln());
    affordable.min_by_key(|candidate| candidate.ease)
}
