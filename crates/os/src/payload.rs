//! Holds the data of writes: random bytes in many places, so that no two nearby writes carry the same data.
//!
//! Each part of a file maps to its own place, in whatever order writes come, so the same bytes repeat only at the
//! distance of the payload's size. A mark in every 4 KiB makes even those blocks differ. Requests are written directly
//! from their place, so nothing is filled or copied during a measurement.

use std::ptr::NonNull;
use std::slice;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::address_space::no_room;
use crate::buffer_memory::{Mapped, mean_segments, memory_bytes};
use crate::{BufferMemory, OsError};

/// Places begin at multiples of this, or of a page if they are that large, as direct requests may require.
const PLACE_ALIGNMENT: usize = 512;
const PAGE: usize = 4096;
/// Every block of this size in a written request carries its own mark.
pub(crate) const STAMP_EVERY: usize = 4096;
/// Zeros lie at the end of every block of this size, fio's unit of compressible data.
const ZEROS_EVERY: usize = 512;
/// Bytes in a mark: the serial number combined with the seed, and the block's index in its request.
const STAMP_BYTES: usize = 16;

/// Released payloads, kept for the next run: filling one takes milliseconds.
static SPARE: Mutex<Vec<Mapped>> = Mutex::new(Vec::new());
/// Most spare payloads that are kept.
const MOST_SPARE: usize = 4;

/// What writes carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadData {
    /// Random bytes, but for a share of zeros at the end of each 512 bytes, in percent; with 100 there is nothing else, and
    /// no mark.
    Random {
        /// The share of zeros.
        zeros_percent: u8,
    },
    /// These bytes, one after the other and again from the first, without marks; at least one. They stay for the process,
    /// whose lanes each have a copy.
    Given(&'static [u8]),
}

impl PayloadData {
    /// Whether each block has a mark of its own.
    fn is_marked(self) -> bool {
        matches!(self, Self::Random { zeros_percent: 0..=99 })
    }

    /// Whether it is what any other payload without zeros may carry as well.
    fn is_usual(self) -> bool {
        self == Self::default()
    }

    /// Bytes after which it begins again; 0 if it does not.
    fn period_bytes(self) -> usize {
        match self {
            Self::Random { .. } => 0,
            Self::Given(bytes) => bytes.len(),
        }
    }

    /// Fills `memory`, random bytes from `seed`.
    fn fill(self, memory: &mut [u8], seed: u64) {
        let zeros_percent = match self {
            Self::Random { zeros_percent } => usize::from(zeros_percent.min(100)),
            Self::Given(given) => {
                return memory.chunks_mut(given.len()).for_each(|chunk| chunk.copy_from_slice(&given[..chunk.len()]));
            }
        };
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(memory);
        if zeros_percent > 0 {
            memory.chunks_mut(ZEROS_EVERY).for_each(|block| {
                let first = block.len() - block.len() * zeros_percent / 100;
                block[first..].fill(0);
            });
        }
    }
}

impl Default for PayloadData {
    fn default() -> Self {
        Self::Random { zeros_percent: 0 }
    }
}

/// The data of writes. It may be shared: each claimed place belongs to one holder.
pub struct Payload {
    /// Places are accessed through this pointer and never through the memory: a reference to the memory would span
    /// places that the kernel is reading.
    base: NonNull<u8>,
    /// Taken out when the payload is dropped.
    memory: Option<Mapped>,
    bytes_each: usize,
    stride: usize,
    data: PayloadData,
    is_taken: Vec<AtomicBool>,
}

// SAFETY: the pointer leads into the memory that moves along; claims keep places apart.
unsafe impl Send for Payload {}
// SAFETY: as above.
unsafe impl Sync for Payload {}

/// A piece of the payload that only its holder may use, until it is given back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece(usize);

impl Payload {
    /// Bytes of a payload: twice the window of a compressor with usual settings (8 MiB).
    pub const USUAL_BYTES: usize = 16 << 20;
    /// Bytes if little memory may be locked: twice the window of a compressor with fast settings (2 MiB).
    pub const LEAST_BYTES: usize = 4 << 20;

    /// Makes a payload of this data for at most `slots` concurrent requests of at most `bytes_each` bytes; what is random
    /// comes from `seed`. It has `usual_bytes` unless the requests or the data need more.
    ///
    /// # Errors
    /// [`OsError::Memory`] or [`OsError::Limited`] if the kernel refuses so much memory, [`OsError::HugePages`] if huge
    /// pages are requested and it gives none.
    ///
    /// # Panics
    /// If `slots` or `bytes_each` is 0, or bytes are given and there are none.
    pub fn new(
        memory: BufferMemory,
        slots: u32,
        bytes_each: usize,
        usual_bytes: usize,
        (seed, data): (u64, PayloadData),
    ) -> Result<Self, OsError> {
        assert!(slots > 0 && bytes_each > 0 && data != PayloadData::Given(&[]), "a payload holds something");
        let refused = || no_room(slots, bytes_each);
        let alignment = if bytes_each < PAGE { PLACE_ALIGNMENT } else { PAGE };
        let stride = bytes_each.checked_next_multiple_of(alignment).ok_or_else(refused)?;
        let places = (usual_bytes / stride).max(data.period_bytes().div_ceil(stride)).max(slots as usize + 1);
        let bytes = places.checked_mul(stride).filter(|bytes| *bytes as u64 <= memory_bytes() / 4);
        let mapped = filled(memory, bytes.ok_or_else(refused)?, seed, data).ok_or_else(refused)?;
        if !mapped.is_as_asked() {
            return Err(OsError::HugePages);
        }
        let is_taken = (0..places).map(|_| AtomicBool::new(false)).collect();
        Ok(Self { base: mapped.base(), memory: Some(mapped), bytes_each, stride, data, is_taken })
    }

    /// The whole memory, for the kernel.
    pub(crate) fn extent(&self) -> (*mut u8, usize) {
        (self.base.as_ptr(), self.is_taken.len() * self.stride)
    }

    /// Number of physically contiguous segments that a place lies in, on average.
    pub(crate) fn segments(&self) -> Option<f64> {
        mean_segments(self.base, self.is_taken.len(), self.stride, self.bytes_each)
    }

    /// Claims the place for the part of the file at `offset`, or the next free one.
    #[inline]
    pub(crate) fn claim(&self, offset: u64) -> Piece {
        let places = self.is_taken.len();
        let mut place = (offset / self.bytes_each as u64 % places as u64) as usize;
        // There are more places than concurrent requests, so one is always free.
        while self.is_taken[place].swap(true, Ordering::Acquire) {
            place = if place + 1 == places { 0 } else { place + 1 };
        }
        Piece(place)
    }

    /// Gives a place back when its bytes are no longer in use.
    #[inline]
    pub(crate) fn give_back(&self, place: Piece) {
        self.is_taken[place.0].store(false, Ordering::Release);
    }

    /// Stamps the first `length` bytes of a place, as [`stamp`] does.
    #[inline]
    pub(crate) fn stamp(&self, place: &mut Piece, length: usize, number: u64) {
        assert!(length <= self.bytes_each, "a request longer than its place");
        if !self.data.is_marked() {
            return;
        }
        // SAFETY: the place lies in the memory, is filled, and is the holder's alone, which is borrowed alone.
        let bytes = unsafe { slice::from_raw_parts_mut(self.pointer(place), length) };
        stamp(bytes, number);
    }

    /// The bytes of a place.
    #[inline]
    pub(crate) fn bytes(&self, place: &Piece) -> &[u8] {
        // SAFETY: as in `stamp`; nobody else changes it while it is held.
        unsafe { slice::from_raw_parts(self.pointer(place), self.bytes_each) }
    }

    /// The address of a place.
    #[inline]
    pub(crate) fn pointer(&self, place: &Piece) -> *mut u8 {
        // SAFETY: a place begins inside the memory.
        unsafe { self.base.as_ptr().add(place.0 * self.stride) }
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        let Ok(mut spare) = SPARE.lock() else { return };
        let is_usual = self.data.is_usual();
        if let Some(memory) = (self.memory.take())
            .filter(|memory| is_usual && memory.len() <= Self::USUAL_BYTES && spare.len() < MOST_SPARE)
        {
            spare.push(memory);
        }
    }
}

/// Stamps bytes so that no two blocks with different numbers, or at different places of one request, are equal.
#[inline]
pub(crate) fn stamp(bytes: &mut [u8], number: u64) {
    for (block_index, block) in bytes.chunks_mut(STAMP_EVERY).enumerate() {
        let mut mark = [0; STAMP_BYTES];
        mark[..8].copy_from_slice(&number.to_le_bytes());
        mark[8..].copy_from_slice(&(block_index as u64).to_le_bytes());
        let marked = block.len().min(STAMP_BYTES);
        block[..marked].copy_from_slice(&mark[..marked]);
    }
}

/// A spare payload memory of sufficient size if random bytes are asked for, else new memory that is filled.
fn filled(memory: BufferMemory, bytes: usize, seed: u64, data: PayloadData) -> Option<Mapped> {
    if data.is_usual()
        && let Ok(mut spare) = SPARE.lock()
        && let Some(at) = spare.iter().position(|spare| spare.memory() == memory && spare.len() >= bytes)
    {
        return Some(spare.swap_remove(at));
    }
    let mut mapped = Mapped::new(memory, bytes).ok()?;
    data.fill(mapped.bytes_mut(), seed);
    Some(mapped)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_place_belongs_to_one_request_at_a_time() {
        let payload =
            Payload::new(BufferMemory::Pages, 4, 16 << 20, Payload::USUAL_BYTES, (1, PayloadData::default())).unwrap();
        let places: Vec<Piece> = [0, 16 << 20, 80 << 20, 0].into_iter().map(|offset| payload.claim(offset)).collect();
        assert_eq!(places, [Piece(0), Piece(1), Piece(2), Piece(3)], "a taken one is passed by");
        places.into_iter().for_each(|place| payload.give_back(place));
        assert_eq!(payload.claim(64 << 20), Piece(4));
    }

    #[test]
    fn as_much_is_zero_as_asked_and_the_rest_is_not() {
        for (percent, expected) in [(0, 0), (50, 256), (100, 512)] {
            let data = PayloadData::Random { zeros_percent: percent };
            let payload = Payload::new(BufferMemory::Pages, 1, 4096, 1 << 20, (7, data)).unwrap();
            let mut place = payload.claim(0);
            payload.stamp(&mut place, 4096, 1);
            for block in payload.bytes(&place).chunks(512).skip(1) {
                let at_end = block.iter().rev().take_while(|byte| **byte == 0).count();
                assert!((expected..expected + 8).contains(&at_end), "{at_end} zeros of {percent}%");
            }
            assert!(percent < 100 || payload.bytes(&place).iter().all(|byte| *byte == 0), "no mark among zeros");
        }
    }

    #[test]
    fn given_bytes_come_one_after_the_other_and_again_without_marks() {
        let data = PayloadData::Given(b"abc");
        let payload = Payload::new(BufferMemory::Pages, 2, 4096, 16384, (7, data)).unwrap();
        for (offset, first) in [(0, 0), (4096, 4096), (16384, 0)] {
            let mut place = payload.claim(offset);
            payload.stamp(&mut place, 4096, 9);
            let expected = (first..first + 4096).map(|at| b"abc"[at % 3]);
            assert!(payload.bytes(&place).iter().copied().eq(expected), "at {offset}");
            payload.give_back(place);
        }
        let long: &'static [u8] = vec![7; 1 << 20].leak();
        let payload = Payload::new(BufferMemory::Pages, 1, 4096, 16384, (7, PayloadData::Given(long))).unwrap();
        assert_eq!(payload.extent().1, 1 << 20, "all of it is written");
    }

    // From large requests to small ones: a reused payload keeps the marks of the run before.
    #[test]
    fn bytes_come_again_only_as_far_away_as_a_payload_is_large() {
        for (bytes_each, length) in [(65536, 65536), (4096, 4096), (4096, 1024), (512, 512)] {
            let payload =
                Payload::new(BufferMemory::Pages, 1, bytes_each, Payload::USUAL_BYTES, (7, PayloadData::default()))
                    .unwrap();
            let mut last_at: HashMap<[u8; 8], u64> = HashMap::new();
            let mut serial = 0;
            for offset in (0..6 << 20).step_by(bytes_each) {
                let mut place = payload.claim(offset);
                serial += 1;
                payload.stamp(&mut place, length, serial);
                let bytes = payload.bytes(&place)[..length].to_vec();
                let words = bytes.chunks(STAMP_EVERY).flat_map(|block| block[STAMP_BYTES..].chunks_exact(8));
                for word in words.map(|word| word.try_into().unwrap()) {
                    let before = last_at.insert(word, offset);
                    assert_eq!(before, None, "{bytes_each}: a word at {offset} is one of an earlier place");
                }
                payload.give_back(place);
            }
        }
    }
}
