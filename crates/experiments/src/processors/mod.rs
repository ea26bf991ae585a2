//! Measures `processors`: the same work on one processor and on all.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub use answer::ProcessorsAnswer as Answer;
pub use rows::Rows;
