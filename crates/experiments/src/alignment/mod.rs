//! Measures `alignment`: requests that begin off chunks, pages and blocks.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub use answer::AlignmentAnswer as Answer;
pub use rows::Rows;
