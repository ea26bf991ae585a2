//! Measures `network`: the rates of a share by block size, depth, connections, sealing and way, and their cost at both
//! ends.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
pub(crate) mod sealed;
#[cfg(test)]
mod tests;
pub(crate) mod ways;
pub(crate) mod words;

pub use answer::NetworkAnswer as Answer;
pub use rows::Rows;
