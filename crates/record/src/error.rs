//! What can go wrong with the files that keep records: one sentence each, with what, where and what to do.

use std::path::{Path, PathBuf};

/// Why a study file or a trace could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is something of that name already, and a new study file was asked for.
    #[error("{path} exists already and is left as it is; name another file with --output, or remove it")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else, or nothing at all.
    #[error("{path} is not a study file of halfpower and is left as it is; name another file")]
    NotAStudyFile {
        /// The file.
        path: PathBuf,
    },
    /// The file has a layout from the future.
    #[error(
        "{path} was written by a newer halfpower (layout {found}, this one knows up to {known}); \
         use that halfpower, or name another file"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The layout of the file.
        found: u32,
        /// The newest layout that this program knows.
        known: u32,
    },
    /// The file answers another question than the one asked.
    #[error(
        "{path} answers another question: {differences}; ask that one again, \
         name another file with --output, or remove this one"
    )]
    OtherQuestion {
        /// The file.
        path: PathBuf,
        /// Which parts differ, such as `the budget is 2m there and 5m here`.
        differences: String,
    },
    /// Another study writes to it, or a reader keeps it.
    #[error("{path} is in use by another running study; wait until it ends, or name another file")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file is ours, but not whole.
    #[error(
        "{path} is damaged ({detail}) and is left as it is; bring back a copy of it, \
         or name another file with --output to measure again"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The file cannot be opened or read.
    #[error("{path} cannot be read: {reason}; check the name and the rights")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The file cannot be made or written to.
    #[error(
        "{path} cannot be written: {reason}; check the folder, the rights and the free space, or name another file with --output"
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The same repetition of the same run is there already.
    #[error("{path} holds this run already ({run}); a run is kept once, so this one was dropped")]
    AlreadyRecorded {
        /// The file.
        path: PathBuf,
        /// The run, as flags.
        run: String,
    },
    /// A record with a figure that is no number cannot be kept.
    #[error("the run ({run}) gave no number for {figure}, so its record was not stored; measure it again")]
    NotANumber {
        /// The run, as flags.
        run: String,
        /// The figure.
        figure: &'static str,
    },
    /// A line of a trace does not have the fourteen fields.
    #[error("line {line} of the trace, {field}: {message}")]
    Trace {
        /// The line, from 1.
        line: usize,
        /// The field by its name in the trace.
        field: &'static str,
        /// What is wrong and what would do.
        message: String,
    },
    /// The stream that records go to, or that a trace comes from, broke off.
    #[error("the records could not be passed on: {error}; check the stream's other end")]
    Stream {
        /// What the system says.
        error: std::io::Error,
    },
}

impl RecordError {
    /// What SQLite says about the file at `path`, as the sentence that it amounts to.
    pub(crate) fn of_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        let path = path.to_path_buf();
        let reason = error.to_string();
        match error.sqlite_error_code() {
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Locked { path },
            Some(Code::CannotOpen | Code::PermissionDenied | Code::SystemIoFailure) => {
                Self::Unreadable { path, reason }
            }
            Some(Code::ReadOnly | Code::DiskFull) => Self::Unwritable { path, reason },
            _ => Self::Damaged { path, detail: reason },
        }
    }

    /// The same trouble, met while writing.
    pub(crate) fn of_writing(self) -> Self {
        match self {
            Self::Unreadable { path, reason } => Self::Unwritable { path, reason },
            other => other,
        }
    }
}

impl From<std::io::Error> for RecordError {
    fn from(error: std::io::Error) -> Self {
        Self::Stream { error }
    }
}

impl From<csv::Error> for RecordError {
    fn from(error: csv::Error) -> Self {
        Self::Stream { error: error.into() }
    }
}

impl From<serde_json::Error> for RecordError {
    fn from(error: serde_json::Error) -> Self {
        Self::Stream { error: error.into() }
    }
}
