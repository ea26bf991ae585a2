//! Names a path: the pattern, cache setting and direction in words.

use crate::{Cache, Direction, Pattern};

/// A path in words, such as `random direct read`.
pub fn path_words(pattern: Pattern, cache: Cache, rw: Direction) -> String {
    let order = if pattern == Pattern::Unknown { "order unknown," } else { pattern.word() };
    format!("{order} {} {rw}", cache_word(cache))
}

/// The cache setting as an adjective.
pub fn cache_word(cache: Cache) -> &'static str {
    match cache {
        Cache::Both => "buffered",
        Cache::Os => "durable buffered",
        Cache::Device => "direct",
        Cache::None => "durable direct",
    }
}
