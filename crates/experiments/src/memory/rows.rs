//! Holds the rows of `memory`, as `halfpower report --json` gives them.

use halfpower_spec::Kernel;
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// The speed of memory, kernel by kernel.
    pub memory: Vec<MemoryRow>,
}

/// The rate of one memory kernel with one thread count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MemoryRow {
    /// The kernel.
    pub kernel: Kernel,
    /// Concurrent threads, each on memory of its own.
    pub threads: u32,
    /// Rate of all threads in MB/s: bytes read, written or copied, without the loop's own time. A copied byte counts
    /// once, as in memspeed; STREAM counts it twice, as read and as written.
    pub mbps: f64,
    /// Lower end of the 95% t interval over run means.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}
