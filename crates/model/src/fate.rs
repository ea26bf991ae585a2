//! Draws what goes wrong with each request to a simulated disk, from a generator of its own.

use halfpower_spec::{Faults, Nanos};
use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Operation;
use crate::variation;

/// Sets the generator of faults apart from those of speeds and times.
const APART: u64 = 0x6661_756c_7473_2121;
/// The least that a disk moves, in bytes.
const SECTOR: u32 = 512;
/// Bytes of a torn sector on either side of the tear, at least.
const LEAST_PART: u32 = 32;

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Nothing goes wrong.
    Whole,
    /// It fails; a write may still have reached the medium.
    Failed {
        /// Whether it has.
        written: bool,
    },
    /// It moves so many bytes, fewer than asked.
    Short(u32),
    /// Its completion comes so much later.
    Stalled(Nanos),
    /// A read brings this bit of its bytes flipped.
    Flipped {
        /// Counted from the first bit of the first byte.
        bit: u64,
    },
    /// A write reaches the medium with so many bytes.
    Torn(u32),
    /// A write does not reach the medium.
    Lost,
    /// A write reaches the medium elsewhere; the number decides where.
    Misdirected(u64),
}

/// The fates of all requests of one run.
#[derive(Debug, Clone)]
pub struct Fates {
    faults: Faults,
    generator: Xoshiro256PlusPlus,
}

impl Fates {
    /// The disk's seed and the run's decide all of them.
    pub fn new(faults: Faults, disk_seed: u64, run_seed: u64) -> Self {
        Self { faults, generator: variation::generator(disk_seed ^ APART, run_seed) }
    }

    /// What becomes of the next request, which moves `length` bytes.
    pub fn draw(&mut self, operation: Operation, length: u32) -> Fate {
        // Two draws a request, whatever comes of them: no fault shifts those after it.
        let (lot, detail): (f64, u64) = (self.generator.random(), self.generator.next_u64());
        let Faults { errors, short, stall, stall_time, flip, torn, lost, misdirect } = self.faults;
        let (reads, writes) = (operation == Operation::Read, operation == Operation::Write);
        let moves = length > 0 && (reads || writes);
        let mut below = 0.0;
        let mut falls_to = |share: f64| {
            below += share;
            lot < below
        };
        let fate = [
            (falls_to(errors), true, Fate::Failed { written: writes && detail.is_multiple_of(2) }),
            (falls_to(short), moves, Fate::Short(self::short(detail, length))),
            (falls_to(stall), true, Fate::Stalled(stall_time)),
            (falls_to(flip), moves && reads, Fate::Flipped { bit: detail % (u64::from(length.max(1)) * 8) }),
            (falls_to(torn), moves && writes, Fate::Torn(self::torn(detail, length))),
            (falls_to(lost), moves && writes, Fate::Lost),
            (falls_to(misdirect), moves && writes, Fate::Misdirected(detail)),
        ];
        match fate.iter().find(|(chosen, _, _)| *chosen) {
            Some((_, true, fate)) => *fate,
            _ => Fate::Whole,
        }
    }
}

/// A number of whole sectors below `length`.
fn short(detail: u64, length: u32) -> u32 {
    (detail % u64::from(length.div_ceil(SECTOR).max(1))) as u32 * SECTOR
}

/// A number of bytes below `length` that leaves a part of a sector on either side.
fn torn(detail: u64, length: u32) -> u32 {
    let inside = LEAST_PART + ((detail >> 32) % u64::from(SECTOR - 2 * LEAST_PART)) as u32;
    (short(detail & 0xffff_ffff, length) + inside).min(length.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(faults: Faults) -> Fates {
        Fates::new(faults, 1, 2)
    }

    #[test]
    fn shares_are_met_and_each_operation_has_its_own() {
        let tenth = Faults {
            errors: 0.1,
            short: 0.1,
            stall: 0.1,
            flip: 0.1,
            torn: 0.1,
            lost: 0.1,
            misdirect: 0.1,
            ..Faults::default()
        };
        for (operation, wanted) in [(Operation::Read, 4), (Operation::Write, 6), (Operation::Flush, 2)] {
            let mut fates = fates(tenth);
            let drawn: Vec<Fate> = (0..10_000).map(|_| fates.draw(operation, 4096)).collect();
            let odd = drawn.iter().filter(|fate| **fate != Fate::Whole).count() as f64;
            assert!((odd / 1000.0 - f64::from(wanted)).abs() < 0.2, "{operation:?}: {odd}");
        }
    }

    #[test]
    fn what_is_drawn_lies_within_the_request() {
        for length in [1, 511, 512, 513, 4096, 1 << 30] {
            let all = |faults| {
                let mut fates = fates(faults);
                (0..1000).map(move |_| fates.draw(Operation::Write, length)).collect::<Vec<_>>()
            };
            let moved = |fate: &Fate| matches!(fate, Fate::Short(moved) | Fate::Torn(moved) if *moved < length);
            assert!(all(Faults { short: 1.0, ..Faults::default() }).iter().all(moved), "{length}");
            assert!(all(Faults { torn: 1.0, ..Faults::default() }).iter().all(moved), "{length}");
        }
    }

    #[test]
    fn the_same_seeds_give_the_same_fates_and_one_kind_does_not_shift_another() {
        let drawn = |faults| {
            let mut fates = fates(faults);
            (0..1000).map(|_| fates.draw(Operation::Read, 4096)).collect::<Vec<_>>()
        };
        let errors = Faults { errors: 0.1, ..Faults::default() };
        let both = drawn(Faults { flip: 0.1, ..errors });
        assert_eq!(drawn(errors), drawn(errors));
        let failed = |fates: &[Fate]| -> Vec<usize> {
            (0..fates.len()).filter(|at| matches!(fates[*at], Fate::Failed { .. })).collect()
        };
        assert_eq!(failed(&drawn(errors)), failed(&both));
        assert_ne!(drawn(errors), both);
    }
}
