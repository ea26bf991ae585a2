//! Measures `buffered`: what the page cache adds to a request and what it saves.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod cost;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub use answer::BufferedAnswer as Answer;
pub use rows::Rows;
