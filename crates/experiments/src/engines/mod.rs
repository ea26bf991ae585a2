//! Measures `engines`: the same work through every engine and way of issuing.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod issuing;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub use answer::EnginesAnswer as Answer;
pub use rows::Rows;
