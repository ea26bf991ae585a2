//! Where do the bytes of requests lie? One mapping cut into equal slots, each aligned for direct I/O.
//!
//! A count, a size and a seed enter. The slots are filled with data that neither compresses nor repeats, so that
//! no device or file system can save itself the work.

use std::ptr::NonNull;
use std::slice;

use memmap2::{Advice, MmapMut};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::OsError;

/// Slots begin at multiples of this, or of the page size where that is larger.
const SLOT_ALIGNMENT: usize = 4096;
/// Every block of this size in a written request carries a mark of its own.
const STAMP_EVERY: usize = 4096;
/// Bytes in a mark: the serial number under the seed, and the block's index in its request.
const STAMP_BYTES: usize = 16;
/// The size of a huge page on most machines; where another is in use the advice is worth less, and nothing breaks.
const HUGE_PAGE: usize = 2 << 20;
/// Mappings from this size on ask for huge pages: a request in one piece costs a device less than in 4 KiB pages.
const HUGE_FROM: usize = 256 << 10;

/// Equal, page-aligned slots of incompressible bytes in one anonymous mapping.
pub struct Buffers {
    /// Slots are reached by this pointer and never through the mapping, whose reference would span those that the
    /// kernel is writing to.
    base: NonNull<u8>,
    _mapping: MmapMut,
    count: u32,
    bytes_each: usize,
    stride: usize,
    seed: u64,
}

// SAFETY: the pointer leads into the mapping that moves along; the rules of references guard the slots.
unsafe impl Send for Buffers {}
// SAFETY: as above; nothing changes behind a shared reference.
unsafe impl Sync for Buffers {}

impl Buffers {
    /// `count` slots of `bytes_each` bytes, filled from `seed`.
    ///
    /// # Errors
    /// [`OsError::Memory`] where they would take more than half of the machine's memory, or the kernel refuses.
    ///
    /// # Panics
    /// Where there are no slots, or no bytes in them.
    pub fn new(count: u32, bytes_each: usize, seed: u64) -> Result<Self, OsError> {
        assert!(count > 0 && bytes_each > 0, "buffers hold something");
        let memory_bytes = memory_bytes();
        let too_much = || OsError::Memory { count, bytes_each, memory_bytes };
        let stride = bytes_each.checked_next_multiple_of(slot_alignment()).ok_or_else(too_much)?;
        let total = stride.checked_mul(count as usize).ok_or_else(too_much)?;
        if total as u64 > memory_bytes / 2 {
            return Err(too_much());
        }
        let mapped = if total >= HUGE_FROM { total.next_multiple_of(HUGE_PAGE) } else { total };
        let mut mapping = MmapMut::map_anon(mapped).map_err(|_| too_much())?;
        if total >= HUGE_FROM {
            // Only advice: kernels without huge pages serve small ones.
            let _ = mapping.advise(Advice::HugePage);
        }
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut mapping[..total]);
        let base = NonNull::from(&mut mapping[..]).cast();
        Ok(Self { base, _mapping: mapping, count, bytes_each, stride, seed })
    }

    /// How many slots there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Bytes in each slot.
    pub fn bytes_each(&self) -> usize {
        self.bytes_each
    }

    /// The bytes of a slot.
    ///
    /// # Panics
    /// Where there is no such slot.
    pub fn slot(&self, index: u32) -> &[u8] {
        // SAFETY: the slot lies in the mapping, is initialised, and is borrowed as `self` is.
        unsafe { slice::from_raw_parts(self.pointer(index), self.bytes_each) }
    }

    /// The bytes of a slot, to be changed.
    ///
    /// # Panics
    /// Where there is no such slot.
    pub fn slot_mut(&mut self, index: u32) -> &mut [u8] {
        // SAFETY: as in `slot`, and `self` is borrowed alone.
        unsafe { slice::from_raw_parts_mut(self.pointer(index), self.bytes_each) }
    }

    /// Marks the first `length` bytes of a slot so that no two blocks written under different serial numbers, or
    /// at different places of one request, are alike. The rest of each block stays as it is: random from the
    /// start, or what the last read into the slot brought.
    ///
    /// # Panics
    /// Where there is no such slot, or `length` is more than it holds.
    #[inline]
    pub fn stamp(&mut self, index: u32, length: usize, serial: u64) {
        let number = (self.seed ^ serial).to_le_bytes();
        let blocks = self.slot_mut(index)[..length].chunks_mut(STAMP_EVERY);
        for (block_index, block) in blocks.enumerate() {
            let mut mark = [0; STAMP_BYTES];
            mark[..8].copy_from_slice(&number);
            mark[8..].copy_from_slice(&(block_index as u64).to_le_bytes());
            let marked = block.len().min(STAMP_BYTES);
            block[..marked].copy_from_slice(&mark[..marked]);
        }
    }

    /// Where a slot begins, for the kernel.
    #[inline]
    pub(crate) fn pointer(&self, index: u32) -> *mut u8 {
        assert!(index < self.count, "slot {index} of {}", self.count);
        // SAFETY: a slot below the count begins inside the mapping.
        unsafe { self.base.as_ptr().add(index as usize * self.stride) }
    }
}

fn slot_alignment() -> usize {
    rustix::param::page_size().max(SLOT_ALIGNMENT)
}

/// Main memory of the machine in bytes.
pub(crate) fn memory_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    (info.totalram as u64).saturating_mul(u64::from(info.mem_unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn slots_are_aligned_apart_and_as_long_as_asked() {
        let mut buffers = Buffers::new(5, 3000, 1).unwrap();
        for index in 0..5 {
            assert_eq!(buffers.slot(index).as_ptr() as usize % 4096, 0);
            buffers.slot_mut(index).fill(index as u8);
        }
        for index in 0..5 {
            assert_eq!(buffers.slot(index), [index as u8; 3000]);
        }
    }

    #[test]
    fn a_seed_gives_the_same_bytes_and_they_do_not_compress() {
        let bytes = Buffers::new(2, 1 << 20, 7).unwrap();
        assert_eq!(bytes.slot(1), Buffers::new(2, 1 << 20, 7).unwrap().slot(1));
        assert_ne!(bytes.slot(1), Buffers::new(2, 1 << 20, 8).unwrap().slot(1));
        let mut counts = [0f64; 256];
        bytes.slot(0).iter().for_each(|byte| counts[usize::from(*byte)] += 1.0);
        let total = f64::from(1 << 20);
        let bits: f64 = counts.iter().map(|count| -(count / total) * (count / total).log2()).sum();
        assert!(bits > 7.99, "{bits} bits a byte");
        let words: HashSet<&[u8]> = bytes.slot(0).chunks(8).chain(bytes.slot(1).chunks(8)).collect();
        assert_eq!(words.len(), 2 << 17, "no eight bytes come twice");
    }

    #[test]
    fn no_two_stamped_blocks_are_alike() {
        let mut buffers = Buffers::new(1, 16384, 3).unwrap();
        buffers.slot_mut(0).fill(0);
        let mut seen = HashSet::new();
        for serial in 0..100 {
            buffers.stamp(0, 16384, serial);
            for block in buffers.slot(0).chunks(4096) {
                assert!(seen.insert(block.to_vec()), "serial {serial} repeats a block");
            }
        }
        buffers.stamp(0, 512, 1000);
        assert!(seen.insert(buffers.slot(0)[..4096].to_vec()), "a request below a block is marked too");
    }

    #[test]
    fn buffers_beyond_the_memory_are_refused() {
        let refusal = Buffers::new(u32::MAX, 1 << 30, 0).err().unwrap();
        assert!(matches!(refusal, OsError::Memory { .. }), "{refusal}");
    }
}
