//! Writes paths and cells by their settings.

use halfpower_analyse::{CellSettings, Cost, PathSettings};
use halfpower_spec::{Cache, IoMem, Pattern};
use halfpower_spec::{cache_word, format, path_words};

/// A path, such as `random direct read`.
pub fn path(path: PathSettings) -> String {
    path_words(path.pattern, path.cache, path.rw)
}

/// The pattern as the first word of a path: `sequential`, `random`.
pub(crate) fn pattern_word(pattern: Pattern) -> &'static str {
    if pattern == Pattern::Unknown { "order unknown," } else { pattern.word() }
}

/// The same where 80 columns are few: `seq.`.
pub(crate) fn short_pattern(pattern: Pattern) -> &'static str {
    if pattern == Pattern::Sequential { "seq." } else { pattern_word(pattern) }
}

/// The cache setting where direct goes without saying: `buffered`, `durable`; `None` for direct itself.
pub(crate) fn cache_beside_direct(cache: Cache) -> Option<&'static str> {
    match cache {
        Cache::Both | Cache::Os => Some(cache_word(cache)),
        Cache::Device => None,
        Cache::None => Some("durable"),
    }
}

/// The settings of a cell that its path does not have: `256 KiB, 8 deep`.
pub(crate) fn size_and_depth(cell: &CellSettings) -> String {
    let threads = if cell.threads > 1 { format!(", {} threads", cell.threads) } else { String::new() };
    format!("{}, {} deep{threads}", format::size(cell.bs_bytes as f64), cell.iodepth)
}

/// A cell, such as `random direct read, 4 KiB, 8 deep`.
pub(crate) fn cell(cell: &CellSettings) -> String {
    format!("{}, {}", path(cell.path()), size_and_depth(cell))
}

/// The path of a cost, with its representative depth: `random direct read, 8 deep`.
pub(crate) fn cost_path(cost: &Cost) -> String {
    let of_depth = cost.iodepth.map_or(String::new(), |depth| format!(", {depth} deep"));
    format!("{}{of_depth}", path_words(cost.pattern, cost.cache, cost.rw))
}

/// In what the buffers of requests lie: `huge pages`.
pub(crate) fn pages(iomem: IoMem) -> &'static str {
    match iomem {
        IoMem::Pages => "ordinary pages",
        IoMem::Huge => "huge pages",
    }
}

/// A number of things: `1 cell`, `12 cells`.
pub(crate) fn count(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{} {noun}s", format::thousands(count as f64)) }
}

/// The text with an initial capital.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
