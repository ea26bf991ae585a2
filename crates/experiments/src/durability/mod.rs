//! Measures `durability`: the cost of writes that are on the medium when they complete.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub use answer::DurabilityAnswer as Answer;
pub use rows::Rows;
