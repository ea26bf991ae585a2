//! Reserves and frees blocks of a file, and opens it for writes that append.

use std::fs::OpenOptions;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::FallocateFlags;

use crate::interrupt::resumed;
use crate::{DataFile, Mode, OsError, RunFile};

impl DataFile {
    /// Makes a regular file `size_bytes` long with blocks that are reserved and marked as unwritten. Unlike
    /// [`DataFile::allocate`] it fails if the file system cannot reserve blocks, instead of leaving a hole.
    ///
    /// # Errors
    /// If the file system cannot reserve blocks, or has no room.
    pub fn reserve(&self, size_bytes: u64) -> Result<(), OsError> {
        self.has_room(size_bytes)?;
        resumed(|| rustix::fs::fallocate(self, FallocateFlags::empty(), 0, size_bytes))
            .map_err(|error| OsError::of("fallocate", "extended", self.path(), error).wanting(size_bytes))
    }

    /// Opens a regular file as a program does that rewrites it (`O_TRUNC`): the file becomes empty and its blocks are
    /// freed.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn truncate(&self) -> Result<(), OsError> {
        if !self.is_writable() {
            return Err(OsError::ReadOnly { path: self.path().to_path_buf() });
        }
        let link = format!("/proc/self/fd/{}", self.as_fd().as_raw_fd());
        let opened = OpenOptions::new().write(true).truncate(true).open(link);
        opened.map(drop).map_err(|error| OsError::of("open", "written to", self.path(), error))
    }

    /// Reopens the same data in `mode` so that each write goes to the end, whatever its offset (`O_APPEND`).
    ///
    /// # Errors
    /// As [`DataFile::reopen`].
    pub fn reopen_to_append(&self, mode: Mode) -> Result<RunFile, OsError> {
        self.reopen_with(mode, libc::O_APPEND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> DataFile {
        DataFile::unnamed_in(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn what_is_reserved_was_never_written_and_what_is_truncated_is_gone() {
        let data = file();
        match data.reserve(1 << 20) {
            Ok(()) => assert!(matches!(data.unwritten_bytes(0..1 << 20).unwrap(), None | Some(0x10_0000))),
            Err(error) => crate::skip::skip(&error.to_string()),
        }
        data.write_all_at(b"bytes", 0).unwrap();
        data.truncate().unwrap();
        assert_eq!(data.size_bytes().unwrap(), 0);
        assert_eq!(data.read_at(&mut [0; 5], 0).unwrap(), 0);
    }

    #[test]
    fn what_is_appended_lands_at_the_end() {
        let data = file();
        let run = data.reopen_to_append(Mode { write: true, ..Mode::default() }).unwrap();
        for bytes in [b"one", b"two"] {
            assert_eq!(run.write_at(bytes, 0).unwrap(), 3);
        }
        let mut read = [0; 6];
        assert_eq!(data.read_at(&mut read, 0).unwrap(), 6);
        assert_eq!(&read, b"onetwo");
    }
}
