//! Holds the ceilings of a path that experiments measured, as numbers for the analysis.

use halfpower_spec::{Direction, Kernel, Pattern};

/// Ceilings of the path that experiments measured; all empty if no experiment was run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredCeilings {
    /// How fast memory is copied.
    pub memory: Option<MemoryCopy>,
    /// How fast repeated reads of the same few blocks are.
    pub link: Option<LinkCeiling>,
    /// What parallel members share; one for each direction in which they were seen to share it.
    pub shared: Vec<SharedCeiling>,
    /// Sustained rates of limits; one for each direction in which one was seen.
    pub sustained: Vec<SustainedLimit>,
}

/// Sustained rate of a limit once its credit is spent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SustainedLimit {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Throughput in MB/s, if bytes are limited.
    pub mbps: Option<f64>,
    /// Requests a second, if they are limited.
    pub iops: Option<f64>,
}

/// The fastest copy of memory by the most threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryCopy {
    /// The loop that copied.
    pub kernel: Kernel,
    /// Threads that ran it at once.
    pub threads: u32,
    /// Throughput of all of them together.
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
    /// Throughput of all of them together.
    pub mbps: f64,
    /// Whether something before the medium answered, so that this is the limit of controller and link.
    pub answered: bool,
}

/// The parties that share a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedBy {
    /// Members of a target, as `scaling` measures them.
    Members,
    /// Hosts, as `hosts` measures them.
    Hosts,
}

/// The most that got through a path that members of a target, or hosts, share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedCeiling {
    /// Who shares it.
    pub by: SharedBy,
    /// Which way the bytes went.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Members active together.
    pub members: u32,
    /// Throughput of all of them together.
    pub mbps: f64,
    /// Throughput of a single one alone.
    pub alone_mbps: f64,
}
