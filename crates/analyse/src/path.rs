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

/// The cell with the highest throughput; of equals the first.
pub(crate) fn best<'a>(cells: impl Iterator<Item = &'a CellFinding>) -> Option<&'a CellFinding> {
    cells.reduce(|best, cell| if cell.mbps.value > best.mbps.value { cell } else { best })
}

/// The cell that stands for how fast a direction is, over all paths; `None` where none of it is usable.
pub fn peak(cells: &[CellFinding], rw: Direction) -> Option<&CellFinding> {
    let usable = cells.iter().filter(|cell| cell.rw == rw && cell.usable());
    chosen(usable.clone()).or_else(|| leading(usable))
}

/// The confirmed cell that plain runs chose: its own value had no part in the choice. Where confirming runs show that
/// another confirmed cell is faster, by more than 95% intervals leave open, that one.
pub(crate) fn chosen<'a>(cells: impl Iterator<Item = &'a CellFinding> + Clone) -> Option<&'a CellFinding> {
    let by_plain_runs = cells.clone().filter_map(|cell| Some((cell.chosen_mbps?, cell)));
    let (_, chosen) = by_plain_runs.reduce(|most, next| if next.0 > most.0 { next } else { most })?;
    let faster = cells.filter(|cell| cell.chosen_mbps.is_some() && cell.mbps.is_above(&chosen.mbps));
    best(faster).or(Some(chosen))
}

/// The cell that stands for the best: of those that were steady, or where none was, of all.
pub(crate) fn leading<'a>(cells: impl Iterator<Item = &'a CellFinding> + Clone) -> Option<&'a CellFinding> {
    best(cells.clone().filter(|cell| cell.steady)).or_else(|| best(cells))
}
