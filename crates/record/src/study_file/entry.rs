//! Defines what a study file hands over: a record and where it was taken.

use crate::Record;

/// A record and where it was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Index into [`crate::StudyFile::environments`].
    pub environment: usize,
    /// The record.
    pub record: Record,
}
