//! Maps a whole file or device, so that loads and stores replace calls.
//!
//! Copies address the file by offset, never past the mapped end; a missing page makes the copy fail.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::SeekFrom;

use crate::{OsError, RunFile, fault};

/// A file mapped from its first byte to its last, with the size that it had then.
pub struct Mapping {
    file: RunFile,
    /// `None` for an empty file, which cannot be mapped.
    mapped: Option<MmapRaw>,
    bytes: usize,
    page_bytes: usize,
}

impl Mapping {
    /// Maps all of `file`, with write access if the file permits it.
    ///
    /// # Errors
    /// [`OsError::Mapping`] if it cannot be mapped, or was opened direct or durable, which loads and stores cannot be.
    pub fn new(file: RunFile) -> Result<Self, OsError> {
        let refusal = |why: String| OsError::Mapping { why };
        admits(&file)?;
        let bytes = rustix::fs::seek(&file, SeekFrom::End(0)).map_err(|error| refusal(error.to_string()))?;
        let bytes = usize::try_from(bytes).map_err(|_| refusal("it is larger than the address space".to_string()))?;
        fault::guard().map_err(|error| refusal(format!("SIGBUS cannot be handled: {error}")))?;
        let descriptor = file.as_fd().as_raw_fd();
        let mapped = match file.mode().write {
            _ if bytes == 0 => None,
            true => Some(MmapOptions::new().len(bytes).map_raw(descriptor)),
            false => Some(MmapOptions::new().len(bytes).map_raw_read_only(descriptor)),
        };
        let mapped = mapped.transpose().map_err(|error| refusal(error.to_string()))?;
        Ok(Self { file, mapped, bytes, page_bytes: rustix::param::page_size() })
    }

    /// The file behind it.
    pub fn file(&self) -> &RunFile {
        &self.file
    }

    /// Loads from `offset` on; returns the number of bytes loaded.
    ///
    /// # Errors
    /// `EIO` if a page is missing.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some((at, range)) = self.part(bytes.len(), offset) else { return Ok(0) };
        let start = self.page_range(&range);
        let count = range.len();
        // SAFETY: the range lies in the mapping, which nothing refers to, and `bytes` are the caller's alone.
        let whole = unsafe { fault::copy(at, bytes.as_mut_ptr(), count, start.clone()) };
        if whole { Ok(count) } else { self.mend(start) }
    }

    /// Stores from `offset` on; returns the number of bytes that fit, since a mapping does not grow.
    ///
    /// # Errors
    /// `EBADF` if the file may not be written, `ENXIO` past its end, `EIO` if a page is missing.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if !self.file.mode().write {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        let (at, range) = self.part(bytes.len(), offset).ok_or(io::Error::from_raw_os_error(libc::ENXIO))?;
        let start = self.page_range(&range);
        let count = range.len();
        // SAFETY: the range lies in the mapping, which may be written and which nothing refers to.
        let whole = unsafe { fault::copy(bytes.as_ptr(), at, count, start.clone()) };
        if whole { Ok(count) } else { self.mend(start) }
    }

    /// The address of `offset`, and the mapped part of the `length` bytes from there on; `None` if none is mapped.
    fn part(&self, length: usize, offset: u64) -> Option<(*mut u8, Range<usize>)> {
        let offset = usize::try_from(offset).ok().filter(|offset| *offset < self.bytes)?;
        let range = offset..self.bytes.min(offset.saturating_add(length));
        // SAFETY: the offset is below the length of the mapping.
        let at = unsafe { self.mapped.as_ref()?.as_mut_ptr().add(offset) };
        Some((at, range)).filter(|(_, range)| !range.is_empty())
    }

    /// The addresses of the whole pages around a range of the file.
    fn page_range(&self, range: &Range<usize>) -> Range<usize> {
        let base = self.mapped.as_ref().map_or(0, |mapped| mapped.as_mut_ptr() as usize);
        let begin = range.start & !(self.page_bytes - 1);
        base + begin..base + range.end.next_multiple_of(self.page_bytes)
    }

    /// Maps the file again where empty pages have replaced its pages, and returns the failure of the copy.
    fn mend(&self, pages: Range<usize>) -> io::Result<usize> {
        let base = self.mapped.as_ref().map_or(0, |mapped| mapped.as_mut_ptr() as usize);
        let write = if self.file.mode().write { libc::PROT_WRITE } else { 0 };
        let access = libc::PROT_READ | write;
        let kind = libc::MAP_SHARED | libc::MAP_FIXED;
        let descriptor = self.file.as_fd().as_raw_fd();
        let offset = (pages.start - base) as libc::off_t;
        // SAFETY: the pages belong to this mapping, which nothing refers to; they become what they were.
        unsafe { libc::mmap(pages.start as *mut libc::c_void, pages.len(), access, kind, descriptor, offset) };
        Err(io::Error::from_raw_os_error(libc::EIO))
    }
}

/// Checks whether loads and stores can do what `file` was opened for.
///
/// # Errors
/// [`OsError::Mapping`] with the reason and what would help.
pub fn admits(file: &RunFile) -> Result<(), OsError> {
    let why = match file.mode() {
        mode if mode.direct => "mapped memory is the page cache, and past that there is no way: use --cache both",
        mode if mode.durable => "a store into mapped memory cannot be made durable by itself: use --cache both",
        _ => return Ok(()),
    };
    Err(OsError::Mapping { why: why.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataFile, Mode};
    use std::path::Path;

    fn file(bytes: u64) -> DataFile {
        let file = DataFile::unnamed_in(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        file.set_size(bytes).unwrap();
        file
    }

    fn mapping(file: &DataFile, write: bool) -> Mapping {
        Mapping::new(file.reopen(Mode { write, ..Mode::default() }).unwrap()).unwrap()
    }

    fn code(result: io::Result<usize>) -> i32 {
        result.unwrap_err().raw_os_error().unwrap()
    }

    #[test]
    fn a_page_that_went_away_is_an_error_and_not_the_end() {
        let file = file(65536);
        file.write_all_at(&[7; 65536], 0).unwrap();
        let mapping = mapping(&file, true);
        let mut bytes = vec![0; 16384];
        assert_eq!(mapping.read_at(&mut bytes, 8192).unwrap(), 16384);
        file.set_size(4096).unwrap();
        for _ in 0..2 {
            assert_eq!(code(mapping.read_at(&mut bytes, 8192)), libc::EIO);
            assert_eq!(code(mapping.write_at(&bytes, 32768)), libc::EIO);
        }
        assert_eq!(mapping.read_at(&mut bytes[..4096], 0).unwrap(), 4096, "what is left can still be read");
        assert_eq!(bytes[..4096], [7; 4096]);
        file.set_size(65536).unwrap();
        file.write_all_at(&[9; 16384], 8192).unwrap();
        assert_eq!(mapping.read_at(&mut bytes, 8192).unwrap(), 16384, "the file is mapped there again");
        assert_eq!(bytes, [9; 16384]);
    }

    #[test]
    fn nothing_is_reached_behind_the_end() {
        let file = file(5000);
        let mapping = mapping(&file, true);
        let mut bytes = [1; 4096];
        assert_eq!(mapping.write_at(&bytes, 4096).unwrap(), 904);
        assert_eq!(mapping.read_at(&mut bytes, 4096).unwrap(), 904);
        assert_eq!(mapping.read_at(&mut bytes, 5000).unwrap(), 0);
        assert_eq!(code(mapping.write_at(&bytes, 5000)), libc::ENXIO);
        assert_eq!(code(mapping.write_at(&bytes, u64::MAX)), libc::ENXIO);
        assert_eq!(file.size_bytes().unwrap(), 5000);
    }

    #[test]
    fn an_empty_file_and_one_for_reading_are_no_traps() {
        let empty = mapping(&file(0), true);
        assert_eq!((empty.read_at(&mut [0], 0).unwrap(), code(empty.write_at(&[0], 0))), (0, libc::ENXIO));
        let reading = mapping(&file(4096), false);
        assert_eq!((reading.read_at(&mut [0; 9], 0).unwrap(), code(reading.write_at(&[0], 0))), (9, libc::EBADF));
    }
}
