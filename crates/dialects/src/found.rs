//! Defines the result of reading another tool's file: records, or what is wrong.

use halfpower_record::Record;

/// What is wrong in a file, with the line if known.
pub(crate) struct FileError {
    pub line: Option<usize>,
    pub message: String,
}

impl FileError {
    pub fn at(line: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), message: message.into() }
    }

    pub fn of_file(message: impl Into<String>) -> Self {
        Self { line: None, message: message.into() }
    }
}

/// The contents of a file that a reader of one format found.
pub(crate) struct Found {
    pub version: Option<String>,
    pub date: Option<String>,
    pub host: Option<String>,
    pub records: Vec<Record>,
    pub left_out: Vec<String>,
}
