//! Says which part of a target is this process's, where several measure it together.

use std::path::Path;

use halfpower_os::{DataFile, SharedFile};
use halfpower_spec::{Bytes, HostLayout, Spread};

use super::layout::BLOCK_BYTES;
use crate::MeasureError;

/// This process among those that measure a target together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPart {
    /// Its number.
    pub rank: u32,
    /// How many there are.
    pub of: u32,
    /// Whether each has a file of its own.
    pub layout: HostLayout,
    /// Bytes of a shared file that each has in turn; `None` where each has one part.
    pub interleave: Option<Bytes>,
    /// Whether reads are of what the next process wrote.
    pub reorder: bool,
    /// What their files are called, where they have names.
    pub word: String,
}

impl HostPart {
    /// Whether all have one file or one target.
    pub fn is_shared(&self) -> bool {
        self.layout == HostLayout::Shared
    }

    /// Whether it has a file of its own in a folder that others open by its name.
    fn is_named(&self) -> bool {
        self.is_shared() || self.reorder
    }

    /// Refuses settings that do not go together.
    ///
    /// # Errors
    /// Which, and what to do.
    pub fn check(&self) -> Result<(), MeasureError> {
        let refuse = |what: String| Err(MeasureError::Unfit { what });
        match self.interleave {
            Some(_) if !self.is_shared() => {
                refuse("--interleave is about one file for all: add --host-layout shared".to_string())
            }
            Some(interleave) if interleave.0 == 0 || !interleave.0.is_multiple_of(BLOCK_BYTES) => {
                refuse(format!("--interleave {interleave}: give whole MiB, such as 1MiB"))
            }
            _ => Ok(()),
        }
    }

    /// Where the part of this process lies, of those that have `span_bytes` each; of the next process where `turned`.
    pub fn spread(&self, span_bytes: u64, turned: bool) -> Option<Spread> {
        let rank = if turned { self.next() } else { self.rank };
        self.is_shared().then(|| Spread::of_process(rank, self.of, span_bytes, self.interleave))
    }

    fn next(&self) -> u32 {
        (self.rank + 1) % self.of
    }

    /// Of `bytes` that are for all, those of each process: whole turns.
    pub fn of_all(&self, bytes: u64) -> u64 {
        let each = bytes / u64::from(self.of);
        each - each % self.interleave.map_or(BLOCK_BYTES, |interleave| interleave.0)
    }

    /// The file in `folder` that this process writes, with its name where it made one that others know; `None` where a file
    /// without a name will do.
    ///
    /// # Errors
    /// Where the folder may not be written to.
    pub fn file_in(&self, folder: &Path) -> Result<Option<(DataFile, Option<SharedFile>)>, MeasureError> {
        if !self.is_named() {
            return Ok(None);
        }
        if self.is_shared() && self.rank > 0 {
            return Ok(Some((SharedFile::open(folder, &self.word)?, None)));
        }
        let word = if self.is_shared() { self.word.clone() } else { self.word_of(self.rank) };
        let (name, data) = SharedFile::new(folder, &word)?;
        Ok(Some((data, Some(name))))
    }

    /// The file of the next process, where that is another one and reads go there.
    ///
    /// # Errors
    /// Where it cannot be opened.
    pub fn next_file_in(&self, folder: &Path) -> Result<Option<DataFile>, MeasureError> {
        if self.is_shared() || !self.reorder {
            return Ok(None);
        }
        Ok(Some(SharedFile::open(folder, &self.word_of(self.next()))?))
    }

    fn word_of(&self, rank: u32) -> String {
        format!("{}-{rank}", self.word)
    }
}
