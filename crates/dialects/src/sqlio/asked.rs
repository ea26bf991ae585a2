//! Holds the options collected from an SQLIO line.

use super::shown::Shown;
use crate::RunWords;

/// The options collected from a line.
#[derive(Debug, Clone, Default)]
pub struct ParsedOptions {
    pub(super) run: RunWords,
    pub(super) shown: Shown,
    pub(super) writes: bool,
    pub(super) random: bool,
    pub(super) synchronous: bool,
    pub(super) bs: Option<u64>,
}
