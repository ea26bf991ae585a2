//! Finds holes and unwritten extents, which read as zeros without touching the device, and in how many pieces a file lies.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use crate::interrupt::resumed;
use crate::{DataFile, Kind, OsError};

/// Write back first, so that delayed allocations become visible (`FIEMAP_FLAG_SYNC`, <linux/fiemap.h>).
const FLAG_SYNC: u32 = 0x1;
/// This is the last extent (`FIEMAP_EXTENT_LAST`).
const EXTENT_LAST: u32 = 0x1;
/// Where it lies is not known, or not decided (`FIEMAP_EXTENT_UNKNOWN`, `FIEMAP_EXTENT_DELALLOC`).
const EXTENT_NOWHERE: u32 = 0x2 | 0x4;
/// It lies there in another form, such as compressed (`FIEMAP_EXTENT_ENCODED`).
const EXTENT_ENCODED: u32 = 0x8;
/// It lies in a block with other data, or inside of metadata (`FIEMAP_EXTENT_NOT_ALIGNED`, `_DATA_INLINE`, `_DATA_TAIL`).
const EXTENT_INSIDE: u32 = 0x100 | 0x200 | 0x400;
/// Allocated, but reads as zeros (`FIEMAP_EXTENT_UNWRITTEN`).
const EXTENT_UNWRITTEN: u32 = 0x800;
/// Extents requested in one call.
const EXTENTS: usize = 256;

/// Calls for one file at most: a file in more pieces than these give is in many.
const CALLS: usize = 256;

/// How a file lies on its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Length of the part of the file that was looked at: all of it, unless it lies in very many pieces.
    pub bytes: u64,
    /// Bytes of it that have a place on the device, unwritten ones too.
    pub placed_bytes: u64,
    /// Bytes of it that have a place and were never written.
    pub unwritten_bytes: u64,
    /// Pieces: extents that do not follow each other on the device are several.
    pub pieces: u64,
    /// Whether some of it lies there in another form, such as compressed.
    pub is_encoded: bool,
}

impl Layout {
    /// Adds the next extent; `end` is where the last piece ends on the device.
    fn add(&mut self, extent: &Extent, end: &mut Option<u64>) {
        self.is_encoded |= extent.flags & EXTENT_ENCODED != 0;
        if extent.flags & EXTENT_NOWHERE != 0 {
            return;
        }
        self.placed_bytes = self.placed_bytes.saturating_add(extent.length);
        if extent.flags & EXTENT_UNWRITTEN != 0 {
            self.unwritten_bytes = self.unwritten_bytes.saturating_add(extent.length);
        }
        self.pieces += u64::from(*end != Some(extent.physical));
        *end = extent.physical.checked_add(extent.length);
    }
}

/// A part of a file or device that lies somewhere else in one piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins in the file.
    pub at: u64,
    /// Where it lies.
    pub on: Range<u64>,
}

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
            let Some(extents) = self.told_extents(next..range.end, FLAG_SYNC)? else { return Ok(None) };
            written += extents.iter().map(|extent| written_bytes(extent, &range)).sum::<u64>();
            let Some(last) = extents.last().filter(|extent| extent.flags & EXTENT_LAST == 0) else { break };
            next = last.logical + last.length;
        }
        Ok(Some(range.end.saturating_sub(range.start) - written))
    }

    /// How the file lies on its device; what waits to be written back has no place yet. `None` for devices, and if the
    /// file system does not report it.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn layout(&self) -> Result<Option<Layout>, OsError> {
        if self.kind() == Kind::Block {
            return Ok(None);
        }
        let size_bytes = self.size_bytes()?;
        let mut layout = Layout::default();
        let mut end = None;
        for _ in 0..CALLS {
            if layout.bytes >= size_bytes {
                break;
            }
            let Some(extents) = self.told_extents(layout.bytes..size_bytes, 0)? else { return Ok(None) };
            extents.iter().for_each(|extent| layout.add(extent, &mut end));
            layout.bytes = match extents.last() {
                Some(last) if last.flags & EXTENT_LAST == 0 => last.logical.saturating_add(last.length),
                _ => size_bytes,
            };
        }
        Ok(Some(layout))
    }

    /// Where the bytes of `range` lie on the device of the file system, in order; what was never written is left out. A
    /// device lies where it is. `None` if the file system does not report it, or keeps some of it in another form.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn pieces(&self, range: Range<u64>) -> Result<Option<Vec<Piece>>, OsError> {
        if self.kind() == Kind::Block {
            return Ok(Some(vec![Piece { at: range.start, on: range }]));
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut next = range.start;
        for _ in 0..CALLS {
            if next >= range.end {
                break;
            }
            let Some(extents) = self.told_extents(next..range.end, FLAG_SYNC)? else { return Ok(None) };
            if extents.iter().any(|extent| extent.flags & (EXTENT_NOWHERE | EXTENT_ENCODED | EXTENT_INSIDE) != 0) {
                return Ok(None);
            }
            for piece in extents.iter().filter_map(|extent| piece_of(extent, &range)) {
                match pieces.last_mut() {
                    Some(last) if last.on.end == piece.on.start && last.end() == piece.at => last.on.end = piece.on.end,
                    _ => pieces.push(piece),
                }
            }
            let Some(last) = extents.last().filter(|extent| extent.flags & EXTENT_LAST == 0) else { break };
            next = last.logical.saturating_add(last.length);
        }
        Ok(Some(pieces))
    }

    /// As `extents`; `None` if the file system does not report them.
    fn told_extents(&self, range: Range<u64>, flags: u32) -> Result<Option<Vec<Extent>>, OsError> {
        match resumed(|| self.extents(range.clone(), flags)) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::ENOSYS)) => {
                Ok(None)
            }
            other => other.map(Some).map_err(|error| OsError::of("FIEMAP", "looked at", self.path(), error)),
        }
    }

    /// The first extents in `range`, at most [`EXTENTS`] of them.
    fn extents(&self, range: Range<u64>, flags: u32) -> io::Result<Vec<Extent>> {
        let head = Head {
            start: range.start,
            length: range.end - range.start,
            flags,
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

impl Piece {
    /// Bytes of it.
    pub fn bytes(&self) -> u64 {
        self.on.end - self.on.start
    }

    /// Where it ends in the file.
    pub fn end(&self) -> u64 {
        self.at.saturating_add(self.bytes())
    }
}

/// What of an extent was written and lies in `range`.
fn piece_of(extent: &Extent, range: &Range<u64>) -> Option<Piece> {
    let at = extent.logical.max(range.start);
    let end = extent.logical.checked_add(extent.length)?.min(range.end);
    let start = extent.physical.checked_add(at - extent.logical)?;
    let is_written = extent.flags & EXTENT_UNWRITTEN == 0 && at < end;
    is_written.then(|| Piece { at, on: start..start.saturating_add(end - at) })
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

    #[test]
    fn extents_that_follow_each_other_on_the_device_are_one_piece() {
        let mut layout = Layout::default();
        let mut end = None;
        let extents = [(0, 8, 0), (8, 4, EXTENT_UNWRITTEN), (20, 4, 0), (0, 16, 0x4), (24, 4, EXTENT_ENCODED)];
        for (physical, length, flags) in extents {
            layout.add(&Extent { physical, length, flags, ..Extent::default() }, &mut end);
        }
        let expected = Layout { bytes: 0, placed_bytes: 20, unwritten_bytes: 4, pieces: 2, is_encoded: true };
        assert_eq!(layout, expected);
    }

    #[test]
    fn a_piece_is_what_was_written_of_an_extent_within_a_range() {
        let extent =
            |logical, physical, length, flags| Extent { logical, physical, length, flags, ..Extent::default() };
        let piece = |extent: Extent| piece_of(&extent, &(4..20));
        assert_eq!(piece(extent(0, 100, 8, 0)), Some(Piece { at: 4, on: 104..108 }));
        assert_eq!(piece(extent(8, 200, 100, 0)), Some(Piece { at: 8, on: 200..212 }));
        assert_eq!(piece(extent(8, 200, 4, EXTENT_UNWRITTEN)), None);
        assert_eq!(piece(extent(20, 200, 4, 0)), None);
    }

    #[test]
    fn pieces_hold_each_byte_that_was_written_once() {
        let file = DataFile::unnamed_in(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        file.write_all_at(&vec![1; 1 << 20], 0).unwrap();
        file.write_all_at(&vec![1; 1 << 20], 4 << 20).unwrap();
        let Some(pieces) = file.pieces(0..8 << 20).unwrap() else {
            return crate::skip("this file system does not tell its extents");
        };
        assert_eq!(pieces.iter().map(Piece::bytes).sum::<u64>(), 2 << 20, "{pieces:?}");
        assert_eq!((pieces[0].at, pieces.last().unwrap().end()), (0, 5 << 20));
        assert!(pieces.is_sorted_by_key(|piece| piece.at));
    }

    #[test]
    fn a_file_with_holes_lies_in_pieces() {
        let file = DataFile::unnamed_in(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(file.layout().unwrap().is_none_or(|layout| layout == Layout::default()));
        let count = EXTENTS as u64 + 10;
        for index in 0..count {
            file.write_all_at(&[1; 4096], index * 65536).unwrap();
        }
        // What was not written back has no place.
        if file.unwritten_bytes(0..count * 65536).unwrap().is_some() {
            let layout = file.layout().unwrap().unwrap();
            assert_eq!(layout.bytes, (count - 1) * 65536 + 4096);
            assert!(layout.placed_bytes >= count * 4096 && layout.pieces >= 1, "{layout:?}");
        }
    }
}
