//! What is every engine given? The files that its requests reach, the buffers they move, and what those have to hold.

use std::sync::Arc;

use os::{Buffers, OsError, RunFile};

use crate::check::Check;

/// What an engine works with.
pub(crate) struct Outfit {
    /// One file, several with an equal part of the slots each, or none.
    pub files: Vec<RunFile>,
    /// Slots over all files.
    pub slots: u32,
    /// Bytes of each slot.
    pub slot_bytes: usize,
    /// Seed of the payload.
    pub seed: u64,
    /// What written blocks carry and read ones are held against; `None` where nobody checks.
    pub check: Option<Arc<Check>>,
}

impl Outfit {
    /// A buffer for each slot.
    ///
    /// # Errors
    /// Where the memory does not suffice.
    pub fn buffers(&self) -> Result<Buffers, OsError> {
        Buffers::new(self.slots, self.slot_bytes, self.seed)
    }

    /// Which of the files each slot reaches.
    pub fn file_of_slot(&self) -> Vec<u32> {
        os::file_of_slot(self.slots, self.files.len()).collect()
    }
}
