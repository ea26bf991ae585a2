//! Measures `hosts`: the throughput that each further host adds, and each host alone.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub(crate) use analysis::shared_ceiling;
pub use answer::HostsAnswer as Answer;
pub use rows::Rows;
