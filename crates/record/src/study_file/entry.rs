//! Defines an entry of a study file: a record and its environment.

use crate::Record;

/// A record and its environment.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Index into [`crate::StudyFile::environments`].
    pub environment: usize,
    /// The record.
    pub record: Record,
}
