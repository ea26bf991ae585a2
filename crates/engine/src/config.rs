//! Holds what every engine is given: files, buffers, and what these have to contain.

use std::num::NonZeroU32;
use std::sync::Arc;

use halfpower_os::{BufferMemory, Buffers, OsError, Payload, RunFile};
use halfpower_spec::{IoMem, Issuing};

use crate::LaneMemory;
use crate::check::Check;

/// What an engine works with.
pub(crate) struct EngineConfig {
    /// One file, several with an equal part of the slots each, or none.
    pub files: Vec<RunFile>,
    /// Whether anything is written.
    pub writes: bool,
    /// Slots over all files.
    pub slots: u32,
    /// Bytes of each slot.
    pub slot_bytes: usize,
    /// Seed of the payload.
    pub seed: u64,
    /// How they are handed to the kernel; `None` is as the first releases did.
    pub issuing: Option<Issuing>,
    /// Memory that it may take beside its slots.
    pub lane_memory: LaneMemory,
    /// Whether a write carries what its slot holds, and no payload.
    pub echoes: bool,
    /// Whether a ring hands requests to workers of the kernel.
    pub by_workers: bool,
    /// What written blocks carry and read ones are held against; `None` where nobody checks.
    pub check: Option<Arc<Check>>,
}

impl EngineConfig {
    /// A buffer for each slot.
    ///
    /// # Errors
    /// Where the memory does not suffice.
    pub fn buffers(&self) -> Result<Buffers, OsError> {
        let buffers = Buffers::in_memory(self.memory(), self.slots, self.slot_bytes, self.seed)?;
        Ok(match self.payload()? {
            None => buffers,
            Some(payload) => buffers.carrying(payload),
        })
    }

    /// What writes carry, where there are any that nobody checks.
    ///
    /// # Errors
    /// Where the memory does not suffice.
    pub fn payload(&self) -> Result<Option<Arc<Payload>>, OsError> {
        let writes = self.check.is_none() && !self.echoes && self.writes;
        let usual = self.lane_memory.payload_bytes;
        let payload = || Payload::new(self.memory(), self.slots, self.slot_bytes, usual, self.seed).map(Arc::new);
        writes.then(payload).transpose()
    }

    /// What the buffers lie in.
    pub fn memory(&self) -> BufferMemory {
        match self.issuing.map(|issuing| issuing.iomem) {
            None => BufferMemory::HugeFromFar,
            Some(IoMem::Pages) => BufferMemory::Pages,
            Some(IoMem::Huge) => BufferMemory::Huge,
        }
    }

    /// Most requests that one call submits; `None` is all that can go out.
    pub fn batch(&self) -> Option<NonZeroU32> {
        self.issuing.and_then(|issuing| NonZeroU32::new(issuing.iodepth_batch))
    }

    /// Which of the files each slot reaches.
    pub fn file_of_slot(&self) -> Vec<u32> {
        halfpower_os::file_of_slot(self.slots, self.files.len()).collect()
    }
}
