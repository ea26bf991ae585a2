//! Measures `credit`: the burst that a limit allows after a rest, and the rate that it sustains.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub(crate) use analysis::sustained;
pub use answer::CreditAnswer as Answer;
pub use rows::Rows;
