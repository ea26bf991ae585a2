//! Holds the bytes of requests: one mapping divided into equal slots, each aligned for direct I/O.
//!
//! The slots are filled from a seed with data that neither compresses nor repeats, so no device or file system can
//! avoid the work.

use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::address_space::no_room;
use crate::buffer_memory::{Mapped, mean_segments, memory_bytes};
use crate::payload::{Payload, Piece, stamp};
use crate::{BufferMemory, OsError};

/// Slots begin at multiples of this, or of the page size if that is larger.
const SLOT_ALIGNMENT: usize = 4096;
/// Equal, page-aligned slots of incompressible bytes in one anonymous mapping.
pub struct Buffers {
    /// Slots are accessed through this pointer and never through the mapping: a reference to the mapping would span
    /// slots that the kernel is writing to.
    base: NonNull<u8>,
    _mapping: Mapped,
    count: u32,
    bytes_each: usize,
    stride: usize,
    seed: u64,
    /// The payload of writes; `None` means that writes carry the bytes of their slots.
    payload: Option<Arc<Payload>>,
    /// The payload piece of each slot's last write.
    places: Vec<Option<Piece>>,
}

// SAFETY: the pointer leads into the mapping that moves along; the rules of references guard the slots.
unsafe impl Send for Buffers {}
// SAFETY: as above; nothing changes behind a shared reference.
unsafe impl Sync for Buffers {}

impl Buffers {
    /// Allocates `count` slots of `bytes_each` bytes, filled from `seed`.
    ///
    /// # Errors
    /// [`OsError::Memory`] if they would take more than half of the machine's memory or the kernel refuses,
    /// [`OsError::Limited`] if a limit of this process leaves no room.
    ///
    /// # Panics
    /// If `count` or `bytes_each` is 0.
    pub fn new(count: u32, bytes_each: usize, seed: u64) -> Result<Self, OsError> {
        Self::in_memory(BufferMemory::default(), count, bytes_each, seed)
    }

    /// As [`Buffers::new`], in the given kind of memory.
    ///
    /// # Errors
    /// As [`Buffers::new`], and [`OsError::HugePages`] if huge pages are requested and the kernel gives none.
    ///
    /// # Panics
    /// As [`Buffers::new`].
    pub fn in_memory(memory: BufferMemory, count: u32, bytes_each: usize, seed: u64) -> Result<Self, OsError> {
        assert!(count > 0 && bytes_each > 0, "buffers hold something");
        let memory_bytes = memory_bytes();
        let too_much = || no_room(count, bytes_each);
        let stride = bytes_each.checked_next_multiple_of(slot_alignment()).ok_or_else(too_much)?;
        let total = stride.checked_mul(count as usize).ok_or_else(too_much)?;
        if total as u64 > memory_bytes / 2 {
            return Err(too_much());
        }
        let mut mapping = Mapped::new(memory, total).map_err(|_| too_much())?;
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(mapping.bytes_mut());
        if !mapping.is_as_asked() {
            return Err(OsError::HugePages);
        }
        let base = mapping.base();
        let payload = None;
        let places = Vec::new();
        Ok(Self { base, _mapping: mapping, count, bytes_each, stride, seed, payload, places })
    }

    /// Number of slots.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Bytes in each slot.
    pub fn bytes_each(&self) -> usize {
        self.bytes_each
    }

    /// Number of physically contiguous segments that a request lies in, on average: of the payload for writes that
    /// carry one, else of the slots. `None` if the kernel does not say; it tells only administrators.
    pub fn segments(&self) -> Option<f64> {
        match &self.payload {
            Some(payload) => payload.segments(),
            None => mean_segments(self.base, self.count as usize, self.stride, self.bytes_each),
        }
    }

    /// Bytes of all slots and of the payload, if there is one.
    pub(crate) fn whole_bytes(&self) -> u64 {
        let payload = self.payload_extent().map_or(0, |(_, bytes)| bytes as u64);
        self.stride as u64 * u64::from(self.count) + payload
    }

    /// The bytes of a slot.
    ///
    /// # Panics
    /// If the slot does not exist.
    pub fn slot(&self, index: u32) -> &[u8] {
        // SAFETY: the slot lies in the mapping, is initialised, and is borrowed as `self` is.
        unsafe { slice::from_raw_parts(self.pointer(index), self.bytes_each) }
    }

    /// The bytes of a slot, mutable.
    ///
    /// # Panics
    /// If the slot does not exist.
    pub fn slot_mut(&mut self, index: u32) -> &mut [u8] {
        // SAFETY: as in `slot`, and `self` is borrowed alone.
        unsafe { slice::from_raw_parts_mut(self.pointer(index), self.bytes_each) }
    }

    /// Makes writes carry `payload` instead of the bytes of their slots.
    ///
    /// # Panics
    /// If its places are smaller than the slots.
    #[must_use]
    pub fn carrying(mut self, payload: Arc<Payload>) -> Self {
        self.places = (0..self.count).map(|_| None).collect();
        self.payload = Some(payload);
        self
    }

    /// Prepares the data of a write of `length` bytes at `offset`, so that no two blocks with different serial numbers,
    /// or at different places of one request, are equal. With a payload, the slot gets the piece for that part of the
    /// file; otherwise its own bytes are stamped.
    ///
    /// # Panics
    /// If the slot does not exist or is shorter than `length`.
    #[inline]
    pub fn stamp(&mut self, index: u32, offset: u64, length: usize, serial: u64) {
        let number = self.seed ^ serial;
        let Some(payload) = &self.payload else {
            return stamp(&mut self.slot_mut(index)[..length], number);
        };
        let held = &mut self.places[index as usize];
        if let Some(place) = held.take() {
            payload.give_back(place);
        }
        payload.stamp(held.insert(payload.claim(offset)), length, number);
    }

    /// The bytes that a write by this slot carries, as prepared by [`Buffers::stamp`].
    ///
    /// # Panics
    /// If the slot does not exist.
    #[inline]
    pub fn outgoing(&self, index: u32) -> &[u8] {
        match (&self.payload, self.places.get(index as usize)) {
            (Some(payload), Some(Some(place))) => payload.bytes(place),
            _ => self.slot(index),
        }
    }

    /// The address of these bytes, for the kernel.
    #[inline]
    pub(crate) fn outgoing_pointer(&self, index: u32) -> *mut u8 {
        match (&self.payload, self.places.get(index as usize)) {
            (Some(payload), Some(Some(place))) => payload.pointer(place),
            _ => self.pointer(index),
        }
    }

    /// The payload's memory, for the kernel.
    pub(crate) fn payload_extent(&self) -> Option<(*mut u8, usize)> {
        self.payload.as_ref().map(|payload| payload.extent())
    }

    /// The address of a slot, for the kernel.
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
            buffers.stamp(0, 0, 16384, serial);
            for block in buffers.slot(0).chunks(4096) {
                assert!(seen.insert(block.to_vec()), "serial {serial} repeats a block");
            }
        }
        buffers.stamp(0, 0, 512, 1000);
        assert!(seen.insert(buffers.slot(0)[..4096].to_vec()), "a request below a block is marked too");
    }

    #[test]
    fn buffers_beyond_the_memory_are_refused() {
        let refusal = Buffers::new(u32::MAX, 1 << 30, 0).err().unwrap();
        assert!(matches!(refusal, OsError::Memory { .. }), "{refusal}");
    }
}
