//! Holds the bytes of a file that buffered writes left in the page cache, and gives them up as requests.

use std::collections::BTreeMap;

/// A page of the page cache.
const PAGE: u64 = 4096;
/// Most bytes of a request that writes back.
const PIECE: u64 = 1 << 20;
/// Most requests of a sync that has many bytes to write; its requests are larger then.
const MOST_PIECES: u64 = 1 << 16;
/// Most bytes of a request, whatever there is to write.
const MOST_PIECE: u64 = 1 << 30;

/// Dirty pages of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Dirty {
    /// Ranges by their beginning, with their end; they neither overlap nor touch.
    ranges: BTreeMap<u64, u64>,
    /// Where the last range that was written back ended.
    written_to: u64,
}

/// A request that writes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub offset: u64,
    pub bytes: u64,
    /// Whether it begins where the one before ended.
    pub follows: bool,
}

impl Dirty {
    /// Makes the pages of these bytes dirty.
    pub fn write(&mut self, offset: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let mut begin = offset / PAGE * PAGE;
        let mut end = offset.saturating_add(bytes).div_ceil(PAGE).saturating_mul(PAGE);
        // The ranges that the new one touches become one with it.
        while let Some((other, other_end)) = self.last_until(end).filter(|(_, other_end)| *other_end >= begin) {
            begin = begin.min(other);
            end = end.max(other_end);
            self.ranges.remove(&other);
        }
        self.ranges.insert(begin, end);
    }

    /// The last range that begins at `end` or before.
    fn last_until(&self, end: u64) -> Option<(u64, u64)> {
        self.ranges.range(..=end).next_back().map(|(begin, end)| (*begin, *end))
    }

    /// Bytes that are dirty.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|(begin, end)| end - begin).fold(0, u64::saturating_add)
    }

    /// Gives them up as requests, in order of their place.
    pub fn write_back(&mut self) -> Vec<Piece> {
        let most = (self.bytes() / MOST_PIECES).next_multiple_of(PIECE).clamp(PIECE, MOST_PIECE);
        let mut pieces = Vec::new();
        for (begin, end) in std::mem::take(&mut self.ranges) {
            let mut offset = begin;
            while offset < end {
                let bytes = most.min(end - offset);
                // A page that was written before and is now full, or the one after it.
                let continues = offset == self.written_to || offset + PAGE == self.written_to;
                pieces.push(Piece { offset, bytes, follows: continues });
                offset += bytes;
                self.written_to = offset;
            }
        }
        pieces
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(dirty: &mut Dirty) -> Vec<(u64, u64, bool)> {
        dirty.write_back().iter().map(|piece| (piece.offset / PAGE, piece.bytes / PAGE, piece.follows)).collect()
    }

    #[test]
    fn writes_that_touch_are_written_back_together() {
        let mut dirty = Dirty::default();
        for page in [7, 3, 9, 4, 8, 3] {
            dirty.write(page * PAGE + 10, 100);
        }
        dirty.write(20 * PAGE, PAGE + 1);
        assert_eq!(dirty.bytes(), 7 * PAGE);
        assert_eq!(pieces(&mut dirty), [(3, 2, false), (7, 3, false), (20, 2, false)]);
        assert_eq!((dirty.bytes(), pieces(&mut dirty)), (0, Vec::new()));
        dirty.write(4 * PAGE, 1);
        dirty.write(0, 10 * PAGE);
        assert_eq!(pieces(&mut dirty), [(0, 10, false)]);
    }

    #[test]
    fn an_append_follows_what_was_written_back_before() {
        let mut dirty = Dirty::default();
        dirty.write(0, 6000);
        assert_eq!(pieces(&mut dirty), [(0, 2, true)]);
        // The second half of the last page, and the next.
        dirty.write(6000, 6000);
        assert_eq!(pieces(&mut dirty), [(1, 2, true)]);
        dirty.write(3 * PAGE, 2 * PIECE);
        let large = pieces(&mut dirty);
        assert_eq!(large, [(3, 256, true), (259, 256, true)]);
    }

    #[test]
    fn a_sync_of_very_much_makes_no_endless_number_of_requests() {
        let mut dirty = Dirty::default();
        dirty.write(0, 1 << 50);
        assert!(dirty.write_back().len() <= 1 << 20);
    }
}
