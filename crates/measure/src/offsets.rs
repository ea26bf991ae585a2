//! Gives the offset of each request: sequential or random, without end or each block once; and draws its size if a
//! workload has several request sizes.

use std::ops::Range;

use halfpower_engine::{Operation, Request};
use halfpower_spec::{Bytes, Direction, Jump, Layout, Pattern, RandomDistribution, Rw, Workload, WorkloadOptions};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::covering::Permutation;
use crate::drawn_sizes::{DrawnSizes, Places, Placing, is_shuffled};
use crate::skewed_blocks::DrawnBlocks;
use crate::zoned_blocks::ZonedBlocks;

/// The stream of requests of one lane.
pub(crate) struct Offsets {
    order: Order,
    blocks: u64,
    /// Blocks left to give; `u64::MAX` means without end.
    left: u64,
    shape: Shape,
    /// `None` means that every request has the length of a block.
    sizes: Option<DrawnSizes>,
    /// `Some` means that each trimmed block is written next.
    rewrites: Option<Rewrites>,
    random: Xoshiro256PlusPlus,
}

/// For each slot, the trim whose block it has to write next.
#[derive(Default)]
struct Rewrites {
    of_slot: Vec<Option<Request>>,
    /// Slots that go on to another block; kept to reuse its memory.
    fresh: Vec<u32>,
}

enum Order {
    /// Block by block, or each `step` blocks after the one before.
    Sequential {
        next: u64,
        step: u64,
    },
    /// Each `step` blocks before the one before.
    Backwards {
        next: u64,
        step: u64,
    },
    /// For each slot, its next block; each goes through all, `step` blocks at a time.
    EachSlot {
        next: Box<[u64]>,
        step: u64,
    },
    Streams(Streams),
    Random,
    Jumping(Jumping),
    Skewed(DrawnBlocks),
    Zoned(ZonedBlocks),
    Permuted(Permutation),
}

/// A random order that goes on sequentially between its jumps.
#[derive(Clone, Copy)]
struct Jumping {
    /// The block after the last one.
    next: u64,
    /// Requests that still follow before the next jump, of every so many.
    follow: u64,
    every: u64,
    /// Number of jumps among 2^32 requests; `None` jumps every so many.
    share: Option<u64>,
}

/// Sequential streams that take turns, each in its own part of the range; all advance equally.
struct Streams {
    count: u64,
    /// Number of blocks in each part.
    part: u64,
    /// The stream whose turn it is.
    turn: u64,
    /// The next block within its part.
    given: u64,
}

/// The blocks of a range.
#[derive(Clone, Copy)]
struct Blocks {
    /// Bytes from where a block begins to where the next one does.
    unit: u64,
    bytes: u64,
    count: u64,
    /// How many of them each stream has.
    part: u64,
}

impl Blocks {
    /// The blocks of `range`, of which there must be one for each stream.
    fn of(workload: &Workload, range: &Range<u64>, once: bool, placing: Option<Placing>) -> Self {
        let largest = workload.bs.0;
        let length = range.end.saturating_sub(range.start);
        // As in fio, requests of several sizes begin at multiples of the smallest, except if each byte is used once.
        let smallest = workload.options.bssplit.filter(|_| !once && !is_shuffled(workload));
        let bytes = smallest.map_or(largest, |sizes| sizes.smallest().0);
        let unit = if workload.options.blockalign == Bytes(0) { bytes } else { workload.alignment().0 };
        let streams = u64::from(workload.options.streams.max(1));
        // Each direction finds its own places among all of the range.
        let last_bytes = if placing == Some(Placing::OnGrids) { unit } else { largest };
        // Blocks that do not divide evenly among the streams are left out.
        let part = length.saturating_add(unit).saturating_sub(last_bytes) / unit / streams;
        let count = part * streams;
        assert!(count > 0, "a lane's range holds at least one block for each stream");
        Self { unit, bytes, count, part }
    }
}

/// How a block becomes a request.
#[derive(Clone, Copy)]
struct Shape {
    first: u64,
    /// Bytes from where a block begins to where the next one does.
    unit: u64,
    block_bytes: u32,
    operations: Operations,
}

#[derive(Clone, Copy)]
enum Operations {
    All(Operation),
    /// Number of reads among 2^32 requests; the rest are writes.
    Mixed {
        read_share: u64,
    },
}

impl Offsets {
    /// Offsets for `workload` within `range`, which must hold at least one block for each stream; with `once`, each
    /// block is given once.
    pub(crate) fn new(workload: &Workload, range: &Range<u64>, once: bool, seed: u64) -> Self {
        let bssplit = workload.options.bssplit;
        let placing = bssplit.map(|sizes| Placing::of(workload, sizes, range, once));
        let covers = placing == Some(Placing::Covering);
        let blocks = Blocks::of(workload, range, once, placing);
        let step = (workload.options.stride.0 / workload.bs.0).max(1);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let order = match workload.rw.pattern() {
            Pattern::Sequential => Order::sequential(workload, blocks, step),
            // The cover says where each request begins.
            _ if covers => Order::Sequential { next: 0, step: 1 },
            _ if once || is_shuffled(workload) => Order::Permuted(Permutation::new(blocks.count, &mut random)),
            _ => Order::drawn(&workload.options, blocks.count, blocks.unit, &mut random),
        };
        let operations = match workload.rw.direction() {
            _ if workload.rw.trims() => Operations::All(Operation::Trim),
            Some(Direction::Read) => Operations::All(Operation::Read),
            Some(Direction::Write) => Operations::All(Operation::Write),
            None => Operations::Mixed { read_share: (u64::from(workload.rwmixread) << 32) / 100 },
        };
        let shape = Shape { first: range.start, unit: blocks.unit, block_bytes: blocks.bytes as u32, operations };
        let sizes = bssplit.zip(placing).map(|(sizes, placing)| {
            let drawn_from = (blocks.unit, blocks.count);
            DrawnSizes::new(sizes, Places::new(placing, sizes, range, once, drawn_from, &mut random))
        });
        // Sequential requests of several sizes, and those that cover a range, end with it, not after a number of blocks.
        let counts = once && (bssplit.is_none() || workload.rw.pattern() != Pattern::Sequential && !covers);
        let rewrites = (workload.rw == Rw::Trimwrite).then(|| Rewrites::new(workload.iodepth));
        let left = if counts { blocks.count.div_ceil(step) } else { u64::MAX };
        Self { order, blocks: blocks.count, left, shape, sizes, rewrites, random }
    }

    /// Size of every request, in bytes; `None` if sizes differ.
    pub(crate) fn one_length(&self) -> Option<u32> {
        self.sizes.is_none().then_some(self.shape.block_bytes)
    }

    /// Whether all blocks have been given, and those that were trimmed have been written.
    pub(crate) fn ended(&self) -> bool {
        self.left == 0 && self.rewrites.as_ref().is_none_or(Rewrites::are_done)
    }

    /// Ends when `bytes` more have been asked for; the last request may ask for more than what is left of them.
    pub(crate) fn end_after(&mut self, bytes: u64) {
        match &mut self.sizes {
            None => self.left = self.left.min(bytes.div_ceil(u64::from(self.shape.block_bytes))),
            Some(sizes) => sizes.end_after(bytes),
        }
    }

    /// The operation whose requests are counted separately.
    pub(crate) fn apart(&self) -> Operation {
        if self.rewrites.is_some() { Operation::Trim } else { Operation::Read }
    }

    /// Takes up to `most` slots from `free` and appends a request for each to `batch`; fewer if fewer blocks are left.
    #[inline]
    pub(crate) fn fill_at_most(&mut self, most: usize, free: &mut Vec<u32>, batch: &mut Vec<Request>) {
        match self.rewrites.take() {
            None => self.fill(most, free, batch),
            Some(mut rewrites) => {
                rewrites.fill(most, free, batch, |fresh, batch| self.fill(usize::MAX, fresh, batch));
                self.rewrites = Some(rewrites);
            }
        }
    }

    #[inline]
    fn fill(&mut self, most: usize, free: &mut Vec<u32>, batch: &mut Vec<Request>) {
        let count = (free.len().min(most) as u64).min(self.left);
        self.left -= count;
        let left = free.len() - count as usize;
        let slots = &free[left..];
        let blocks = self.blocks;
        let shape = self.shape;
        let before = batch.len();
        // A copy stays in registers through the batch.
        let mut random = self.random.clone();
        // Match on the order once per batch, not for each request.
        match &mut self.order {
            Order::Sequential { next, step } => {
                let step = *step;
                let mut block = *next;
                shape.fill(slots, batch, &mut random, |_| {
                    let this = block;
                    block = if block + step >= blocks { 0 } else { block + step };
                    this
                });
                *next = block;
            }
            Order::Backwards { next, step } => {
                let step = *step;
                let mut block = *next;
                shape.fill(slots, batch, &mut random, |_| {
                    let this = block;
                    block = if block < step { blocks - 1 } else { block - step };
                    this
                });
                *next = block;
            }
            Order::EachSlot { next, step } => {
                let step = *step;
                let mut in_turn = slots.iter();
                shape.fill(slots, batch, &mut random, |_| {
                    // It is called once for each slot, in their order.
                    let Some(slot) = in_turn.next() else { return 0 };
                    let Some(block) = next.get_mut(*slot as usize) else { return 0 };
                    let this = *block;
                    *block = if this + step >= blocks { 0 } else { this + step };
                    this
                });
            }
            Order::Streams(streams) => shape.fill(slots, batch, &mut random, |_| streams.next()),
            // Multiply and shift instead of a division; the bias is below blocks / 2^64.
            Order::Random => shape.fill(slots, batch, &mut random, |random| {
                ((u128::from(random.next_u64()) * u128::from(blocks)) >> 64) as u64
            }),
            Order::Jumping(jumping) => {
                let mut jumps = *jumping;
                shape.fill(slots, batch, &mut random, |random| jumps.next_below(blocks, random));
                *jumping = jumps;
            }
            Order::Skewed(skewed) => shape.fill(slots, batch, &mut random, |_| skewed.next()),
            Order::Zoned(zoned) => shape.fill(slots, batch, &mut random, |random| zoned.draw(random)),
            Order::Permuted(permutation) => {
                shape.fill(slots, batch, &mut random, |_| permutation.next_below(blocks));
            }
        }
        free.truncate(left);
        if let Some(sizes) = &mut self.sizes {
            let placed = before + sizes.draw(&mut batch[before..], &mut random);
            if placed < batch.len() {
                self.left = 0;
                free.extend(batch.drain(placed..).map(|request| request.slot));
            }
        }
        self.random = random;
    }
}

impl Order {
    /// The order of sequential requests, each of which begins `step` blocks after the one before.
    fn sequential(workload: &Workload, blocks: Blocks, step: u64) -> Self {
        let Workload { options, .. } = workload;
        let Blocks { count, part, .. } = blocks;
        match u64::from(options.streams.max(1)) {
            streams if streams > 1 => Self::Streams(Streams { count: streams, part, turn: 0, given: 0 }),
            // From the last block on to the first and so on.
            _ if options.layout == Layout::LastFirst => Self::Sequential { next: count - 1, step: 1 },
            _ if options.same_blocks => Self::EachSlot { next: vec![0; workload.total_depth() as usize].into(), step },
            _ if options.backwards => Self::Backwards { next: count - 1, step },
            _ => Self::Sequential { next: 0, step },
        }
    }

    /// The random order that a workload with these options asks for, over `blocks` blocks that begin `unit` bytes apart.
    fn drawn(options: &WorkloadOptions, blocks: u64, unit: u64, random: &mut Xoshiro256PlusPlus) -> Self {
        let jumping = Jumping { next: 0, follow: 0, every: 1, share: None };
        match options.jump {
            Jump::Every(1) => {
                if let RandomDistribution::Zoned(zones) = options.random_distribution {
                    return ZonedBlocks::new(zones, blocks, unit).map_or(Self::Random, Self::Zoned);
                }
                let drawn = DrawnBlocks::new(options.random_distribution, blocks, random);
                drawn.map_or(Self::Random, Self::Skewed)
            }
            Jump::Every(every) => Self::Jumping(Jumping { every: every.into(), ..jumping }),
            Jump::Share(percent) => Self::Jumping(Jumping { share: Some((u64::from(percent) << 32) / 100), ..jumping }),
        }
    }
}

impl Jumping {
    #[inline]
    fn next_below(&mut self, blocks: u64, random: &mut Xoshiro256PlusPlus) -> u64 {
        let jumps = match self.share {
            Some(share) => random.next_u64() >> 32 < share,
            None => self.follow == 0,
        };
        if jumps {
            self.next = ((u128::from(random.next_u64()) * u128::from(blocks)) >> 64) as u64;
            self.follow = self.every;
        }
        self.follow = self.follow.saturating_sub(1);
        let block = self.next;
        self.next = if block + 1 == blocks { 0 } else { block + 1 };
        block
    }
}

impl Rewrites {
    /// Whether no block is left that was trimmed and not yet written.
    fn are_done(&self) -> bool {
        self.of_slot.iter().all(Option::is_none)
    }

    fn new(depth: u32) -> Self {
        Self { of_slot: vec![None; depth as usize], fresh: Vec::with_capacity(depth as usize) }
    }

    /// A slot is free again when its trim is done; its next request writes the same block, so the write cannot overtake
    /// the trim.
    fn fill(
        &mut self,
        most: usize,
        free: &mut Vec<u32>,
        batch: &mut Vec<Request>,
        begin: impl FnOnce(&mut Vec<u32>, &mut Vec<Request>),
    ) {
        let Self { of_slot, fresh } = self;
        fresh.clear();
        for slot in free.drain(free.len() - free.len().min(most)..) {
            match of_slot[slot as usize].take() {
                Some(trim) => batch.push(Request { operation: Operation::Write, ..trim }),
                None => fresh.push(slot),
            }
        }
        let before = batch.len();
        begin(fresh, batch);
        batch[before..].iter().for_each(|trim| of_slot[trim.slot as usize] = Some(*trim));
        free.append(fresh);
    }
}

impl Shape {
    #[inline]
    fn fill(
        self,
        slots: &[u32],
        batch: &mut Vec<Request>,
        random: &mut Xoshiro256PlusPlus,
        mut next_block: impl FnMut(&mut Xoshiro256PlusPlus) -> u64,
    ) {
        let Self { first, unit, block_bytes: length, operations } = self;
        let mut request = |slot, random: &mut Xoshiro256PlusPlus, operation| {
            let offset = first + next_block(random) * unit;
            Request { slot, operation, offset, length }
        };
        match operations {
            Operations::All(operation) => batch.extend(slots.iter().map(|slot| request(*slot, random, operation))),
            Operations::Mixed { read_share } => batch.extend(slots.iter().map(|slot| {
                let read = request(*slot, random, Operation::Read);
                let stays = random.next_u64() >> 32 < read_share;
                if stays { read } else { Request { operation: Operation::Write, ..read } }
            })),
        }
    }
}

impl Streams {
    #[inline]
    fn next(&mut self) -> u64 {
        let block = self.turn * self.part + self.given;
        self.turn += 1;
        if self.turn == self.count {
            self.turn = 0;
            self.given = if self.given + 1 == self.part { 0 } else { self.given + 1 };
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_spec::{Bytes, WorkloadOptions};

    fn offsets(rw: Rw, blocks: u64, once: bool) -> Offsets {
        let workload = Workload { rw, bs: Bytes(4096), rwmixread: 70, ..Workload::default() };
        Offsets::new(&workload, &(8192..8192 + blocks * 4096 + 100), once, 42)
    }

    fn blocks(offsets: &mut Offsets, count: usize) -> Vec<u64> {
        requests(offsets, count).iter().map(|request| (request.offset - 8192) / 4096).collect()
    }

    /// At most `count` requests, in batches of several sizes.
    fn requests(offsets: &mut Offsets, count: usize) -> Vec<Request> {
        let mut batch = Vec::new();
        for size in (1..=7).cycle() {
            let before = batch.len();
            let wanted = size.min(count - batch.len());
            let mut free: Vec<u32> = (0..wanted as u32).collect();
            offsets.fill_at_most(usize::MAX, &mut free, &mut batch);
            assert_eq!(free.len(), wanted - (batch.len() - before), "a slot is free or in the batch");
            if batch.len() == before {
                break;
            }
        }
        batch
    }

    #[test]
    fn each_block_is_trimmed_and_then_written_by_its_slot() {
        let workload = Workload { rw: Rw::Trimwrite, bs: Bytes(4096), iodepth: 2, ..Workload::default() };
        let mut offsets = Offsets::new(&workload, &(0..3 * 4096), false, 42);
        let mut next = |most, mut free: Vec<u32>| {
            let mut batch = Vec::new();
            offsets.fill_at_most(most, &mut free, &mut batch);
            batch.iter().map(|request| (request.slot, request.operation, request.offset / 4096)).collect::<Vec<_>>()
        };
        assert_eq!(next(9, vec![0, 1]), [(0, Operation::Trim, 0), (1, Operation::Trim, 1)]);
        assert_eq!(next(9, vec![1]), [(1, Operation::Write, 1)], "as soon as its trim is done");
        assert_eq!(next(9, vec![0, 1]), [(0, Operation::Write, 0), (1, Operation::Trim, 2)], "no block is left out");
        assert_eq!(next(1, vec![0, 1]), [(1, Operation::Write, 2)]);
        let workload = Workload { rw: Rw::Randtrim, bs: Bytes(4096), ..workload };
        let batch = requests(&mut Offsets::new(&workload, &(0..64 * 4096), true, 42), 100);
        assert!(batch.len() == 64 && batch.iter().all(|request| request.operation == Operation::Trim));
    }

    #[test]
    fn sequential_goes_round() {
        assert_eq!(blocks(&mut offsets(Rw::Read, 3, false), 7), [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn strides_leave_blocks_out_and_go_round() {
        let strided = |once| {
            let options = WorkloadOptions { stride: Bytes(3 * 4096), ..WorkloadOptions::default() };
            let workload = Workload { rw: Rw::Read, bs: Bytes(4096), options, ..Workload::default() };
            Offsets::new(&workload, &(8192..8192 + 8 * 4096), once, 42)
        };
        assert_eq!(blocks(&mut strided(false), 5), [0, 3, 6, 0, 3]);
        assert_eq!(blocks(&mut strided(true), 9), [0, 3, 6], "each once");
    }

    #[test]
    fn backwards_begins_with_the_last_block_and_goes_round() {
        let back = |stride: u64, once| {
            let options = WorkloadOptions { backwards: true, stride: Bytes(stride), ..WorkloadOptions::default() };
            let workload = Workload { rw: Rw::Read, bs: Bytes(4096), options, ..Workload::default() };
            Offsets::new(&workload, &(8192..8192 + 8 * 4096), once, 42)
        };
        assert_eq!(blocks(&mut back(0, false), 10), [7, 6, 5, 4, 3, 2, 1, 0, 7, 6]);
        assert_eq!(blocks(&mut back(3 * 4096, false), 5), [7, 4, 1, 7, 4]);
        assert_eq!(blocks(&mut back(0, true), 9), [7, 6, 5, 4, 3, 2, 1, 0], "each once");
        assert_eq!(blocks(&mut back(3 * 4096, true), 9), [7, 4, 1], "each once");
    }

    #[test]
    fn streams_take_turns_each_in_a_part_of_its_own() {
        let streams = |blocks: u64, once| {
            let options = WorkloadOptions { streams: 3, ..WorkloadOptions::default() };
            let workload = Workload { rw: Rw::Read, bs: Bytes(4096), options, ..Workload::default() };
            Offsets::new(&workload, &(8192..8192 + blocks * 4096), once, 42)
        };
        assert_eq!(blocks(&mut streams(7, false), 9), [0, 2, 4, 1, 3, 5, 0, 2, 4]);
        assert_eq!(blocks(&mut streams(7, true), 100), [0, 2, 4, 1, 3, 5], "the seventh block is nobody's");
    }

    #[test]
    fn the_last_block_comes_first_and_each_once() {
        let options = WorkloadOptions { layout: Layout::LastFirst, ..WorkloadOptions::default() };
        let workload = Workload { rw: Rw::Write, bs: Bytes(4096), options, ..Workload::default() };
        let mut offsets = Offsets::new(&workload, &(8192..8192 + 4 * 4096), true, 1);
        assert_eq!(blocks(&mut offsets, 9), [3, 0, 1, 2]);
    }

    #[test]
    fn once_gives_every_block_once_in_no_order() {
        for count in [1, 2, 7, 64, 1000] {
            let mut visited = blocks(&mut offsets(Rw::Randread, count, true), 5000);
            let rising = visited.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
            assert!(count < 64 || rising < count as usize / 8, "{rising} steps of {count} are sequential");
            visited.sort_unstable();
            assert_eq!(visited, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn shuffled_gives_every_block_once_before_one_comes_again() {
        let options =
            WorkloadOptions { random_distribution: RandomDistribution::Shuffled, ..WorkloadOptions::default() };
        let workload = Workload { rw: Rw::Randread, bs: Bytes(4096), options, ..Workload::default() };
        let mut shuffled = Offsets::new(&workload, &(8192..8192 + 256 * 4096), false, 42);
        for pass in 0..3 {
            let mut visited = blocks(&mut shuffled, 256);
            assert_ne!(visited, (0..256).collect::<Vec<_>>());
            visited.sort_unstable();
            assert_eq!(visited, (0..256).collect::<Vec<_>>(), "pass {pass}");
        }
    }

    #[test]
    fn jumps_come_as_often_as_asked() {
        let jumps = |jump| {
            let options = WorkloadOptions { jump, ..WorkloadOptions::default() };
            let workload = Workload { rw: Rw::Randread, bs: Bytes(4096), options, ..Workload::default() };
            let given = blocks(&mut Offsets::new(&workload, &(8192..8192 + 1_000_000 * 4096), false, 42), 8_000);
            let jumped: Vec<usize> = (1..given.len()).filter(|at| given[*at] != given[at - 1] + 1).collect();
            assert!(given.iter().all(|block| *block < 1_000_000));
            jumped
        };
        let each_8th = jumps(Jump::Every(8));
        assert!(each_8th.iter().all(|at| at % 8 == 0) && each_8th.len() > 990, "{}", each_8th.len());
        let share = jumps(Jump::Share(30)).len();
        assert!((2_200..2_600).contains(&share), "{share} of 8,000");
        assert!(jumps(Jump::Share(0)).is_empty());
    }

    #[test]
    fn a_lane_ends_when_its_bytes_are_asked_for() {
        let mut several = offsets(Rw::Read, 3, false);
        several.end_after(7 * 4096 - 1);
        assert_eq!(blocks(&mut several, 100), [0, 1, 2, 0, 1, 2, 0], "the last request is whole");
        assert!(several.ended());
        let mut fewer = offsets(Rw::Randread, 3, true);
        fewer.end_after(1 << 30);
        assert_eq!(blocks(&mut fewer, 100).len(), 3, "each block once is less");
        let options = WorkloadOptions { bssplit: "4k:64k".parse().ok(), ..WorkloadOptions::default() };
        let workload = Workload { rw: Rw::Randread, bs: Bytes(65536), options, ..Workload::default() };
        let mut drawn = Offsets::new(&workload, &(0..1 << 20), false, 42);
        drawn.end_after(1 << 20);
        let asked: u64 = requests(&mut drawn, 10_000).iter().map(|request| u64::from(request.length)).sum();
        assert!((1 << 20..(1 << 20) + 65536).contains(&asked) && drawn.ended(), "{asked}");
    }

    #[test]
    fn a_trim_that_ends_the_bytes_is_still_written() {
        let workload = Workload { rw: Rw::Trimwrite, bs: Bytes(4096), iodepth: 2, ..Workload::default() };
        let mut offsets = Offsets::new(&workload, &(0..8 * 4096), false, 42);
        offsets.end_after(2 * 4096);
        let mut batch = Vec::new();
        offsets.fill_at_most(9, &mut vec![0, 1], &mut batch);
        assert!(!offsets.ended(), "two blocks are trimmed and not written");
        offsets.fill_at_most(9, &mut vec![0, 1], &mut batch);
        assert!(offsets.ended());
        assert_eq!(batch.iter().filter(|request| request.operation == Operation::Write).count(), 2);
    }

    #[test]
    fn random_requests_begin_at_multiples_of_what_is_asked() {
        for (blockalign, bs, places) in [(4096, 65536, 241), (65536, 4096, 16)] {
            let options = WorkloadOptions { blockalign: Bytes(blockalign), ..WorkloadOptions::default() };
            let workload = Workload { rw: Rw::Randread, bs: Bytes(bs), options, ..Workload::default() };
            let batch = requests(&mut Offsets::new(&workload, &(8192..8192 + (1 << 20)), false, 42), 10_000);
            assert!(batch.iter().all(|request| (request.offset - 8192).is_multiple_of(blockalign)));
            assert!(
                batch.iter().all(|request| u64::from(request.length) == bs && request.offset + bs <= 8192 + (1 << 20))
            );
            let starts: std::collections::BTreeSet<u64> = batch.iter().map(|request| request.offset).collect();
            assert_eq!(starts.len(), places, "every place at which a request fits");
        }
        let options = WorkloadOptions {
            blockalign: Bytes(4096),
            bssplit: "512/50:8k/50".parse().ok(),
            ..WorkloadOptions::default()
        };
        let workload = Workload { rw: Rw::Randwrite, bs: Bytes(8192), options, ..Workload::default() };
        let batch = requests(&mut Offsets::new(&workload, &(0..1 << 20), false, 42), 10_000);
        assert!(batch.iter().all(|request| request.offset.is_multiple_of(4096)));
        assert!(batch.iter().any(|request| request.length == 512), "sizes are drawn all the same");
    }

    #[test]
    fn each_slot_goes_through_the_same_blocks() {
        let options = WorkloadOptions { same_blocks: true, ..WorkloadOptions::default() };
        let workload = Workload { rw: Rw::Read, bs: Bytes(4096), iodepth: 3, options, ..Workload::default() };
        let mut offsets = Offsets::new(&workload, &(8192..8192 + 2 * 4096), false, 42);
        let mut fill = |mut free: Vec<u32>| {
            let mut batch = Vec::new();
            offsets.fill_at_most(9, &mut free, &mut batch);
            batch.iter().map(|request| (request.slot, (request.offset - 8192) / 4096)).collect::<Vec<_>>()
        };
        assert_eq!(fill(vec![0, 1, 2]), [(0, 0), (1, 0), (2, 0)]);
        assert_eq!(fill(vec![2, 0]), [(2, 1), (0, 1)]);
        assert_eq!(fill(vec![1, 2]), [(1, 1), (2, 0)], "the slot that is ahead begins again");
    }

    #[test]
    fn random_is_even_over_the_range() {
        let mut counts = [0u32; 10];
        for block in blocks(&mut offsets(Rw::Randwrite, 10, false), 10_000) {
            counts[block as usize] += 1;
        }
        // Chi-square with 9 degrees of freedom exceeds 33 for one seed in 10,000; the seed is fixed.
        let chi: f64 = counts.iter().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 33.0, "{chi} {counts:?}");
    }

    fn split(rw: Rw, text: &str, range: Range<u64>, once: bool) -> Vec<Request> {
        let sizes: halfpower_spec::BlockSizes = text.parse().unwrap();
        let options = WorkloadOptions { bssplit: Some(sizes), ..WorkloadOptions::default() };
        let workload = Workload { rw, bs: sizes.largest(), rwmixread: 50, options, ..Workload::default() };
        requests(&mut Offsets::new(&workload, &range, once, 42), 10_000)
    }

    #[test]
    fn sizes_are_drawn_in_their_shares_and_lie_within_the_range() {
        let batch = split(Rw::Randread, "4k/60:16k/30:64k/10", 8192..8192 + (1 << 20), false);
        for (bytes, percent) in [(4 << 10, 60), (16 << 10, 30), (64 << 10, 10)] {
            let drawn = batch.iter().filter(|request| request.length == bytes).count() as i64;
            assert!((drawn - 100 * percent).abs() < 200, "{drawn} of 10,000 are of {bytes} bytes");
        }
        assert!(batch.iter().all(|request| (request.offset - 8192).is_multiple_of(4096)));
        let ends = batch.iter().map(|request| request.offset + u64::from(request.length));
        assert_eq!(ends.clone().max(), Some(8192 + (1 << 20)), "the last block is reached, and nothing beyond");
        let starts: std::collections::BTreeSet<u64> = batch.iter().map(|request| request.offset).collect();
        assert_eq!(starts.len(), 241, "every multiple of the smallest size at which the largest fits");
        let again = split(Rw::Randread, "4k/60:16k/30:64k/10", 8192..8192 + (1 << 20), false);
        assert_eq!(batch, again, "the same seed draws the same");
    }

    #[test]
    fn reads_and_writes_draw_from_sizes_of_their_own() {
        let batch = split(Rw::Randmixed, "4k:8k,64k", 0..1 << 20, false);
        let is_write = |request: &Request| request.operation == Operation::Write;
        assert!(batch.iter().any(is_write) && batch.iter().any(|request| request.length == 4096));
        assert!(batch.iter().all(|request| is_write(request) == (request.length == 65536)));
    }

    /// Reads of 4 KiB and writes of 64 KiB, within `bytes` bytes from 8192 on.
    fn mixed(random_distribution: RandomDistribution, once: bool, bytes: u64) -> Vec<Request> {
        let bssplit = "4k,64k".parse().ok();
        let options = WorkloadOptions { bssplit, random_distribution, ..WorkloadOptions::default() };
        let workload = Workload { rw: Rw::Randmixed, bs: Bytes(65536), rwmixread: 50, options, ..Workload::default() };
        requests(&mut Offsets::new(&workload, &(8192..8192 + bytes), once, 42), 10_000)
    }

    #[test]
    fn reads_and_writes_of_a_mix_begin_at_multiples_of_their_own_sizes() {
        let even = RandomDistribution::Even;
        let shuffled = RandomDistribution::Shuffled;
        for (distribution, once) in [(even, false), (even, true), (shuffled, false), (shuffled, true)] {
            let batch = mixed(distribution, once, 8 << 20);
            let whole = batch.iter().filter(|request| request.length == 65536);
            assert!(whole.clone().count() > 20, "{distribution}, once: {once}");
            assert!(
                whole.clone().all(|write| (write.offset - 8192).is_multiple_of(65536)),
                "{distribution}, once: {once}"
            );
        }
        let batch = mixed(even, false, 1 << 20);
        let times = |offset| batch.iter().filter(|request| request.length == 65536 && request.offset == offset).count();
        let writes: Vec<usize> = (0..16).map(|nth| times(8192 + nth * 65536)).collect();
        // 5,000 writes to 16 places: 312 of each, and a standard deviation of 17.
        assert!(writes.iter().all(|times| (230..400).contains(times)), "each place as often: {writes:?}");
        let reads = batch.iter().filter(|request| request.length == 4096).map(|request| request.offset);
        assert_eq!(reads.collect::<std::collections::BTreeSet<u64>>().len(), 256, "reads reach all of the range");
    }

    #[test]
    fn writes_that_are_larger_than_reads_stay_whole_where_the_order_is_shuffled() {
        let shuffled = mixed(RandomDistribution::Shuffled, false, 8 << 20);
        let is_write = |request: &&Request| request.operation == Operation::Write;
        assert!(shuffled.iter().filter(is_write).all(|write| write.length == 65536));
        let first: std::collections::BTreeSet<u64> =
            shuffled.iter().filter(is_write).take(128).map(|write| write.offset).collect();
        assert_eq!(first.len(), 128, "each is written once before one is written again");
        let mut once = mixed(RandomDistribution::Shuffled, true, 8 << 20);
        once.sort_by_key(|request| request.offset);
        assert!(once.windows(2).all(|pair| pair[0].offset + u64::from(pair[0].length) == pair[1].offset));
    }

    #[test]
    fn sequential_requests_of_several_sizes_follow_each_other() {
        let batch = split(Rw::Read, "4k/50:12k/50", 8192..8192 + 100_000, false);
        let end = |request: &Request| request.offset + u64::from(request.length);
        for pair in batch.windows(2) {
            let goes_round = pair[1].offset == 8192 && end(&pair[0]) + u64::from(pair[1].length) > 108_192;
            assert!(pair[1].offset == end(&pair[0]) || goes_round, "{pair:?}");
        }
        assert!(batch.iter().all(|request| end(request) <= 108_192));
    }

    #[test]
    fn no_byte_comes_twice_where_blocks_come_once() {
        for rw in [Rw::Read, Rw::Randread] {
            let mut batch = split(rw, "4k/50:16k/50", 0..1 << 20, true);
            batch.sort_by_key(|request| request.offset);
            match rw {
                Rw::Read => {
                    let last = batch.last().map_or(0, |request| request.offset + u64::from(request.length));
                    assert!(last > (1 << 20) - 16384, "all of the range is read, not {last} bytes of it");
                    assert!(batch.len() > 80, "{} requests of 10 KiB on the average", batch.len());
                }
                _ => assert_eq!(batch.len(), 64, "one request for each block of the largest size"),
            }
            assert!(batch.windows(2).all(|pair| pair[0].offset + u64::from(pair[0].length) <= pair[1].offset));
        }
    }

    #[test]
    fn several_sizes_cover_all_where_the_order_is_shuffled() {
        for once in [false, true] {
            let options = WorkloadOptions {
                bssplit: "4k/50:16k/50".parse().ok(),
                random_distribution: RandomDistribution::Shuffled,
                ..WorkloadOptions::default()
            };
            let workload = Workload { rw: Rw::Randwrite, bs: Bytes(16384), options, ..Workload::default() };
            let mut offsets = Offsets::new(&workload, &(0..1 << 20), once, 42);
            if !once {
                offsets.end_after(1 << 20);
            }
            let mut batch = requests(&mut offsets, 10_000);
            assert!(offsets.ended(), "once: {once}");
            batch.sort_by_key(|request| request.offset);
            let ends = batch.iter().map(|request| request.offset + u64::from(request.length));
            let begins = batch.iter().skip(1).map(|request| request.offset).chain([1 << 20]);
            assert!(ends.eq(begins) && batch[0].offset == 0, "no byte is left out, and none comes twice");
            assert!(batch.iter().any(|request| request.length == 16384), "{}", batch.len());
        }
    }

    #[test]
    fn a_mix_reads_the_share_that_was_asked() {
        let mut mixed = offsets(Rw::Randmixed, 100, false);
        let batch = requests(&mut mixed, 10_000);
        let reads = batch.iter().filter(|request| request.operation == Operation::Read).count();
        assert!((6_800..7_200).contains(&reads), "{reads}");
    }
}
