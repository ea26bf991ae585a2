//! Measures `durability`: what it costs to have writes on the medium.

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
