//! Hashes small whole numbers, such as thread IDs and kernel addresses, with one multiplication.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are numbers.
pub(crate) type ByNumber<K, V> = HashMap<K, V, BuildHasherDefault<Multiplied>>;
/// A set of numbers.
pub(crate) type Numbers<K> = HashSet<K, BuildHasherDefault<Multiplied>>;

/// The golden ratio as a fraction of 2^64: its multiples are spread evenly.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Keys come from the kernel and from nobody who would want them to collide.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Multiplied(u64);

impl Hasher for Multiplied {
    fn finish(&self) -> u64 {
        // The upper half of a product depends on all bits of the key; maps look at the lower half first.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(SPREAD);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}
