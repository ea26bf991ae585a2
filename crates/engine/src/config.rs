//! Holds what every engine is given: files, buffer sizes, and the data that writes carry.

use std::num::NonZeroU32;
use std::sync::Arc;

use halfpower_os::{BufferMemory, Buffers, OsError, Payload, RunFile};
use halfpower_spec::{IoMem, Issuing};

use crate::LaneMemory;
use crate::check::Check;

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
        let payload = || Payload::new(self.memory(), self.slots, self.slot_bytes, usual, self.seed).map(Arc::new);
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
