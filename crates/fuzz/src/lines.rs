//! Feeds command lines and job files to all that reads them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// A command line without the program's name, one word a line.
pub(crate) fn command_line(bytes: &[u8]) {
    let words: Vec<OsString> = bytes.split(|byte| *byte == b'\n').map(|word| OsStr::from_bytes(word).into()).collect();
    halfpower::understand(&words);
}

/// A job file of fio.
///
/// # Panics
/// Where there is no place for a temporary file.
pub(crate) fn job_file(bytes: &[u8]) {
    let folder = crate::folder();
    let path = folder.path().join("fuzzed.fio");
    std::fs::write(&path, bytes).expect("a temporary file");
    halfpower::understand(&[path.into_os_string()]);
}
