//! Combines the parts of the table of fio's options.

use super::job::Job;
use super::{issuing_options, other_options, workload_options};
use crate::OptionRow;

/// All options, those of the workload first.
pub(crate) fn all() -> impl Iterator<Item = &'static OptionRow<Job>> {
    workload_options::OPTIONS.iter().chain(issuing_options::OPTIONS).chain(other_options::OPTIONS)
}

/// The row of a key, in any of its spellings.
pub(super) fn named(key: &str) -> Option<&'static OptionRow<Job>> {
    let key = key.replace('-', "_");
    all().find(|row| row.name == key || row.aliases.contains(&key.as_str()))
}
