//! Holds what an engine is opened with.

use halfpower_spec::{Bytes, EngineName, Issuing};

use crate::LaneMemory;

/// What an engine is opened with, beside what its requests reach.
#[derive(Debug, Clone, Copy)]
pub struct EngineSettings {
    /// Which engine.
    pub name: EngineName,
    /// Slots for requests.
    pub depth: u32,
    /// Bytes of each slot.
    pub bs: Bytes,
    /// How requests are handed to the kernel; `None` is as the first releases did.
    pub issuing: Option<Issuing>,
    /// Seed of the payload.
    pub seed: u64,
    /// Memory that it may take beside its slots.
    pub memory: LaneMemory,
    /// Whether a write carries what its slot last read, but for its mark, instead of new bytes. So a test sees what was
    /// read.
    pub echoes: bool,
    /// Whether io_uring hands requests to workers of the kernel, which may wait, from the first one on, and not only from
    /// the first one that the kernel gives back.
    pub by_workers: bool,
}

impl EngineSettings {
    /// Requests handed to the kernel as the first releases did.
    pub fn new(name: EngineName, depth: u32, bs: Bytes, seed: u64) -> Self {
        Self { name, depth, bs, issuing: None, seed, memory: LaneMemory::default(), echoes: false, by_workers: false }
    }
}
