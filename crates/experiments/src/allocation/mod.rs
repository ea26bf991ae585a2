//! Measures `allocation`: writes that extend a file, and writes into existing blocks.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub use answer::AllocationAnswer as Answer;
pub use rows::Rows;
