//! Measures `anatomy`: where a request's time goes below the system call.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub use answer::AnatomyAnswer as Answer;
pub use rows::Rows;
