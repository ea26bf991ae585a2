//! Lists processes and threads.

use std::fs;
use std::path::Path;

/// The IDs of the processes that this one can see, itself included.
pub(crate) fn ids() -> impl Iterator<Item = u32> {
    ids_in(Path::new("/proc"))
}

/// The IDs that a folder such as `/proc` or `/proc/PID/task` names; none if it is not there.
pub(crate) fn ids_in(folder: &Path) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
