//! Makes places in a file of sectors of a disk: what lies close stays close, and what nobody reached takes no room.
//!
//! No event tells at which offset an asynchronous operation is, and of which page a fault is, but where its first request
//! goes on the disk is seen. The disk is cut into units; those that were reached follow each other in the order in which they
//! lie there. So blocks that were used again are used again, what was in order stays in order, and the file is no larger than
//! what was reached.

use std::collections::{BTreeMap, BTreeSet};

use super::requests::SECTOR_BYTES;

/// Bytes of a unit.
const UNIT_BYTES: u64 = 1 << 20;
/// Units that are counted for one operation; the kernel moves no more than 2 GiB by a call.
const MOST_UNITS: u64 = 1 << 11;
/// Bits of a place that hold its byte on the disk; those above hold the disk.
const BYTE_BITS: u32 = 54;

/// A place on a disk as one number.
pub(crate) fn place(disk: usize, sector: u64) -> u64 {
    let byte = sector.saturating_mul(SECTOR_BYTES).min((1 << BYTE_BITS) - 1);
    ((disk as u64) << BYTE_BITS) | byte
}

/// What was reached on disks for each file.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    /// The first place of each file.
    first: BTreeMap<u32, u64>,
    units: BTreeSet<(u32, u64)>,
}

/// The place of each unit in its file.
#[derive(Debug)]
pub(crate) struct Ranks {
    first: BTreeMap<u32, u64>,
    ranks: BTreeMap<(u32, u64), u64>,
}

impl Reached {
    /// What these operations reached: each with its file, its place on a disk and its bytes.
    pub(crate) fn of(operations: impl Iterator<Item = (u32, u64, u64)> + Clone) -> Self {
        let mut reached = Self::default();
        for (file, place, _) in operations.clone() {
            let first = reached.first.entry(file).or_insert(place);
            *first = place.min(*first);
        }
        for (file, place, bytes) in operations {
            let from = place - reached.first[&file];
            let last = from.saturating_add(bytes.saturating_sub(1)) / UNIT_BYTES;
            let from = from / UNIT_BYTES;
            reached.units.extend((from..=last.min(from + MOST_UNITS)).map(|unit| (file, unit)));
        }
        reached
    }

    /// Numbers the units of each file.
    pub(crate) fn ranks(self) -> Ranks {
        let mut ranks = BTreeMap::new();
        let mut now = (0, 0);
        for (file, unit) in self.units {
            if now.0 != file {
                now = (file, 0);
            }
            ranks.insert((file, unit), now.1);
            now.1 += 1;
        }
        Ranks { first: self.first, ranks }
    }
}

impl Ranks {
    /// The offset in a file of a place that was reached for it; 0 for another.
    pub(crate) fn offset(&self, file: u32, place: u64) -> u64 {
        let from = place.saturating_sub(self.first.get(&file).copied().unwrap_or(place));
        let rank = self.ranks.get(&(file, from / UNIT_BYTES)).copied().unwrap_or(0);
        rank * UNIT_BYTES + from % UNIT_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn what_is_close_stays_close_and_gaps_take_no_room() {
        let at = |mib: u64, sectors: u64| place(0, mib * MIB / SECTOR_BYTES + sectors);
        let places = [at(900_000, 8), at(40, 0), at(41, 16), at(900_000, 0), place(1, 8)];
        let operations = places.iter().map(|place| (7, *place, 4096));
        let ranks = Reached::of(operations).ranks();
        let offsets = places.map(|place| ranks.offset(7, place));
        assert_eq!(offsets, [2 * MIB + 4096, 0, MIB + 8192, 2 * MIB, 3 * MIB + 4096]);
        assert_eq!(ranks.offset(8, places[0]), 0);
    }

    #[test]
    fn what_reaches_over_units_takes_all_of_them() {
        let at = |mib: u64| place(0, mib * MIB / SECTOR_BYTES);
        let operations = [(1, at(10), 3 * MIB), (1, at(20), 512), (2, at(5), MIB + 1)];
        let ranks = Reached::of(operations.into_iter()).ranks();
        assert_eq!([at(10), at(12), at(20)].map(|place| ranks.offset(1, place)), [0, 2 * MIB, 3 * MIB]);
        assert_eq!(ranks.offset(2, at(6)), MIB);
    }
}
