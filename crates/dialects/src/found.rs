//! Holds what a reader of another tool's results hands over, or what is wrong in the file.

use halfpower_record::Record;

/// What is wrong in a file, and in which line where that is known.
pub(crate) struct Trouble {
    pub line: Option<usize>,
    pub message: String,
}

impl Trouble {
    pub fn at(line: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), message: message.into() }
    }

    pub fn of_file(message: impl Into<String>) -> Self {
        Self { line: None, message: message.into() }
    }
}

/// What a reader of one format found.
pub(crate) struct Found {
    pub version: Option<String>,
    pub date: Option<String>,
    pub host: Option<String>,
    pub records: Vec<Record>,
    pub left_out: Vec<String>,
}
