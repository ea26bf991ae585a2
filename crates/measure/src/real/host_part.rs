//! Determines which part of a target each process has, if several measure it together.

use std::path::Path;

use halfpower_os::{DataFile, SharedFile};
use halfpower_spec::{Bytes, HostLayout, Spread};

use super::layout::BLOCK_BYTES;
use crate::MeasureError;

/// The part of this process among those that measure a target together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPart {
    /// Its rank.
    pub rank: u32,
    /// Number of processes.
    pub of: u32,
    /// Whether all processes share one file or each has its own.
    pub layout: HostLayout,
    /// Size of the chunks in which processes interleave in a shared file; `None` if each has one contiguous part.
    pub interleave: Option<Bytes>,
    /// Whether each process reads what the next process wrote.
    pub reorder: bool,
    /// A word in the names of their files, if the files have names.
    pub word: String,
}

impl HostPart {
    /// Whether all processes share one file or device.
    pub fn is_shared(&self) -> bool {
        self.layout == HostLayout::Shared
    }

    /// Whether other processes open its file by name.
    fn is_named(&self) -> bool {
        self.is_shared() || self.reorder
    }

    /// Refuses settings that do not fit together.
    ///
    /// # Errors
    /// Which settings, and what to do.
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

    /// Where this process's part of `span_bytes` lies in a shared file; with `turned`, that of the next process.
    pub fn spread(&self, span_bytes: u64, turned: bool) -> Option<Spread> {
        let rank = if turned { self.next() } else { self.rank };
        self.is_shared().then(|| Spread::of_process(rank, self.of, span_bytes, self.interleave))
    }

    fn next(&self) -> u32 {
        (self.rank + 1) % self.of
    }

    /// Bytes of each process if all share `bytes`: a whole number of chunks.
    pub fn of_all(&self, bytes: u64) -> u64 {
        let each = bytes / u64::from(self.of);
        each - each % self.interleave.map_or(BLOCK_BYTES, |interleave| interleave.0)
    }

    /// The file in `folder` that this process writes, and its name if this process created the name; `None` if a file
    /// without a name will do.
    ///
    /// # Errors
    /// If the folder may not be written to.
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

    /// The file of the next process; `None` unless each process has its own file and reads the next one's.
    ///
    /// # Errors
    /// If it cannot be opened.
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
