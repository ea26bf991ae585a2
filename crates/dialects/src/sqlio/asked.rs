//! Holds what was collected of a line of SQLIO's.

use super::shown::Shown;
use crate::RunWords;

/// What was collected of a line.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub(super) run: RunWords,
    pub(super) shown: Shown,
    pub(super) writes: bool,
    pub(super) random: bool,
    pub(super) synchronous: bool,
    pub(super) bs: Option<u64>,
}
