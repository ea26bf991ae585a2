//! Defines the answer of `memory`: the fastest ways to read, write and copy memory.

use schemars::JsonSchema;
use serde::Serialize;

use super::rows::MemoryRow;

/// The fastest ways to move memory; `null` if no kernel of a kind was run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct MemoryAnswer {
    /// Reading memory.
    pub read: Option<MemoryRow>,
    /// Writing memory.
    pub write: Option<MemoryRow>,
    /// Copying memory.
    pub copy: Option<MemoryRow>,
    /// Copy rate of one thread as a share of that of several threads.
    pub one_thread_share: Option<f64>,
    /// Reading a file that is in the page cache.
    pub file_read: Option<MemoryRow>,
    /// Writing a file that is in the page cache.
    pub file_write: Option<MemoryRow>,
}
