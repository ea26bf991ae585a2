//! Finds holes and unwritten extents, which read as zeros without touching the device.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use crate::interrupt::resumed;
use crate::{DataFile, Kind, OsError};

/// Write back first, so that delayed allocations become visible (`FIEMAP_FLAG_SYNC`, <linux/fiemap.h>).
const FLAG_SYNC: u32 = 0x1;
/// This is the last extent (`FIEMAP_EXTENT_LAST`).
const EXTENT_LAST: u32 = 0x1;
/// Allocated, but reads as zeros (`FIEMAP_EXTENT_UNWRITTEN`).
const EXTENT_UNWRITTEN: u32 = 0x800;
/// Extents requested in one call.
const EXTENTS: usize = 256;

/// The kernel's `struct fiemap` without its tail.
#[repr(C)]
#[derive(Default)]
struct Head {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// The kernel's `struct fiemap_extent`.
#[repr(C)]
#[derive(Default, Clone, Copy)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Map {
    head: Head,
    extents: [Extent; EXTENTS],
}

impl DataFile {
    /// Bytes of `range` that were never written: holes, unwritten extents, and the part past the end. `None` for
    /// devices, which have no extents, and if the file system does not report them.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn unwritten_bytes(&self, range: Range<u64>) -> Result<Option<u64>, OsError> {
        if self.kind() == Kind::Block {
            return Ok(None);
        }
        let mut written = 0;
        let mut next = range.start;
        while next < range.end {
            let extents = match resumed(|| self.extents(next..range.end)) {
                Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::ENOSYS)) => {
                    return Ok(None);
                }
                other => other.map_err(|error| OsError::of("FIEMAP", "looked at", self.path(), error))?,
            };
            written += extents.iter().map(|extent| written_bytes(extent, &range)).sum::<u64>();
            let Some(last) = extents.last().filter(|extent| extent.flags & EXTENT_LAST == 0) else { break };
            next = last.logical + last.length;
        }
        Ok(Some(range.end.saturating_sub(range.start) - written))
    }

    /// The first extents in `range`, at most [`EXTENTS`] of them.
    fn extents(&self, range: Range<u64>) -> io::Result<Vec<Extent>> {
        let head = Head {
            start: range.start,
            length: range.end - range.start,
            flags: FLAG_SYNC,
            extent_count: EXTENTS as u32,
            ..Head::default()
        };
        let mut map = Box::new(Map { head, extents: [Extent::default(); EXTENTS] });
        let request = rustix::ioctl::opcode::read_write::<Head>(b'f', 11);
        // SAFETY: the structure has the kernel's layout, with room for as many extents as it says.
        let refused = unsafe { libc::ioctl(self.as_fd().as_raw_fd(), request as _, &raw mut *map) } != 0;
        if refused {
            return Err(io::Error::last_os_error());
        }
        Ok(map.extents[..(map.head.mapped_extents as usize).min(EXTENTS)].to_vec())
    }
}

fn written_bytes(extent: &Extent, range: &Range<u64>) -> u64 {
    if extent.flags & EXTENT_UNWRITTEN != 0 {
        return 0;
    }
    let end = (extent.logical + extent.length).min(range.end);
    end.saturating_sub(extent.logical.max(range.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_counts_as_written() {
        let file = DataFile::unnamed_in(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        file.allocate(4 << 20).unwrap();
        let Some(unwritten) = file.unwritten_bytes(0..4 << 20).unwrap() else {
            return crate::skip("this file system does not tell its extents");
        };
        assert_eq!(unwritten, 4 << 20);
        file.write_all_at(&vec![1; 1 << 20], 1 << 20).unwrap();
        assert_eq!(file.unwritten_bytes(0..4 << 20).unwrap(), Some(3 << 20));
        assert_eq!(file.unwritten_bytes(1 << 20..2 << 20).unwrap(), Some(0));
        assert_eq!(file.unwritten_bytes(3 << 19..5 << 19).unwrap(), Some(1 << 19));
        assert_eq!(file.unwritten_bytes(0..6 << 20).unwrap(), Some(5 << 20));
        assert_eq!(file.unwritten_bytes(0..0).unwrap(), Some(0));
    }

    #[test]
    fn more_extents_than_one_answer_holds_are_all_counted() {
        let file = DataFile::unnamed_in(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let count = 2 * EXTENTS as u64 + 10;
        for index in 0..count {
            file.write_all_at(&[1; 4096], index * 65536).unwrap();
        }
        let range = 0..count * 65536;
        if let Some(unwritten) = file.unwritten_bytes(range.clone()).unwrap() {
            assert_eq!(range.end - unwritten, count * 4096);
        }
    }
}
