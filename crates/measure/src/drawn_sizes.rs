//! Draws a size for each request of a workload with several request sizes.

use std::ops::Range;

use halfpower_engine::{Operation, Request};
use halfpower_spec::{BlockSizes, Bytes, Direction, Pattern};
use rand::Rng;

/// Sizes of reads and of writes, and the position of a sequential lane.
pub(crate) struct DrawnSizes {
    reads: Vec<Share>,
    writes: Vec<Share>,
    /// `None` leaves the offsets of requests as they are.
    sequence: Option<Sequence>,
}

/// A size and its share: it is drawn if a random 32-bit number is less than `below`, and no earlier size was drawn.
struct Share {
    below: u64,
    bytes: u32,
}

/// Position of the next sequential request.
struct Sequence {
    next: u64,
    first: u64,
    end: u64,
    /// Whether the sequence stops at `end` instead of starting over.
    once: bool,
}

impl DrawnSizes {
    /// Sizes for the requests of a lane within `range`; with `once`, sequential requests go through it once.
    pub(crate) fn new(sizes: BlockSizes, pattern: Pattern, range: &Range<u64>, once: bool) -> Self {
        let shares = |rw| {
            let mut percents = 0;
            let share = |(size, percent): (Bytes, u8)| {
                percents += u64::from(percent);
                Share { below: (percents << 32) / 100, bytes: size.0 as u32 }
            };
            sizes.of(rw).map(share).collect::<Vec<Share>>()
        };
        let sequence = Sequence { next: range.start, first: range.start, end: range.end, once };
        Self {
            reads: shares(Direction::Read),
            writes: shares(Direction::Write),
            sequence: (pattern == Pattern::Sequential).then_some(sequence),
        }
    }

    /// Sets the length of each request of `batch`, and its offset if requests are sequential. Returns how many requests
    /// were set: fewer than all if the range has ended.
    #[inline]
    pub(crate) fn draw(&mut self, batch: &mut [Request], random: &mut impl Rng) -> usize {
        let count = batch.len();
        for (placed, request) in batch.iter_mut().enumerate() {
            let shares = if request.operation == Operation::Read { &self.reads } else { &self.writes };
            let drawn = random.next_u64() >> 32;
            // The last share ends at 2^32, above every number that is drawn.
            let place = shares.iter().position(|share| drawn < share.below).unwrap_or(0);
            request.length = shares[place].bytes;
            if let Some(sequence) = &mut self.sequence {
                let Some(offset) = sequence.take(u64::from(request.length)) else { return placed };
                request.offset = offset;
            }
        }
        count
    }
}

impl Sequence {
    /// The offset of a request of `length` bytes: after the one before. If it does not fit there, it starts over at
    /// `first`, or with `once` there is none.
    #[inline]
    fn take(&mut self, length: u64) -> Option<u64> {
        let fits = self.next + length <= self.end;
        let at = if fits { self.next } else { self.first };
        self.next = at + length;
        (fits || !self.once).then_some(at)
    }
}
