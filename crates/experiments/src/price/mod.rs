//! Measures `price`: accesses and bytes for the money.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
pub(crate) mod words;

pub use answer::PriceAnswer as Answer;
pub use rows::Rows;
