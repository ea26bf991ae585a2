//! Groups cells into paths, and finds the best cell of each.

use halfpower_spec::Direction;

use crate::{CellFinding, PathSettings};

/// The cells of one path, in the order of the cells.
#[derive(Debug, Clone)]
pub(crate) struct MeasuredPath<'a> {
    pub settings: PathSettings,
    pub cells: Vec<&'a CellFinding>,
}

/// All paths of these cells, in the order of the cells.
pub(crate) fn paths(cells: &[CellFinding]) -> Vec<MeasuredPath<'_>> {
    let mut paths: Vec<MeasuredPath<'_>> = Vec::new();
    for cell in cells {
        match paths.iter_mut().find(|path| path.settings == cell.path()) {
            Some(path) => path.cells.push(cell),
            None => paths.push(MeasuredPath { settings: cell.path(), cells: vec![cell] }),
        }
    }
    paths
}

impl MeasuredPath<'_> {
    /// The cells that conclusions may rest on.
    pub fn usable(&self) -> impl Iterator<Item = &CellFinding> + Clone {
        self.cells.iter().copied().filter(|cell| cell.usable())
    }
}

/// The cell with the highest throughput; the first among equals.
pub(crate) fn best<'a>(cells: impl Iterator<Item = &'a CellFinding>) -> Option<&'a CellFinding> {
    cells.reduce(|best, cell| if cell.mbps.value > best.mbps.value { cell } else { best })
}

/// The cell that represents how fast a direction is, over all paths; `None` if no cell of it is usable.
pub fn peak(cells: &[CellFinding], rw: Direction) -> Option<&CellFinding> {
    peak_of(cells.iter().filter(|cell| cell.usable()), rw)
}

/// The cell that represents how fast a path is; `None` if no cell of it is usable.
pub fn path_peak(cells: &[CellFinding], path: PathSettings) -> Option<&CellFinding> {
    peak_of(cells.iter().filter(|cell| cell.path() == path && cell.usable()), path.rw)
}

/// The cell of this direction that represents the best of these: the confirmed one, otherwise the leading one.
pub(crate) fn peak_of<'a>(
    cells: impl Iterator<Item = &'a CellFinding> + Clone,
    rw: Direction,
) -> Option<&'a CellFinding> {
    let of_direction = cells.filter(|cell| cell.rw == rw);
    chosen(of_direction.clone()).or_else(|| leading(of_direction))
}

/// The cell that represents the best of these in either direction; a steady one before others. Whatever tells the best
/// of a study asks here or [`peak`], so that it has one best.
pub(crate) fn peak_of_both<'a>(cells: impl Iterator<Item = &'a CellFinding> + Clone) -> Option<&'a CellFinding> {
    let rank = |cell: &CellFinding| (cell.steady, cell.mbps.value);
    let peaks = Direction::ALL.iter().filter_map(|rw| peak_of(cells.clone(), *rw));
    peaks.reduce(|best, next| if rank(next) > rank(best) { next } else { best })
}

/// The confirmed cell that represents the best of these; one whose runs differ so much that its rate is not known only
/// where there is no other.
pub(crate) fn chosen<'a>(cells: impl Iterator<Item = &'a CellFinding> + Clone) -> Option<&'a CellFinding> {
    let known = cells.clone().filter(|cell| cell.sureness().is_known());
    chosen_of_all(known).or_else(|| chosen_of_all(cells))
}

/// The confirmed cell of this direction that would represent the best if its rate were known.
pub(crate) fn unsure_peak(cells: &[CellFinding], rw: Direction) -> Option<&CellFinding> {
    let of_direction = cells.iter().filter(|cell| cell.rw == rw && cell.usable());
    chosen_of_all(of_direction).filter(|cell| !cell.sureness().is_known())
}

/// The confirmed cell that plain runs chose, because its own value had no part in the choice; or another confirmed cell
/// whose confirming runs gave more, by more than the 95% intervals or known at least as well. Where no more than chance
/// divides the two, either may be called the best; that the better known one is keeps a page from advising more than its
/// best.
fn chosen_of_all<'a>(cells: impl Iterator<Item = &'a CellFinding> + Clone) -> Option<&'a CellFinding> {
    let by_plain_runs = cells.clone().filter_map(|cell| Some((cell.chosen_mbps?, cell)));
    let (_, chosen) = by_plain_runs.reduce(|most, next| if next.0 > most.0 { next } else { most })?;
    let is_faster = |cell: &&CellFinding| {
        let is_known_as_well = cell.mbps.relative_reach() <= chosen.mbps.relative_reach();
        let gave_more = cell.mbps.value > chosen.mbps.value && is_known_as_well;
        cell.chosen_mbps.is_some() && (gave_more || cell.mbps.is_above(&chosen.mbps))
    };
    best(cells.filter(is_faster)).or(Some(chosen))
}

/// The cell that represents the best: among the steady ones, or among all if none was steady.
pub(crate) fn leading<'a>(cells: impl Iterator<Item = &'a CellFinding> + Clone) -> Option<&'a CellFinding> {
    best(cells.clone().filter(|cell| cell.steady)).or_else(|| best(cells))
}
