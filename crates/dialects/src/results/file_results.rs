//! Defines what one file of another tool holds, and why it cannot be read.

use halfpower_record::{ImportedFile, Record};

/// What one file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The file and the tool that wrote it.
    pub file: ImportedFile,
    /// The machine that it was measured on, where the file says it.
    pub host: Option<String>,
    /// A record for each result that was taken.
    pub records: Vec<Record>,
    /// Why others were not, a sentence each without its full stop.
    pub left_out: Vec<String>,
}

/// Why a file could not be read, or files do not go together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResultsError {
    /// The file is broken at this line.
    #[error("{file}, line {line}: {message}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong and what would do.
        message: String,
    },
    /// The file is none that can be read, or holds nothing.
    #[error("{file}: {message}")]
    File {
        /// The file.
        file: String,
        /// What is wrong and what would do.
        message: String,
    },
    /// The files do not make one study.
    #[error("{0}")]
    Apart(String),
}
