//! Feeds bytes to all that reads what others have written: each entry returns, whatever the bytes are.
//!
//! Fuzzers (`fuzz/`) and property tests (`tests/mangled.rs`) share these entries. What an entry understands it writes
//! and reads again, and asserts that nothing has changed.

mod files;
mod texts;
mod tree;

use std::path::Path;

pub use files::{records, sqlio_trace, study_file};
pub use texts::{quantity, system, target};
pub use tree::{NVME, sysfs};

/// A folder for one input: in memory where there is a place for that.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a temporary folder")
}
