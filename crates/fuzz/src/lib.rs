//! Feeds bytes to every reader of foreign input: each entry must return, whatever the bytes are.
//!
//! Fuzzers (`fuzz/`) and property tests (`tests/mangled.rs`) share these entries. An entry writes valid input out,
//! reads it back, and asserts that nothing has changed.

mod corpus;
mod files;
mod lines;
mod seeds;
mod texts;
mod tree;

use std::path::Path;

pub use corpus::{escaped, unescaped};
use files::{
    TRACED_DISK, blkparse_output, diskspd_results, elbencho_results, fio_logs, fio_results, ior_results, records,
    sqlio_results, sqlio_trace, strace_output, study_file, trace_page, watch_file,
};
use lines::{command_line, diskspd_profile, job_file, witness_replies};
use texts::{profile, quantity, system, target};
use tree::{NVME, sysfs};

/// One kind of foreign input.
pub struct Entry {
    /// Its name in the fuzzer's program and in the corpus.
    pub name: &'static str,
    /// Reads the bytes; panics if valid input does not read back the same.
    pub feed: fn(&[u8]),
    /// Valid inputs from which fuzzers and tests start.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Inputs by which fuzzers reached new code, as lines of [`escaped`] bytes.
    pub corpus: &'static str,
}

macro_rules! entries {
    ($($feed:ident, $seeds:ident;)+) => {
        /// Every kind of foreign input.
        pub const ENTRIES: &[Entry] = &[$(Entry {
            name: stringify!($feed),
            feed: $feed,
            seeds: seeds::$seeds,
            corpus: include_str!(concat!("../corpus/", stringify!($feed), ".txt")),
        }),+];
    };
}

entries! {
    quantity, quantities;
    target, targets;
    system, systems;
    profile, profiles;
    command_line, command_lines;
    job_file, job_files;
    diskspd_profile, profiles_of_diskspd;
    sqlio_trace, traces;
    sqlio_results, results_of_sqlio;
    fio_results, results_of_fio;
    diskspd_results, results_of_diskspd;
    elbencho_results, results_of_elbencho;
    ior_results, results_of_ior;
    strace_output, outputs_of_strace;
    blkparse_output, outputs_of_blkparse;
    fio_logs, logs_of_fio;
    trace_page, trace_pages;
    records, study_json;
    study_file, study_files;
    watch_file, watches;
    sysfs, trees;
    witness_replies, replies;
}

/// The entry called `name`.
///
/// # Panics
/// If there is none.
pub fn entry(name: &str) -> &'static Entry {
    ENTRIES.iter().find(|entry| entry.name == name).expect("an entry of this name")
}

/// A folder for one input, in memory if possible.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a temporary folder")
}
