//! Writes numbers, sizes, times and paths as short text for people.
//!
//! The experiments and the report use it for their sentences. The analysis does not: it returns numbers.

pub mod format;
mod path;

pub use path::{cache_word, path_words};
