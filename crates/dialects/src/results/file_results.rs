//! Defines the results in one file of another tool, and the errors of reading it.

use halfpower_record::{ImportedFile, Record};

/// The results in one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The file and the tool that wrote it.
    pub file: ImportedFile,
    /// The machine that was measured, if the file names it.
    pub host: Option<String>,
    /// A record for each imported result.
    pub records: Vec<Record>,
    /// The reason for each skipped result, a sentence without full stop.
    pub left_out: Vec<String>,
}

/// Why a file could not be read, or files cannot be combined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResultsError {
    /// The file is broken at this line.
    #[error("{file}, line {line}: {message}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be accepted.
        message: String,
    },
    /// The file has no known format, or holds no result.
    #[error("{file}: {message}")]
    File {
        /// The file.
        file: String,
        /// What is wrong, and what would be accepted.
        message: String,
    },
    /// The files do not make one study.
    #[error("{0}")]
    Apart(String),
}
