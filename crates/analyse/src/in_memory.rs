//! Tells whether a target lies in main memory.

use halfpower_record::Environment;

/// File systems that lie in main memory.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// Whether the file system lies in main memory.
pub(crate) fn is_in_memory(environment: &Environment) -> bool {
    environment.filesystem.as_ref().is_some_and(|filesystem| IN_MEMORY.contains(&filesystem.kind.as_str()))
}
