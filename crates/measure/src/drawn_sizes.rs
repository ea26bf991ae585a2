//! Draws the size of each request if a workload has several, and places it: where its block is, after the one before, at a
//! multiple of its direction's smallest size, or where nothing has come yet.

use std::ops::Range;

use halfpower_engine::{Operation, Request};
use halfpower_spec::{BlockSizes, Bytes, Direction, Pattern, RandomDistribution, Workload};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::covering::{Cover, MOST_UNITS};

/// Sizes of reads and of writes, and where requests are placed.
pub(crate) struct DrawnSizes {
    shares: Sides<Vec<Share>>,
    places: Places,
    /// Bytes that may still be asked for; `u64::MAX` means without end.
    left_bytes: u64,
}

/// Something of reads, and the same of writes.
pub(crate) struct Sides<T> {
    reads: T,
    writes: T,
}

/// A size and its share: it is drawn if a random 32-bit number is less than `below`, and no earlier size was drawn.
struct Share {
    below: u64,
    bytes: u32,
}

/// How requests of several sizes are placed in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placing {
    /// Each where its block begins.
    AsDrawn,
    /// Each after the one before.
    InTurn,
    /// Where nothing has come yet.
    Covering,
    /// Reads and writes at multiples of different sizes.
    OnGrids,
}

/// Where requests of several sizes are placed, and what has come so far.
pub(crate) enum Places {
    AsDrawn,
    InTurn(Sequence),
    /// All share one cover; it holds the units at whose multiples reads and writes begin.
    Cover(Cover, Sides<u64>),
    /// Reads come once, and so do writes, each without regard to the other.
    Covers(Sides<Cover>),
    Grids(Grids),
}

/// Position of the next sequential request.
pub(crate) struct Sequence {
    next: u64,
    first: u64,
    end: u64,
    /// Whether the sequence stops at `end` instead of starting over.
    once: bool,
}

/// The places of reads and of writes, each of which is found from a block that was drawn for either.
pub(crate) struct Grids {
    first: u64,
    /// The blocks that are drawn from, and the bytes from one to the next.
    blocks: u64,
    unit: u64,
    own: Sides<Grid>,
}

/// So many places, one every so many bytes.
struct Grid {
    places: u64,
    unit: u64,
}

/// Whether each block comes once before one comes again.
pub(crate) fn is_shuffled(workload: &Workload) -> bool {
    workload.options.random_distribution == RandomDistribution::Shuffled
}

impl Placing {
    /// How requests of `workload` are placed in `range`; with `once`, no byte may come twice.
    pub(crate) fn of(workload: &Workload, sizes: BlockSizes, range: &Range<u64>, once: bool) -> Self {
        let length = range.end.saturating_sub(range.start);
        let is_shuffled = is_shuffled(workload);
        let can_cover = || sizes.are_multiples() && length / sizes.smallest().0 <= MOST_UNITS;
        let is_mixed = workload.rw.direction().is_none();
        match workload.rw.pattern() {
            Pattern::Sequential => Self::InTurn,
            _ if is_shuffled && can_cover() => Self::Covering,
            _ if is_shuffled || once || workload.options.blockalign != Bytes(0) => Self::AsDrawn,
            _ if is_mixed && begin_differently(sizes) => Self::OnGrids,
            _ => Self::AsDrawn,
        }
    }
}

/// Whether reads begin at multiples of another size than writes, as in fio.
fn begin_differently(sizes: BlockSizes) -> bool {
    sizes.smallest_of(Direction::Read) != sizes.smallest_of(Direction::Write)
}

impl Places {
    /// The places in `range`, none of which has been used. `drawn_from` is the bytes from one drawn block to the next, and
    /// their number.
    pub(crate) fn new(
        placing: Placing,
        sizes: BlockSizes,
        range: &Range<u64>,
        once: bool,
        drawn_from: (u64, u64),
        random: &mut Xoshiro256PlusPlus,
    ) -> Self {
        let mut cover = |unit: Bytes| Cover::new(range, unit.0, once, random);
        match placing {
            Placing::AsDrawn => Self::AsDrawn,
            Placing::InTurn => Self::InTurn(Sequence { next: range.start, first: range.start, end: range.end, once }),
            // As in fio, writes that are larger than all reads stay whole. Where a byte that was read must not be written,
            // one cover has both.
            Placing::Covering if !once && begin_differently(sizes) => {
                Self::Covers(Sides::of(|rw| cover(sizes.smallest_of(rw))))
            }
            Placing::Covering => {
                let unit = sizes.smallest();
                Self::Cover(cover(unit), Sides::of(|rw| sizes.smallest_of(rw).0 / unit.0))
            }
            Placing::OnGrids => Self::Grids(Grids::new(sizes, range, drawn_from)),
        }
    }

    /// Moves `request` to its place, and makes it shorter if it would reach what has come. Returns whether there is one.
    #[inline]
    fn place(&mut self, request: &mut Request) -> bool {
        let placed = match self {
            Self::AsDrawn => return true,
            Self::InTurn(sequence) => sequence.take(u64::from(request.length)).map(|at| (at, request.length)),
            Self::Cover(cover, multiples) => cover.take(request.length, *multiples.of_operation(request.operation)),
            Self::Covers(covers) => covers.of_operation_mut(request.operation).take(request.length, 1),
            Self::Grids(grids) => Some((grids.place(request.operation, request.offset), request.length)),
        };
        if let Some(place) = placed {
            (request.offset, request.length) = place;
        }
        placed.is_some()
    }
}

impl<T> Sides<T> {
    fn of(mut side: impl FnMut(Direction) -> T) -> Self {
        Self { reads: side(Direction::Read), writes: side(Direction::Write) }
    }

    #[inline]
    fn of_operation(&self, operation: Operation) -> &T {
        if operation == Operation::Read { &self.reads } else { &self.writes }
    }

    #[inline]
    fn of_operation_mut(&mut self, operation: Operation) -> &mut T {
        if operation == Operation::Read { &mut self.reads } else { &mut self.writes }
    }
}

impl DrawnSizes {
    /// Sizes for the requests of a lane.
    pub(crate) fn new(sizes: BlockSizes, places: Places) -> Self {
        let shares = |rw| {
            let mut percents = 0;
            let share = |(size, percent): (Bytes, u8)| {
                percents += u64::from(percent);
                Share { below: (percents << 32) / 100, bytes: size.0 as u32 }
            };
            sizes.of(rw).map(share).collect::<Vec<Share>>()
        };
        Self { shares: Sides::of(shares), places, left_bytes: u64::MAX }
    }

    /// Ends when `bytes` more have been asked for; the last request may ask for more than what is left of them.
    pub(crate) fn end_after(&mut self, bytes: u64) {
        self.left_bytes = bytes;
    }

    /// Sets the length of each request of `batch`, and its place. Returns how many requests were set: fewer than all if the
    /// range or the bytes have ended.
    #[inline]
    pub(crate) fn draw(&mut self, batch: &mut [Request], random: &mut impl Rng) -> usize {
        let count = batch.len();
        for (placed, request) in batch.iter_mut().enumerate() {
            if self.left_bytes == 0 {
                return placed;
            }
            let shares = self.shares.of_operation(request.operation);
            let drawn = random.next_u64() >> 32;
            // The last share ends at 2^32, above every number that is drawn.
            let place = shares.iter().position(|share| drawn < share.below).unwrap_or(0);
            request.length = shares[place].bytes;
            if !self.places.place(request) {
                return placed;
            }
            if self.left_bytes != u64::MAX {
                self.left_bytes = self.left_bytes.saturating_sub(u64::from(request.length));
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

impl Grids {
    fn new(sizes: BlockSizes, range: &Range<u64>, (unit, blocks): (u64, u64)) -> Self {
        let length = range.end.saturating_sub(range.start);
        let own = |rw| {
            let Bytes(unit) = sizes.smallest_of(rw);
            let largest = sizes.of(rw).map(|(size, _)| size.0).max().unwrap_or(unit);
            Grid { places: length.saturating_add(unit).saturating_sub(largest) / unit, unit }
        };
        Self { first: range.start, blocks, unit, own: Sides::of(own) }
    }

    /// The place as far into the range as the block that was drawn; so all are drawn equally often if all blocks are.
    #[inline]
    fn place(&self, operation: Operation, drawn: u64) -> u64 {
        let grid = self.own.of_operation(operation);
        let block = (drawn - self.first) / self.unit;
        let place = (u128::from(block) * u128::from(grid.places) / u128::from(self.blocks)) as u64;
        self.first + place * grid.unit
    }
}
