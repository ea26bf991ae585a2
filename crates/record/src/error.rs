//! Defines the errors of study files and exports, one sentence each.

use std::path::{Path, PathBuf};

/// Why a study file could not be read, or records could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A new study file was asked for, but the name exists.
    #[error("{path} already exists; name another file with --output, or remove it")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a study file.
    #[error("{path} is not a study file; name another file")]
    NotAStudyFile {
        /// The file.
        path: PathBuf,
    },
    /// The file is no watch of an application.
    #[error("{path} is not a file of `halfpower watch`: {reason}; name one that `halfpower watch -o FILE.json` wrote")]
    NotAWatch {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// The file is no capture of an application.
    #[error(
        "{path} is not a capture: {reason}; name a file that `halfpower watch --record FILE` or `halfpower import` wrote"
    )]
    NotACapture {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// The file has a newer layout than this program knows.
    #[error(
        "{path} was written by a newer halfpower (layout {found}; this one reads up to {known}); \
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
        "{path} answers another question: {differences}; ask the same question, \
         name another file with --output, or remove this one"
    )]
    OtherQuestion {
        /// The file.
        path: PathBuf,
        /// Which parts differ, such as `the budget is 2m there and 5m here`.
        differences: String,
    },
    /// The file was measured on another machine, disk or file system.
    #[error(
        "{path} was measured elsewhere: {differences}; go on there, or name another file with --output to measure here"
    )]
    OtherPlace {
        /// The file.
        path: PathBuf,
        /// Which parts differ, such as `the kernel is 6.1 there and 6.2 here`.
        differences: String,
    },
    /// Another study writes to the file, or a reader holds it.
    #[error("{path} is in use by another study; wait until it ends, or name another file")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// A kill left a transaction unfinished, which only a writer rolls back.
    #[error(
        "a record was being written to {path} when its study was killed; the same `halfpower study` mends it and goes on, \
         and nothing is read until then ({journal} is left as it is)"
    )]
    HalfWritten {
        /// The file.
        path: PathBuf,
        /// Its journal.
        journal: PathBuf,
    },
    /// SQLite would apply a file beside the study, and it is not the study's.
    #[error(
        "{beside} is not of {path}'s own making (it belongs to another user, is a link, or is a log that halfpower does not \
         write) and would change the study, so nothing is done; remove it, or name another file"
    )]
    StrangeFile {
        /// The study.
        path: PathBuf,
        /// The file beside it.
        beside: PathBuf,
    },
    /// Another program has given the file a write-ahead log.
    #[error(
        "{path} was given a write-ahead log, which halfpower does not use; take it back with the program that did so \
         (`PRAGMA journal_mode = DELETE` of sqlite3), or name another file"
    )]
    HasLog {
        /// The file.
        path: PathBuf,
    },
    /// The file is a study file, but damaged.
    #[error(
        "{path} is damaged: {detail}; restore a copy of it, \
         or name another file with --output to measure again"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The file cannot be opened or read.
    #[error("{path} cannot be read: {reason}; check the name and the permissions")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// The file cannot be made or written to.
    #[error(
        "{path} cannot be written: {reason}; check the folder, the permissions, the free space and the quota, or name another file with --output"
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// The file was removed or replaced while open.
    #[error("{path} was removed or replaced while it was written: nothing more is kept; measure again, or put it back")]
    Removed {
        /// The file.
        path: PathBuf,
    },
    /// The file already has this repetition of this run.
    #[error("{path} already holds this run ({run}), so the new record was not stored; use another --repeat")]
    AlreadyRecorded {
        /// The file.
        path: PathBuf,
        /// The run, as flags.
        run: String,
    },
    /// A figure is not a finite number, so that what holds it could not be read back.
    #[error("{figure} of {of} is not a finite number, so nothing of it was stored; measure it again")]
    NotANumber {
        /// What holds it: a run, as flags, or the environment.
        of: String,
        /// The figure, such as `predicted.high`.
        figure: String,
    },
    /// Writing records failed on a stream.
    #[error("the records could not be written: {error}; check the file or the program that reads them")]
    Stream {
        /// The system's error.
        error: std::io::Error,
    },
}

/// SQLite's error if its open file was moved or removed (<https://sqlite.org/rescode.html>).
const SQLITE_READONLY_DBMOVED: i32 = 1032;
/// SQLite's error if a transaction must be rolled back first, and the file is open to be read only.
const SQLITE_READONLY_ROLLBACK: i32 = 776;

impl RecordError {
    /// Translates SQLite's error about the file at `path`.
    pub(crate) fn of_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        let path = path.to_path_buf();
        let reason = error.to_string();
        match error.sqlite_error_code() {
            _ if error.sqlite_error().is_some_and(|error| error.extended_code == SQLITE_READONLY_DBMOVED) => {
                Self::Removed { path }
            }
            _ if error.sqlite_error().is_some_and(|error| error.extended_code == SQLITE_READONLY_ROLLBACK) => {
                let mut journal = path.as_os_str().to_os_string();
                journal.push("-journal");
                Self::HalfWritten { path, journal: journal.into() }
            }
            Some(Code::OperationInterrupted) => {
                Self::Damaged { path, detail: "reading it takes more steps than any study needs".to_string() }
            }
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Locked { path },
            Some(Code::CannotOpen | Code::PermissionDenied | Code::SystemIoFailure) => {
                Self::Unreadable { path, reason }
            }
            Some(Code::ReadOnly | Code::DiskFull) => Self::Unwritable { path, reason },
            _ => Self::Damaged { path, detail: reason },
        }
    }

    /// The same error, for writing instead of reading.
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
        match error.into_kind() {
            csv::ErrorKind::Io(error) => Self::Stream { error },
            other => Self::Stream { error: std::io::Error::other(format!("{other:?}")) },
        }
    }
}

impl From<serde_json::Error> for RecordError {
    fn from(error: serde_json::Error) -> Self {
        Self::Stream { error: error.into() }
    }
}
