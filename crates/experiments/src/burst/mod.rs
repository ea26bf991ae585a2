//! Measures `burst`: rereads of the same few blocks, which need no medium.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub(crate) use analysis::measured_link;
pub use answer::BurstAnswer as Answer;
pub use rows::Rows;
