//! Holds what an engine is opened with and given: settings, files, buffer sizes, the data that writes carry, and the
//! memory that it may take besides its slots.

use std::num::NonZeroU32;
use std::sync::Arc;

use halfpower_os::{BufferMemory, Buffers, OsError, Payload, PayloadData, RunFile, locked_memory};
use halfpower_spec::{Bytes, EngineName, IoMem, Issuing};

use crate::check::Check;

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
    /// What writes carry.
    pub data: PayloadData,
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
        Self {
            name,
            depth,
            bs,
            issuing: None,
            seed,
            data: PayloadData::default(),
            memory: LaneMemory::default(),
            echoes: false,
            by_workers: false,
        }
    }
}

/// What an engine works with.
pub(crate) struct EngineConfig {
    /// No file, one file, or several files that each get an equal part of the slots.
    pub files: Vec<RunFile>,
    /// Whether anything is written.
    pub writes: bool,
    /// Number of slots over all files.
    pub slots: u32,
    /// Bytes of each slot.
    pub slot_bytes: usize,
    /// Seed of the payload.
    pub seed: u64,
    /// What writes carry.
    pub data: PayloadData,
    /// How requests are handed to the kernel; `None` is the default of the first releases.
    pub issuing: Option<Issuing>,
    /// Memory that the engine may take besides its slots.
    pub lane_memory: LaneMemory,
    /// Whether a write carries the current bytes of its slot instead of payload.
    pub echoes: bool,
    /// Whether a ring hands requests to the kernel's worker threads.
    pub by_workers: bool,
    /// Fills written blocks and verifies read ones; `None` if the run does not verify.
    pub check: Option<Arc<Check>>,
}

impl EngineConfig {
    /// Allocates a buffer for each slot.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn buffers(&self) -> Result<Buffers, OsError> {
        let buffers = Buffers::in_memory(self.memory(), self.slots, self.slot_bytes, self.seed)?;
        Ok(match self.payload()? {
            None => buffers,
            Some(payload) => buffers.carrying(payload),
        })
    }

    /// The payload of writes; `None` for runs that verify, echo, or do not write.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn payload(&self) -> Result<Option<Arc<Payload>>, OsError> {
        let writes = self.check.is_none() && !self.echoes && self.writes;
        let usual = self.lane_memory.payload_bytes;
        let data = (self.seed, self.data);
        let payload = || Payload::new(self.memory(), self.slots, self.slot_bytes, usual, data).map(Arc::new);
        writes.then(payload).transpose()
    }

    /// The kind of memory that the buffers lie in.
    pub fn memory(&self) -> BufferMemory {
        match self.issuing.map(|issuing| issuing.iomem) {
            None => BufferMemory::HugeFromFar,
            Some(IoMem::Pages) => BufferMemory::Pages,
            Some(IoMem::Huge) => BufferMemory::Huge,
        }
    }

    /// Most requests that one call submits; `None` means no limit.
    pub fn batch(&self) -> Option<NonZeroU32> {
        self.issuing.and_then(|issuing| NonZeroU32::new(issuing.iodepth_batch))
    }

    /// The index of the file that each slot reaches.
    pub fn file_of_slot(&self) -> Vec<u32> {
        halfpower_os::file_of_slot(self.slots, self.files.len()).collect()
    }
}

/// The payloads of all lanes together take at most the memory divided by this.
const PAYLOAD_PART: u64 = 8;

/// The memory that one of several engines may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneMemory {
    /// Bytes of random payload for writes, unless its slots need more.
    pub payload_bytes: usize,
    /// Bytes that the engine may lock; `None` means no limit. Buffers larger than this are not registered.
    pub locked_bytes: Option<u64>,
}

impl LaneMemory {
    /// The share of one of `lanes` lanes in a process that may lock `locked_bytes` (`None`: no limit) and use
    /// `memory_bytes` (0: unknown).
    pub fn shared_by(lanes: u64, locked_bytes: Option<u64>, memory_bytes: u64) -> Self {
        let lanes = lanes.max(1);
        let locked_bytes = locked_bytes.map(|bytes| bytes / lanes);
        let of_memory = (memory_bytes > 0).then_some(memory_bytes / PAYLOAD_PART / lanes);
        // Half of the lockable memory is left to the slots.
        let most = locked_bytes.map(|bytes| bytes / 2).into_iter().chain(of_memory).min().unwrap_or(u64::MAX);
        let payload_bytes = most.clamp(Payload::LEAST_BYTES as u64, Payload::USUAL_BYTES as u64) as usize;
        Self { payload_bytes, locked_bytes }
    }

    /// Bytes of the payload for `depth` slots of `bs` bytes.
    pub fn payload_of(&self, depth: u32, bs: u64) -> u64 {
        (self.payload_bytes as u64).max(bs.saturating_mul(u64::from(depth) + 1))
    }
}

/// The limits of this process for a single engine.
impl Default for LaneMemory {
    fn default() -> Self {
        Self::shared_by(1, locked_memory::limit_bytes(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn lanes_share_what_may_be_locked_and_used() {
        let payload_mib = |memory: LaneMemory| memory.payload_bytes as u64 / MIB;
        let free = LaneMemory::shared_by(4, None, 0);
        assert_eq!((payload_mib(free), free.locked_bytes), (16, None));
        let locked = LaneMemory::shared_by(4, Some(64 * MIB), 1 << 40);
        assert_eq!((payload_mib(locked), locked.locked_bytes), (8, Some(16 * MIB)));
        assert_eq!(payload_mib(LaneMemory::shared_by(16, None, 1024 * MIB)), 8, "a limit on memory");
        assert_eq!(
            payload_mib(LaneMemory::shared_by(1000, Some(MIB), MIB)),
            4,
            "the least that does not repeat at once"
        );
        assert_eq!(free.payload_of(32, MIB), 33 * MIB);
    }
}
