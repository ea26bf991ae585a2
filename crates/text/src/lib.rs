//! Writes numbers, sizes, times and paths as short text for people.
//!
//! Everything that makes sentences uses it: the experiments and the report. The analysis does not: it returns numbers.

pub mod format;
mod path;

pub use path::{cache_word, path_words};
