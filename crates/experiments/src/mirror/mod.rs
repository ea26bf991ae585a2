//! Measures `mirror`: two copies compared with a stripe and with one member.

pub(crate) mod analysis;
pub(crate) mod answer;
pub(crate) mod pictures;
pub(crate) mod plan;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub use answer::MirrorAnswer as Answer;
pub use rows::Rows;
