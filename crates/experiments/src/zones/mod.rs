//! Measures `zones`: the speed of each part of the target.

pub(crate) mod analysis;
pub(crate) mod answer;
mod bands;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub use answer::ZonesAnswer as Answer;
pub use rows::Rows;
