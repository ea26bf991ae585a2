//! Holds fio's options of an I/O log that is asked again (`read_iolog`), and reads which files it names.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use halfpower_record::input;

use crate::captures::{IoLogFiles, io_log_files};

/// fio's options of a log that is asked again, as far as given.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    /// The log.
    pub(super) log: Option<OsString>,
    /// What is asked instead of the files that the log names.
    pub(super) redirect: Option<OsString>,
    /// Whether operations have no pauses.
    pub(super) has_no_pauses: bool,
    /// Speed in percent.
    pub(super) percent: Option<u64>,
}

/// What a log tells of its files.
pub(super) fn files_of(log: &OsStr) -> Result<IoLogFiles, String> {
    let name = log.display();
    let bytes = input::read(Path::new(log), input::MOST_OF_RESULTS)
        .map_err(|error| format!("read_iolog: {name} cannot be read: {error}"))?;
    let files = std::str::from_utf8(&bytes).ok().and_then(io_log_files);
    files.ok_or_else(|| {
        format!(
            "read_iolog: {name} is no I/O log of fio of version 2 or 3; for what blktrace recorded, take the text that blkparse \
             prints: `halfpower run --workload TEXT FOLDER --open`"
        )
    })
}
