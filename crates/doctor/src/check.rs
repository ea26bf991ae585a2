//! Defines a check: one row with its documentation and the function that looks.

use crate::{Outcome, Place};

/// One check of a setting or a state. All texts stand in `docs/doctor.md`.
#[derive(Debug)]
pub struct Check {
    /// Stable name, in kebab case.
    pub code: &'static str,
    /// The check in a few words.
    pub title: &'static str,
    /// The files that it reads.
    pub reads: &'static [&'static str],
    /// When it applies.
    pub applies: &'static str,
    /// What it finds, and what that costs.
    pub costs: &'static str,
    /// The documents that support it.
    pub source: &'static str,
    /// How it is changed, and changed back.
    pub change: &'static str,
    /// Looks at a place; one outcome for each device or file concerned.
    pub look: fn(&Place) -> Vec<Outcome>,
}
