//! Holds the ceilings of a path that experiments measured: what the analysis takes from them, as numbers.

use halfpower_spec::{Direction, Kernel, Pattern};

/// What experiments have measured of the path's ceilings; all empty where none was run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredCeilings {
    /// How fast memory is copied.
    pub memory: Option<MemoryCopy>,
    /// How fast the same few blocks come again.
    pub link: Option<LinkCeiling>,
    /// What members side by side share; one for each direction in which they were seen to.
    pub shared: Vec<SharedCeiling>,
    /// What limits sustain; one for each direction in which one was seen.
    pub sustained: Vec<SustainedLimit>,
}

/// What a limit sustains once its credit is spent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SustainedLimit {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Throughput in MB/s, where bytes are limited.
    pub mbps: Option<f64>,
    /// Requests a second, where they are limited.
    pub iops: Option<f64>,
}

/// The fastest copy of memory by the most threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryCopy {
    /// The loop that copied.
    pub kernel: Kernel,
    /// Threads that ran it at once.
    pub threads: u32,
    /// All of them together.
    pub mbps: f64,
}

/// The fastest reads of the same few blocks by the most members: what got through controller and link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkCeiling {
    /// Members that read them at once.
    pub members: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Requests kept outstanding by each member.
    pub iodepth: u32,
    /// All of them together.
    pub mbps: f64,
    /// Whether something before the medium answered, so that this is the limit of controller and link.
    pub answered: bool,
}

/// What comes together on a shared path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedBy {
    /// Members of a target, as `scaling` measures them.
    Members,
    /// Hosts, as `hosts` measures them.
    Hosts,
}

/// The most that came through a path that members of a target share, or hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedCeiling {
    /// What shares it.
    pub by: SharedBy,
    /// Which way the bytes went.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Members at work together.
    pub members: u32,
    /// All of them together.
    pub mbps: f64,
    /// A single one alone.
    pub alone_mbps: f64,
}
