//! Gives every block of a range once before one comes again, in no order: block by block, or in pieces of several sizes.

use std::ops::Range;

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::skewed_blocks::scatter;

/// Most units of a range that is covered by pieces of several sizes: a bit is kept for each.
pub(crate) const MOST_UNITS: u64 = 1 << 32;

/// A full-period congruential sequence over the next power of two: every block once, in pseudo-random order.
pub(crate) struct Permutation {
    state: u64,
    multiplier: u64,
    increment: u64,
    mask: u64,
}

impl Permutation {
    /// A sequence that visits each of 2^k states once: the multiplier is 1 mod 4 and the increment odd (Hull and
    /// Dobell, 1962).
    pub(crate) fn new(blocks: u64, random: &mut Xoshiro256PlusPlus) -> Self {
        let mask = blocks.next_power_of_two() - 1;
        Self {
            state: random.next_u64() & mask,
            multiplier: (random.next_u64() & !3) | 1,
            increment: random.next_u64() | 1,
            mask,
        }
    }

    #[inline]
    pub(crate) fn next_below(&mut self, blocks: u64) -> u64 {
        loop {
            self.state = self.state.wrapping_mul(self.multiplier).wrapping_add(self.increment) & self.mask;
            // The low bits of such a sequence follow a short cycle; mixing all bits hides it.
            let block = scatter(self.state, self.mask);
            if block < blocks {
                return block;
            }
        }
    }
}

/// Pieces of several sizes such that each byte of a range comes once before one comes again, as with fio's random map: a
/// piece that would reach what has come is shorter.
pub(crate) struct Cover {
    order: Permutation,
    first: u64,
    /// The smallest size, of which all others are multiples.
    unit_bytes: u64,
    units: u64,
    /// A bit for each unit: whether it has come.
    come: Vec<u64>,
    /// Units that have not.
    left: u64,
    /// Whether it ends when all have come, instead of beginning again.
    once: bool,
}

impl Cover {
    /// A cover of `range` by pieces of whole units.
    pub(crate) fn new(range: &Range<u64>, unit_bytes: u64, once: bool, random: &mut Xoshiro256PlusPlus) -> Self {
        let units = range.end.saturating_sub(range.start) / unit_bytes.max(1);
        let come = vec![0; units.div_ceil(64) as usize];
        let order = Permutation::new(units, random);
        Self { order, first: range.start, unit_bytes, units, come, left: units, once }
    }

    /// The offset and the length of the next piece, of at most `bytes`; `None` if all has come and it ends then. It begins
    /// at a multiple of `multiple` units; where something has come there, it is what is left before the next multiple.
    #[inline]
    pub(crate) fn take(&mut self, bytes: u32, multiple: u64) -> Option<(u64, u32)> {
        if self.left == 0 {
            if self.once {
                return None;
            }
            self.come.fill(0);
            self.left = self.units;
        }
        let drawn = loop {
            let unit = self.order.next_below(self.units);
            if !self.has_come(unit) {
                break unit;
            }
        };
        let block = drawn - drawn % multiple.max(1);
        let start = (block..drawn).find(|unit| !self.has_come(*unit)).unwrap_or(drawn);
        let most = (u64::from(bytes) / self.unit_bytes).max(1);
        let most = if start == block { most } else { most.min(block + multiple - start) };
        let mut end = start;
        while end - start < most && end < self.units && !self.has_come(end) {
            self.come[(end / 64) as usize] |= 1 << (end % 64);
            end += 1;
        }
        self.left -= end - start;
        Some((self.first + start * self.unit_bytes, ((end - start) * self.unit_bytes) as u32))
    }

    fn has_come(&self, unit: u64) -> bool {
        self.come[(unit / 64) as usize] >> (unit % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    /// The units that pieces of these sizes in turn reach, `count` pieces.
    fn reached(cover: &mut Cover, sizes: &[u32], count: usize) -> Vec<u64> {
        let pieces = sizes.iter().cycle().take(count).map_while(|bytes| cover.take(*bytes, 1));
        pieces
            .flat_map(|(offset, length)| {
                assert!(length > 0 && (offset - 8192).is_multiple_of(4096) && length.is_multiple_of(4096));
                let first = (offset - 8192) / 4096;
                first..first + u64::from(length / 4096)
            })
            .collect()
    }

    #[test]
    fn every_unit_comes_once_whatever_the_sizes() {
        let range = 8192..8192 + 1000 * 4096 + 100;
        let mut once = Cover::new(&range, 4096, true, &mut Xoshiro256PlusPlus::seed_from_u64(42));
        let units = reached(&mut once, &[4096, 65536, 16384], 5000);
        let rising = units.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!((300..990).contains(&rising), "pieces of several units, in no order: {rising}");
        let mut sorted = units;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
        assert!(once.take(4096, 1).is_none());
    }

    #[test]
    fn whole_pieces_begin_at_multiples_of_what_is_asked() {
        let range = 8192..8192 + 1000 * 4096;
        let mut cover = Cover::new(&range, 4096, true, &mut Xoshiro256PlusPlus::seed_from_u64(42));
        let asked = [(4096, 1), (65536, 16), (131_072, 16)];
        let pieces: Vec<_> =
            asked.iter().cycle().map_while(|(bytes, multiple)| cover.take(*bytes, *multiple)).collect();
        let units = |length: u32| u64::from(length / 4096);
        for (offset, length) in &pieces {
            let first = (offset - 8192) / 4096;
            assert!(first % 16 == 0 || first % 16 + units(*length) <= 16, "{first} and {} units", units(*length));
        }
        assert!(pieces.iter().filter(|(_, length)| *length >= 65536).count() > 10);
        assert_eq!(pieces.iter().map(|(_, length)| units(*length)).sum::<u64>(), 1000, "every unit comes once");
    }

    #[test]
    fn a_cover_begins_again_when_all_has_come() {
        let mut cover = Cover::new(&(8192..8192 + 7 * 4096), 4096, false, &mut Xoshiro256PlusPlus::seed_from_u64(1));
        let units = reached(&mut cover, &[4096], 14);
        for pass in units.chunks(7) {
            let mut pass = pass.to_vec();
            pass.sort_unstable();
            assert_eq!(pass, (0..7).collect::<Vec<_>>());
        }
    }
}
