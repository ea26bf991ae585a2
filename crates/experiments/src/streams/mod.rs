//! Measures `streams`: concurrent sequential streams, and one among random readers.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
pub(crate) mod words;

pub use answer::StreamsAnswer as Answer;
pub use rows::Rows;
