//! Chooses the cells to confirm, and computes how many confirming runs each still needs.
//!
//! The best of many noisy means is too high (the winner's curse). So plain runs choose the peak of each direction and
//! the advised cell of each pattern and direction, and separate confirming runs give the reported value. Once a choice
//! has a confirming run, it stays, whatever later plain runs show.

use std::collections::BTreeSet;

use halfpower_analyse::policy::near_best;
use halfpower_spec::{Direction, Experiment, Pattern};

use crate::deciding_cells::{AdvisedCells, CellId, best};
use crate::kriging::{LogEstimate, highest};
use crate::observed_cell::{SHARP, Sample};
use crate::observed_path::ObservedPath;

/// Fewest runs behind a reported value.
pub(crate) const LEAST_RUNS: u32 = 3;
/// Most cells of a direction that are confirmed, including advised cells.
const MOST_CHOSEN: usize = 8;
/// Least probability of being faster than all confirmed cells at which another cell is confirmed too.
const SURELY_FASTER: f64 = 0.95;
/// Most confirming runs of a cell, however wide its interval.
const MOST_RUNS: u32 = 400;

/// The cells whose values are reported: the peak of each direction and the advised cell of each kind.
pub(crate) fn chosen(
    paths: &[ObservedPath],
    advice: impl Fn(Experiment, Direction) -> Option<AdvisedCells>,
) -> BTreeSet<CellId> {
    let mut chosen = BTreeSet::new();
    for direction in Direction::ALL {
        let of_direction: Vec<(usize, &ObservedPath)> =
            paths.iter().enumerate().filter(|(_, path)| path.direction == *direction).collect();
        let begun = confirming(&of_direction);
        if !begun.is_empty() {
            chosen.extend(challenger(paths, *direction, &begun));
            chosen.extend(begun);
            continue;
        }
        let advised =
            Pattern::ALL.iter().filter_map(|pattern| advice(Experiment::walking(*pattern), *direction)?.stands);
        chosen.extend(advised.chain(peak(&of_direction)));
    }
    chosen
}

/// A cell whose plain runs, with its neighbours', are faster than the confirming runs of all chosen cells, by more than
/// chance explains: either the choice was wrong, or the path has changed. It is confirmed too, so that the report does
/// not contradict itself. `None` if there is no such cell, or too many cells were chosen already.
fn challenger(paths: &[ObservedPath], direction: Direction, begun: &[CellId]) -> Option<CellId> {
    let confirmed = |(number, cell): &CellId| (&paths[*number].cells[*cell].confirmed, paths[*number].spread);
    if begun.len() >= MOST_CHOSEN || begun.iter().any(|cell| confirmed(cell).0.count < LEAST_RUNS) {
        return None;
    }
    let given = |cell: &CellId| {
        let (sample, spread) = confirmed(cell);
        let deviation = sample.variance().sqrt().max(spread) / f64::from(sample.count).sqrt();
        (LogEstimate { log: sample.mean.ln(), deviation }, *cell)
    };
    let (best, _) = highest(begun.iter().map(given))?;
    let fastest = |(number, path): (usize, &ObservedPath)| {
        let (rate, cell) = path.fastest_by_all(|cell| !cell.cached && cell.confirmed.count == 0)?;
        Some((rate, (number, cell)))
    };
    let open = paths.iter().enumerate().filter(|(_, path)| path.direction == direction);
    let (rate, rival) = highest(open.filter_map(fastest))?;
    (rate.above_estimate(&best) > SURELY_FASTER).then_some(rival)
}

/// The cells that have confirming runs.
fn confirming(paths: &[(usize, &ObservedPath)]) -> Vec<CellId> {
    let of_path = |(number, path): &(usize, &ObservedPath)| {
        let begun = (0..path.cells.len()).filter(|cell| path.cells[*cell].confirmed.count > 0);
        begun.map(|cell| (*number, cell)).collect::<Vec<_>>()
    };
    paths.iter().flat_map(of_path).collect()
}

/// The direct cell of a direction with the fastest plain runs, among those with confirming runs or else among all.
pub(crate) fn chosen_direct(paths: &[ObservedPath], direction: Direction) -> Option<CellId> {
    chosen_of(paths, |path| path.direction == direction && path.cache.direct())
}

/// As [`chosen_direct`], but the fastest in order where that is near the best: large requests are those of copies, which
/// read and write in order.
pub(crate) fn chosen_for_copies(paths: &[ObservedPath], direction: Direction) -> Option<CellId> {
    let best = chosen_direct(paths, direction)?;
    let is_in_order =
        |path: &ObservedPath| (path.direction, path.pattern) == (direction, Pattern::Sequential) && path.cache.direct();
    let near = |name: &CellId| rate(paths, name) >= near_best(rate(paths, &best));
    Some(chosen_of(paths, is_in_order).filter(near).unwrap_or(best))
}

/// The peaks that would be reported: for each direction the cell with the fastest plain runs, among those with
/// confirming runs or else among all.
pub(crate) fn chosen_peaks(paths: &[ObservedPath]) -> Vec<CellId> {
    Direction::ALL.iter().filter_map(|direction| chosen_of(paths, |path| path.direction == *direction)).collect()
}

fn chosen_of(paths: &[ObservedPath], is_one: impl Fn(&ObservedPath) -> bool) -> Option<CellId> {
    let these: Vec<(usize, &ObservedPath)> = paths.iter().enumerate().filter(|(_, path)| is_one(path)).collect();
    let confirmed = confirming(&these).into_iter().max_by(|one, other| rate(paths, one).total_cmp(&rate(paths, other)));
    confirmed.or_else(|| peak(&these))
}

/// Logarithm of a cell's rate; a path has no rates if every run of its cells has failed since.
fn rate(paths: &[ObservedPath], name: &CellId) -> f64 {
    paths[name.0].rates.get(name.1).map_or(f64::NEG_INFINITY, |rate| rate.log)
}

/// The direct cell of a direction with the fastest plain runs so far.
pub(crate) fn direct_peak(paths: &[ObservedPath], direction: Direction) -> Option<CellId> {
    let direct = |path: &&ObservedPath| path.direction == direction && path.cache.direct();
    peak(&paths.iter().enumerate().filter(|(_, path)| direct(path)).collect::<Vec<_>>())
}

fn peak(paths: &[(usize, &ObservedPath)]) -> Option<CellId> {
    let of_path = |(number, path): &(usize, &ObservedPath)| {
        let uncached = path.sound().filter(|cell| !path.cells[*cell].cached);
        best(path, uncached).map(|cell| (path.rates[cell], (*number, cell)))
    };
    let peaks = paths.iter().filter(|(_, path)| !path.rates.is_empty()).filter_map(of_path);
    highest(peaks).map(|(_, name)| name)
}

/// Number of confirming runs that a cell still needs, estimated from its runs so far.
pub(crate) fn wanted_runs(path: &ObservedPath, cell: usize) -> u32 {
    runs_to_know(&path.cells[cell].confirmed, path.spread)
}

/// Number of further runs after which the interval of these is expected to be within 5%.
pub(crate) fn runs_to_know(sample: &Sample, spread: f64) -> u32 {
    let done = sample.count;
    let enough = (LEAST_RUNS.max(done)..MOST_RUNS).find(|count| sample.reach(*count, spread) <= SHARP);
    enough.unwrap_or(MOST_RUNS).saturating_sub(done)
}
