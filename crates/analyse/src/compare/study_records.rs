//! Holds one of two studies that are compared: its question, records and findings.

use halfpower_record::{Environment, Record};
use halfpower_spec::Question;

use crate::Findings;

/// One of the two studies that are compared.
#[derive(Debug, Clone, Copy)]
pub struct StudyRecords<'a> {
    /// How it is called: its file.
    pub name: &'a str,
    /// What it asked.
    pub question: &'a Question,
    /// Where it was taken.
    pub environment: &'a Environment,
    /// What the analysis says of it.
    pub findings: &'a Findings,
    /// Its records.
    pub records: &'a [Record],
}
