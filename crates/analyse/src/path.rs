//! Which cells share a way through the system? Sorted cells enter, one path for each pattern, direction and
//! cache setting leaves, with the words that people call it by.

use spec::{Cache, Direction, Pattern};

use crate::{CellFinding, format};

/// The cells of one pattern, direction and cache setting, in the order of the cells.
#[derive(Debug, Clone)]
pub(crate) struct Path<'a> {
    pub pattern: Pattern,
    pub rw: Direction,
    pub cache: Cache,
    pub cells: Vec<&'a CellFinding>,
}

/// All paths of these cells, in the order of the cells.
pub(crate) fn paths(cells: &[CellFinding]) -> Vec<Path<'_>> {
    let mut paths: Vec<Path<'_>> = Vec::new();
    for cell in cells {
        let same = |path: &&mut Path<'_>| (path.pattern, path.rw, path.cache) == (cell.pattern, cell.rw, cell.cache);
        match paths.iter_mut().find(same) {
            Some(path) => path.cells.push(cell),
            None => {
                paths.push(Path { pattern: cell.pattern, rw: cell.rw, cache: cell.cache, cells: vec![cell] });
            }
        }
    }
    paths
}

impl Path<'_> {
    /// Its name in words, such as `random direct read`.
    pub fn words(&self) -> String {
        path_words(self.pattern, self.cache, self.rw)
    }

    /// The cells that conclusions may rest on.
    pub fn usable(&self) -> impl Iterator<Item = &CellFinding> + Clone {
        self.cells.iter().copied().filter(|cell| cell.usable())
    }
}

/// A path in words, such as `random direct read`.
pub(crate) fn path_words(pattern: Pattern, cache: Cache, rw: Direction) -> String {
    format!("{pattern} {} {rw}", cache_word(cache))
}

/// The cache setting as an adjective.
pub(crate) fn cache_word(cache: Cache) -> &'static str {
    match cache {
        Cache::Both => "buffered",
        Cache::Os => "durable buffered",
        Cache::Device => "direct",
        Cache::None => "durable direct",
    }
}

/// The settings of a cell that its path leaves open: `256 KiB, 8 deep`.
pub(crate) fn settings_words(cell: &CellFinding) -> String {
    let threads = if cell.threads > 1 { format!(", {} threads", cell.threads) } else { String::new() };
    format!("{}, {} deep{threads}", format::size(cell.bs_bytes as f64), cell.iodepth)
}

/// The cell with the highest throughput; of equals the first.
pub(crate) fn best<'a>(cells: impl Iterator<Item = &'a CellFinding>) -> Option<&'a CellFinding> {
    cells.reduce(|best, cell| if cell.mbps.value > best.mbps.value { cell } else { best })
}

/// The cell that stands for how fast a direction is, over all paths; `None` where none of it is usable.
pub fn peak(cells: &[CellFinding], rw: Direction) -> Option<&CellFinding> {
    leading(cells.iter().filter(|cell| cell.rw == rw && cell.usable()))
}

/// The cell that stands for the best: of those that were steady, or where none was, of all.
pub(crate) fn leading<'a>(cells: impl Iterator<Item = &'a CellFinding> + Clone) -> Option<&'a CellFinding> {
    best(cells.clone().filter(|cell| cell.steady)).or_else(|| best(cells))
}
