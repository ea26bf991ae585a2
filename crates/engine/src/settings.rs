//! Holds the settings that an engine is opened with.

use halfpower_spec::{Bytes, EngineName, Issuing};

use crate::LaneMemory;

/// The settings that an engine is opened with, apart from the target.
#[derive(Debug, Clone, Copy)]
pub struct EngineSettings {
    /// Which engine.
    pub name: EngineName,
    /// Number of slots for requests.
    pub depth: u32,
    /// Bytes of each slot.
    pub bs: Bytes,
    /// How requests are handed to the kernel; `None` is the default of the first releases.
    pub issuing: Option<Issuing>,
    /// Seed of the payload.
    pub seed: u64,
    /// Memory that the engine may take besides its slots.
    pub memory: LaneMemory,
    /// Whether a write carries what its slot last read, except for the mark, instead of new bytes. Tests use it to see
    /// what was read.
    pub echoes: bool,
    /// Whether io_uring hands every request to the kernel's workers, which may block, and not only those that the
    /// kernel returned unserved.
    pub by_workers: bool,
}

impl EngineSettings {
    /// Settings with the defaults of the first releases for handing requests to the kernel.
    pub fn new(name: EngineName, depth: u32, bs: Bytes, seed: u64) -> Self {
        Self { name, depth, bs, issuing: None, seed, memory: LaneMemory::default(), echoes: false, by_workers: false }
    }
}
