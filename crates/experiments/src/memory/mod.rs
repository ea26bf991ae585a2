//! Measures `memory`: how fast the processors read, write and copy memory.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub(crate) use analysis::measured_copy;
pub use analysis::{loop_ns_per_kib, memory};
pub use answer::MemoryAnswer as Answer;
pub use rows::Rows;
