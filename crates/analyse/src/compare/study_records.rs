//! Holds one of two studies that are compared: its question, records and findings.

use halfpower_record::{Environment, Record};
use halfpower_spec::Question;

use crate::Findings;

/// One of the two studies that are compared.
#[derive(Debug, Clone, Copy)]
pub struct StudyRecords<'a> {
    /// Its name: the file.
    pub name: &'a str,
    /// Its question.
    pub question: &'a Question,
    /// Where it was made.
    pub environment: &'a Environment,
    /// The analysis of it.
    pub findings: &'a Findings,
    /// Its records.
    pub records: &'a [Record],
}
