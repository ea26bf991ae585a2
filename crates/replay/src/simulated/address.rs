//! Gives the files of a capture their places on a simulated path, and says which operations continue others.

use std::collections::VecDeque;

use halfpower_record::{Captured, CapturedOperation};

/// Files begin at multiples of this.
const ALIGNMENT: u64 = 1 << 20;
/// Smallest transfer of a disk.
const SECTOR: u64 = 512;
/// Streams of a file that are told apart.
const STREAMS: usize = 64;

/// Where the files lie, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Address {
    /// Where each file begins.
    begins: Vec<u64>,
    /// All that the files take.
    pub bytes: u64,
}

impl Address {
    pub fn of(captured: &Captured) -> Self {
        let mut sizes: Vec<u64> = captured.files.iter().map(|file| file.bytes).collect();
        for operation in &captured.operations {
            let size = &mut sizes[operation.file as usize];
            *size = (*size).max(operation.offset.saturating_add(operation.bytes));
        }
        let mut bytes = 0_u64;
        let begins = sizes
            .iter()
            .map(|size| {
                let begin = bytes;
                let taken = size.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
                bytes = bytes.saturating_add(taken);
                begin
            })
            .collect();
        Self { begins, bytes }
    }

    /// The place of a request on a path of this capacity. What lies beyond it is folded into it.
    pub fn place(&self, file: u32, offset: u64, length: u32, capacity: u64) -> u64 {
        let at = self.begins[file as usize].saturating_add(offset);
        if at.saturating_add(u64::from(length)) <= capacity {
            return at;
        }
        match capacity.saturating_sub(u64::from(length)) {
            0 => 0,
            room => at % room / SECTOR * SECTOR,
        }
    }
}

/// For each operation, whether it begins where one before it on the same file ended.
pub(super) fn continuing(captured: &Captured) -> Vec<bool> {
    let mut ends: Vec<VecDeque<u64>> = vec![VecDeque::new(); captured.files.len()];
    let continues = |operation: &CapturedOperation| {
        if operation.bytes == 0 {
            return false;
        }
        let ends = &mut ends[operation.file as usize];
        let found = ends.iter().position(|end| *end == operation.offset);
        match found {
            Some(stream) => {
                ends.remove(stream);
            }
            None if ends.len() == STREAMS => {
                ends.pop_front();
            }
            None => {}
        }
        ends.push_back(operation.offset.saturating_add(operation.bytes));
        found.is_some()
    };
    captured.operations.iter().map(continues).collect()
}

#[cfg(test)]
mod tests {
    use halfpower_record::{CapturedFile, OperationKind};

    use super::*;

    fn captured(operations: &[(u32, u64, u64)]) -> Captured {
        let operation = |(file, offset, bytes): &(u32, u64, u64)| CapturedOperation {
            slice: 0,
            lane: 0,
            at_ns: 0,
            took_ns: 0,
            kind: OperationKind::Read,
            file: *file,
            offset: *offset,
            bytes: *bytes,
            cached: false,
        };
        Captured {
            slices: vec![1],
            files: vec![CapturedFile { bytes: 4096, ..CapturedFile::default() }; 2],
            lanes: 1,
            operations: operations.iter().map(operation).collect(),
            ..Captured::default()
        }
    }

    #[test]
    fn files_lie_apart_and_what_is_beyond_the_path_is_folded() {
        let address = Address::of(&captured(&[(0, 3 << 20, 4096), (1, 0, 8192)]));
        assert_eq!(address.bytes, 5 << 20);
        assert_eq!(address.place(1, 4096, 4096, u64::MAX), (4 << 20) + 4096);
        let folded = address.place(1, 4096, 4096, 1 << 20);
        assert!(folded + 4096 <= 1 << 20 && folded.is_multiple_of(512), "{folded}");
        assert_eq!(address.place(1, 0, 1 << 20, 4096), 0);
    }

    #[test]
    fn streams_of_a_file_are_told_apart() {
        let read =
            captured(&[(0, 0, 10), (0, 100, 10), (1, 10, 10), (0, 10, 10), (0, 110, 10), (0, 50, 0), (0, 60, 1)]);
        assert_eq!(continuing(&read), [false, false, false, true, true, false, false]);
    }
}
