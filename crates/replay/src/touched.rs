//! Finds what a capture needs of each of its files: which parts have to be there, how far it grows, what must not be cached.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use halfpower_record::{Captured, OperationKind};

/// Files are laid out in pieces of this size. What is not touched stays a hole.
pub(crate) const PIECE_BYTES: u64 = 1 << 20;
/// The page cache's unit.
const PAGE_BYTES: u64 = 4096;

/// What a capture needs of one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Whether any operation is on it.
    pub is_used: bool,
    /// Pieces of it that operations touch, below its size.
    pub pieces: Vec<Range<u64>>,
    /// Where its last write ends; 0 without writes.
    pub written_to: u64,
    /// Parts that its first reads had to fetch from the disk.
    pub cold: Vec<Range<u64>>,
}

impl Needs {
    /// Bytes that have to be written before the first round.
    pub fn laid_out_bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.end - piece.start).sum()
    }
}

/// Ranges that do not overlap, in order.
#[derive(Debug, Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    fn holds(&self, at: u64) -> bool {
        self.0.range(..=at).next_back().is_some_and(|(_, end)| *end > at)
    }

    /// Adds a range, and joins it with those that it meets.
    fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = range;
        if let Some((before, its_end)) = self.0.range(..=start).next_back().map(|(start, end)| (*start, *end))
            && its_end >= start
        {
            start = before;
        }
        while let Some((met, its_end)) = self.0.range(start..=end).next().map(|(start, end)| (*start, *end)) {
            self.0.remove(&met);
            end = end.max(its_end);
        }
        self.0.insert(start, end);
    }

    fn into_vec(self) -> Vec<Range<u64>> {
        self.0.into_iter().map(|(start, end)| start..end).collect()
    }
}

/// What is known of a file on the way through the operations.
#[derive(Default)]
struct Seen {
    is_used: bool,
    pieces: Ranges,
    written_to: u64,
    touched: Ranges,
    cold: Ranges,
}

/// What a capture needs of each of its files, in their order.
pub(crate) fn needs(captured: &Captured) -> Vec<Needs> {
    let mut all: Vec<Seen> = captured.files.iter().map(|_| Seen::default()).collect();
    // Where each lane's last read of a file ended, and whether it came from the disk.
    let mut reads: HashMap<(u32, u32), (u64, bool)> = HashMap::new();
    for operation in &captured.operations {
        let seen = &mut all[operation.file as usize];
        let file = &captured.files[operation.file as usize];
        seen.is_used = true;
        let end = operation.offset + operation.bytes;
        let reads_it = matches!(operation.kind, OperationKind::Read | OperationKind::FaultRead);
        if operation.bytes == 0 {
            continue;
        }
        seen.pieces.add(within(operation.offset..end, PIECE_BYTES, file.bytes));
        if !reads_it {
            seen.written_to = seen.written_to.max(end);
        }
        let pages = within(operation.offset..end, PAGE_BYTES, u64::MAX);
        if reads_it && !file.direct {
            let before = reads.get(&(operation.lane, operation.file)).copied();
            // What read-ahead had fetched comes from the disk too.
            let goes_on = before.is_some_and(|(at, from_disk)| from_disk && at == operation.offset);
            let from_disk = !operation.cached || goes_on;
            reads.insert((operation.lane, operation.file), (end, from_disk));
            if from_disk && !seen.touched.holds(pages.start) {
                seen.cold.add(pages.clone());
            }
        }
        seen.touched.add(pages);
    }
    all.into_iter().map(Seen::into_needs).collect()
}

impl Seen {
    fn into_needs(self) -> Needs {
        Needs {
            is_used: self.is_used,
            pieces: self.pieces.into_vec(),
            written_to: self.written_to,
            cold: self.cold.into_vec(),
        }
    }
}

/// A range as whole blocks, cut at `most`.
fn within(range: Range<u64>, block: u64, most: u64) -> Range<u64> {
    let start = (range.start / block * block).min(most);
    let end = range.end.div_ceil(block).saturating_mul(block).min(most);
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use halfpower_record::{CapturedFile, CapturedOperation};

    use super::*;

    const MIB: u64 = 1 << 20;

    fn needs_of(bytes: u64, operations: &[(OperationKind, u64, u64, bool)]) -> Needs {
        let operations = operations.iter().zip(0..).map(|((kind, offset, bytes, cached), at_ns)| CapturedOperation {
            slice: 0,
            lane: 0,
            at_ns,
            took_ns: 0,
            kind: *kind,
            file: 0,
            offset: *offset,
            bytes: *bytes,
            cached: *cached,
        });
        let captured = Captured {
            slices: vec![1000],
            lanes: 1,
            files: vec![CapturedFile { bytes, ..CapturedFile::default() }],
            operations: operations.collect(),
            ..Captured::default()
        };
        needs(&captured).remove(0)
    }

    #[test]
    fn only_what_is_touched_is_laid_out() {
        let read = |offset, bytes| (OperationKind::Read, offset, bytes, false);
        let found = needs_of(100 * MIB, &[read(5, 10), read(50 * MIB - 1, 2), read(99 * MIB + 7, 4096)]);
        assert_eq!(found.pieces, [0..MIB, 49 * MIB..51 * MIB, 99 * MIB..100 * MIB]);
        assert_eq!((found.laid_out_bytes(), found.written_to, found.is_used), (4 * MIB, 0, true));
        let grown = needs_of(5000, &[(OperationKind::Write, 4000, 8000, true), (OperationKind::Fsync, 0, 0, false)]);
        assert_eq!((grown.pieces.as_slice(), grown.written_to), (from_ref(&(0..5000)), 12_000));
        assert_eq!(needs_of(0, &[(OperationKind::Fsync, 0, 0, false)]), Needs { is_used: true, ..Needs::default() });
    }

    #[test]
    fn what_the_first_reads_fetched_is_cold_and_the_rest_is_not() {
        let read = |offset: u64, cached| (OperationKind::Read, offset * 4096, 4096, cached);
        // Page 9 was there before; page 3 was fetched, and is there the second time.
        let found = needs_of(MIB, &[read(9, true), read(3, false), read(3, true), read(9, false)]);
        assert_eq!(found.cold, from_ref(&(3 * 4096..4 * 4096)));
        // Read-ahead had fetched what follows.
        let stream = needs_of(MIB, &[read(0, false), read(1, true), read(2, true), read(9, true)]);
        assert_eq!(stream.cold, from_ref(&(0..3 * 4096)));
        let written = needs_of(MIB, &[(OperationKind::Write, 0, 4096, true), read(0, false)]);
        assert!(written.cold.is_empty());
    }
}
