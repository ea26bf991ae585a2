//! Connects the code that issues requests with the engine that moves their bytes, so that every byte is checked.
//!
//! The issuer ([`Verified`]) records which part of the target a slot carries and what a read may find there. A volume
//! in between records which part of the request each of its pieces is. The bottom engine, which owns the buffers, fills
//! the data of writes and verifies the data of reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use halfpower_spec::Nanos;

use crate::errno::Errno;
use crate::ledger::{Judgement, Ledger, ObservedState};
use crate::unit::{self, BlockHeader, UNIT_BYTES, UnitState};
use crate::{Completion, Engine, EngineError, Operation, Request};

/// The state shared by issuer and bottom engine of one lane. Submitting a request orders the stores here before the
/// loads, so relaxed atomics suffice.
pub(crate) struct Check {
    ledger: Arc<Ledger>,
    /// One entry for each slot of requests.
    requests: Vec<CheckedRequest>,
    /// One entry for each slot of the bottom engine.
    pieces: Vec<SlotPiece>,
    /// Reads of which nothing could be judged.
    unjudged: AtomicU64,
}

/// What a request slot carries.
struct CheckedRequest {
    first_unit: AtomicU64,
    units: AtomicU32,
    is_read: AtomicBool,
    /// For each unit: the generation of a write, or the observed state when a read began.
    expected: Vec<AtomicU64>,
}

/// The part of a request that a slot of the bottom engine carries.
struct SlotPiece {
    request: u32,
    units_before: AtomicU32,
}

impl Check {
    /// Makes the check for requests of at most `bs` bytes in `depth` slots. `request_of_slot` gives the request slot of
    /// each slot of the bottom engine.
    pub fn new(ledger: Arc<Ledger>, depth: u32, bs: u64, request_of_slot: impl Iterator<Item = u32>) -> Self {
        let units = bs as usize / UNIT_BYTES;
        let issued = || CheckedRequest {
            first_unit: AtomicU64::new(0),
            units: AtomicU32::new(0),
            is_read: AtomicBool::new(false),
            expected: (0..units).map(|_| AtomicU64::new(0)).collect(),
        };
        let piece = |request| SlotPiece { request, units_before: AtomicU32::new(0) };
        let requests = (0..depth).map(|_| issued()).collect();
        Self { ledger, requests, pieces: request_of_slot.map(piece).collect(), unjudged: AtomicU64::new(0) }
    }

    /// Records a request that is about to be submitted.
    pub fn begin(&self, request: &Request) {
        let issued = &self.requests[request.slot as usize];
        let units = match request.operation {
            Operation::Flush | Operation::Trim => 0,
            Operation::Read | Operation::Write => request.length / UNIT_BYTES as u32,
        };
        let first = request.offset / UNIT_BYTES as u64;
        let is_read = request.operation == Operation::Read;
        issued.first_unit.store(first, Relaxed);
        issued.units.store(units, Relaxed);
        issued.is_read.store(is_read, Relaxed);
        for (unit, expected) in (first..).zip(&issued.expected).take(units as usize) {
            let word = if is_read { self.ledger.observe(unit).0 } else { u64::from(self.ledger.begin_write(unit)) };
            expected.store(word, Relaxed);
        }
    }

    /// Records that the request has completed; `succeeded` means that it moved all its bytes.
    pub fn end(&self, slot: u32, succeeded: bool) {
        let issued = &self.requests[slot as usize];
        if !issued.is_read.load(Relaxed) {
            let first = issued.first_unit.load(Relaxed);
            for (unit, generation) in (first..).zip(&issued.expected).take(issued.units.load(Relaxed) as usize) {
                self.ledger.end_write(unit, generation.load(Relaxed) as u32, succeeded);
            }
        }
    }

    /// Records that a slot of the bottom engine carries the bytes from `bytes_before` of its request on.
    pub fn cut(&self, slot: u32, bytes_before: u32) {
        self.pieces[slot as usize].units_before.store(bytes_before / UNIT_BYTES as u32, Relaxed);
    }

    /// Fills the data that a slot of the bottom engine is about to write.
    pub fn write_headers(&self, slot: u32, bytes: &mut [u8]) {
        let (first, expected, _) = self.piece(slot);
        for ((number, generation), bytes) in (first..).zip(expected).zip(bytes.chunks_exact_mut(UNIT_BYTES)) {
            unit::write(bytes, self.ledger.header(number, generation.load(Relaxed) as u32));
        }
    }

    /// Checks the `moved` bytes that a read brought into a slot of the bottom engine; returns `moved` if they are
    /// valid.
    ///
    /// # Errors
    /// What is wrong with them: [`Errno::CORRUPT`], [`Errno::MISDIRECTED`], [`Errno::TORN`] or [`Errno::LOST`].
    pub fn verify(&self, slot: u32, bytes: &[u8], moved: u32) -> Result<u32, Errno> {
        let units = bytes[..moved as usize].chunks_exact(UNIT_BYTES);
        self.judge(slot, moved, units.map(|bytes| move |header| unit::verify(bytes, header)))
    }

    /// As [`Self::verify`], over units that report their state when given the header that they should carry.
    ///
    /// # Errors
    /// As [`Self::verify`].
    pub fn judge<U>(&self, slot: u32, moved: u32, units: impl Iterator<Item = U>) -> Result<u32, Errno>
    where
        U: FnOnce(BlockHeader) -> UnitState,
    {
        let (first, expected, is_read) = self.piece(slot);
        if !is_read {
            return Ok(moved);
        }
        let mut fresh = false;
        let mut stale = false;
        let mut torn = false;
        let mut damaged = false;
        let mut misdirected = false;
        for ((number, then), found) in (first..).zip(expected).zip(units) {
            let then = ObservedState(then.load(Relaxed));
            match self.ledger.judge(number, then, found(self.ledger.header(number, then.oldest()))) {
                Judgement::Unknown => {}
                Judgement::Fresh => fresh = true,
                Judgement::Stale => stale = true,
                Judgement::Torn => torn = true,
                Judgement::Misdirected => misdirected = true,
                Judgement::Damaged => damaged = true,
            }
        }
        if moved > 0 && !(fresh || stale || torn || damaged || misdirected) {
            self.unjudged.fetch_add(1, Relaxed);
        }
        match () {
            () if damaged => Err(Errno::CORRUPT),
            () if misdirected => Err(Errno::MISDIRECTED),
            // Some units of the request are up to date and others are not.
            () if torn || (fresh && stale) => Err(Errno::TORN),
            () if stale => Err(Errno::LOST),
            () => Ok(moved),
        }
    }

    /// The headers of the units that a write in a slot of the bottom engine carries.
    pub fn headers(&self, slot: u32) -> impl Iterator<Item = BlockHeader> {
        let (first, expected, _) = self.piece(slot);
        (first..).zip(expected).map(|(unit, generation)| self.ledger.header(unit, generation.load(Relaxed) as u32))
    }

    /// The first unit of the piece in a slot of the bottom engine, what is expected from that unit on, and whether it
    /// is a read.
    fn piece(&self, slot: u32) -> (u64, &[AtomicU64], bool) {
        let piece = &self.pieces[slot as usize];
        let issued = &self.requests[piece.request as usize];
        let before = piece.units_before.load(Relaxed);
        let units = issued.units.load(Relaxed).max(before);
        let expected = &issued.expected[before as usize..units as usize];
        (issued.first_unit.load(Relaxed) + u64::from(before), expected, issued.is_read.load(Relaxed))
    }
}

/// Requests whose bytes are verified.
pub(crate) struct Verified {
    engine: Box<dyn Engine>,
    check: Arc<Check>,
    /// Bytes of the request in each slot.
    lengths: Vec<u32>,
}

impl Verified {
    pub(crate) fn new(engine: Box<dyn Engine>, check: Arc<Check>, depth: u32) -> Self {
        Self { engine, check, lengths: vec![0; depth as usize] }
    }

    fn end(&self, done: &[Completion]) {
        for completion in done {
            self.check.end(completion.slot, completion.result == Ok(self.lengths[completion.slot as usize]));
        }
    }
}

impl Engine for Verified {
    fn now(&self) -> Nanos {
        self.engine.now()
    }

    fn resubmitted_ios(&self) -> u64 {
        self.engine.resubmitted_ios()
    }

    fn unjudged_reads(&self) -> u64 {
        self.check.unjudged.load(Relaxed)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for request in batch {
            self.lengths[request.slot as usize] = request.length;
            self.check.begin(request);
        }
        self.engine.submit(batch)
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        self.engine.reap(least, done)?;
        self.end(&done[before..]);
        Ok(())
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        self.engine.reap_until(until, done)?;
        self.end(&done[before..]);
        Ok(())
    }
}
