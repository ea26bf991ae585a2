//! Draws the fault of each request to a simulated disk, from a separate random generator.

use halfpower_spec::{Faults, Nanos};
use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Operation;
use crate::variation;

/// Separates the generator of faults from those of speeds and times.
const APART: u64 = 0x6661_756c_7473_2121;
/// Smallest transfer of a disk, in bytes.
const SECTOR: u32 = 512;
/// Fewest bytes of a torn sector on either side of the tear.
const LEAST_PART: u32 = 32;

/// The fault of a request, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestFault {
    /// No fault.
    Whole,
    /// It fails; a write may still reach the medium.
    Failed {
        /// Whether it reaches the medium.
        written: bool,
    },
    /// It moves this many bytes, fewer than asked.
    Short(u32),
    /// Its completion is delayed by this time.
    Stalled(Nanos),
    /// A read returns data with this bit flipped.
    Flipped {
        /// Counted from the first bit of the first byte.
        bit: u64,
    },
    /// Only this many bytes of a write reach the medium.
    Torn(u32),
    /// A write does not reach the medium.
    Lost,
    /// A write reaches the medium at another place, which the number determines.
    Misdirected(u64),
}

/// Draws the faults of all requests of one run.
#[derive(Debug, Clone)]
pub struct FaultSequence {
    faults: Faults,
    generator: Xoshiro256PlusPlus,
}

impl FaultSequence {
    /// The disk's seed and the run's seed determine all of them.
    pub fn new(faults: Faults, disk_seed: u64, run_seed: u64) -> Self {
        Self { faults, generator: variation::generator(disk_seed ^ APART, run_seed) }
    }

    /// The fault of the next request, which moves `length` bytes.
    pub fn draw(&mut self, operation: Operation, length: u32) -> RequestFault {
        // Always two draws a request, so that no fault shifts the later ones.
        let (lot, detail): (f64, u64) = (self.generator.random(), self.generator.next_u64());
        let Faults { errors, short, stall, stall_time, flip, torn, lost, misdirect } = self.faults;
        let reads = operation == Operation::Read;
        let writes = operation == Operation::Write;
        let moves = length > 0 && (reads || writes);
        let mut below = 0.0;
        let mut falls_to = |share: f64| {
            below += share;
            lot < below
        };
        let request_fault = [
            (falls_to(errors), true, RequestFault::Failed { written: writes && detail.is_multiple_of(2) }),
            (falls_to(short), moves, RequestFault::Short(self::short(detail, length))),
            (falls_to(stall), true, RequestFault::Stalled(stall_time)),
            (falls_to(flip), moves && reads, RequestFault::Flipped { bit: detail % (u64::from(length.max(1)) * 8) }),
            (falls_to(torn), moves && writes, RequestFault::Torn(self::torn(detail, length))),
            (falls_to(lost), moves && writes, RequestFault::Lost),
            (falls_to(misdirect), moves && writes, RequestFault::Misdirected(detail)),
        ];
        match request_fault.iter().find(|(chosen, _, _)| *chosen) {
            Some((_, true, request_fault)) => *request_fault,
            _ => RequestFault::Whole,
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

    fn fates(faults: Faults) -> FaultSequence {
        FaultSequence::new(faults, 1, 2)
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
            let drawn: Vec<RequestFault> = (0..10_000).map(|_| fates.draw(operation, 4096)).collect();
            let odd = drawn.iter().filter(|request_fault| **request_fault != RequestFault::Whole).count() as f64;
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
            let moved = |request_fault: &RequestFault| matches!(request_fault, RequestFault::Short(moved) | RequestFault::Torn(moved) if *moved < length);
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
        let failed = |fates: &[RequestFault]| -> Vec<usize> {
            (0..fates.len()).filter(|at| matches!(fates[*at], RequestFault::Failed { .. })).collect()
        };
        assert_eq!(failed(&drawn(errors)), failed(&both));
        assert_ne!(drawn(errors), both);
    }
}
