//! Checks the bytes of each request, between whoever issues it and the engine that moves its bytes.
//!
//! The issuer (`verified.rs`) enters which part of the target a slot carries and what may be there; a volume in between
//! enters which part of that each of its pieces is. The engine at the bottom, which has the buffers, writes what goes out
//! and verifies what has come in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::errno::Errno;
use crate::ledger::{Judgement, Ledger, ObservedState};
use crate::unit::{self, BlockHeader, UNIT_BYTES, UnitState};
use crate::{Operation, Request};

/// The agreement of one lane. Submitting orders what is entered here before what is read from it, so that nothing else
/// has to.
pub(crate) struct Check {
    ledger: Arc<Ledger>,
    /// One for each request's slot.
    requests: Vec<CheckedRequest>,
    /// One for each slot of the engine at the bottom.
    pieces: Vec<SlotPiece>,
}

/// What a slot carries.
struct CheckedRequest {
    first_unit: AtomicU64,
    units: AtomicU32,
    is_read: AtomicBool,
    /// For each unit of a write its generation; of a read how it stood when it began.
    expected: Vec<AtomicU64>,
}

/// Which part of a request a slot at the bottom carries.
struct SlotPiece {
    request: u32,
    units_before: AtomicU32,
}

impl Check {
    /// For requests of at most `bs` bytes in `depth` slots; `request_of_slot` tells for each slot at the bottom whose
    /// pieces it carries.
    pub fn new(ledger: Arc<Ledger>, depth: u32, bs: u64, request_of_slot: impl Iterator<Item = u32>) -> Self {
        let units = bs as usize / UNIT_BYTES;
        let issued = || CheckedRequest {
            first_unit: AtomicU64::new(0),
            units: AtomicU32::new(0),
            is_read: AtomicBool::new(false),
            expected: (0..units).map(|_| AtomicU64::new(0)).collect(),
        };
        let piece = |request| SlotPiece { request, units_before: AtomicU32::new(0) };
        Self { ledger, requests: (0..depth).map(|_| issued()).collect(), pieces: request_of_slot.map(piece).collect() }
    }

    /// A request goes out.
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

    /// It has come back; `succeeded` says that all of it was done.
    pub fn end(&self, slot: u32, succeeded: bool) {
        let issued = &self.requests[slot as usize];
        if !issued.is_read.load(Relaxed) {
            let first = issued.first_unit.load(Relaxed);
            for (unit, generation) in (first..).zip(&issued.expected).take(issued.units.load(Relaxed) as usize) {
                self.ledger.end_write(unit, generation.load(Relaxed) as u32, succeeded);
            }
        }
    }

    /// A slot at the bottom carries what comes `bytes_before` bytes into its request.
    pub fn cut(&self, slot: u32, bytes_before: u32) {
        self.pieces[slot as usize].units_before.store(bytes_before / UNIT_BYTES as u32, Relaxed);
    }

    /// Fills what a slot at the bottom is about to write.
    pub fn write_headers(&self, slot: u32, bytes: &mut [u8]) {
        let (first, expected, _) = self.piece(slot);
        for ((number, generation), bytes) in (first..).zip(expected).zip(bytes.chunks_exact_mut(UNIT_BYTES)) {
            unit::write(bytes, self.ledger.header(number, generation.load(Relaxed) as u32));
        }
    }

    /// Looks at the `moved` bytes that came into a slot at the bottom, where it was a read; gives them back if they are
    /// what may be there.
    ///
    /// # Errors
    /// What is wrong with them: [`Errno::CORRUPT`], [`Errno::MISDIRECTED`], [`Errno::TORN`] or [`Errno::LOST`].
    pub fn verify(&self, slot: u32, bytes: &[u8], moved: u32) -> Result<u32, Errno> {
        let units = bytes[..moved as usize].chunks_exact(UNIT_BYTES);
        self.judge(slot, moved, units.map(|bytes| move |header| unit::verify(bytes, header)))
    }

    /// The same of units that tell what they are when they are held against the header that they should carry.
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
        let (mut fresh, mut stale, mut torn) = (false, false, false);
        let (mut damaged, mut misdirected) = (false, false);
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
        match () {
            () if damaged => Err(Errno::CORRUPT),
            () if misdirected => Err(Errno::MISDIRECTED),
            // One part of a request is there and another is not.
            () if torn || (fresh && stale) => Err(Errno::TORN),
            () if stale => Err(Errno::LOST),
            () => Ok(moved),
        }
    }

    /// The headers that the units of a write at the bottom carry.
    pub fn headers(&self, slot: u32) -> impl Iterator<Item = BlockHeader> {
        let (first, expected, _) = self.piece(slot);
        (first..).zip(expected).map(|(unit, generation)| self.ledger.header(unit, generation.load(Relaxed) as u32))
    }

    /// The first unit of the piece in a slot at the bottom, what is expected from there on, and whether it is a read.
    fn piece(&self, slot: u32) -> (u64, &[AtomicU64], bool) {
        let piece = &self.pieces[slot as usize];
        let issued = &self.requests[piece.request as usize];
        let before = piece.units_before.load(Relaxed);
        let units = issued.units.load(Relaxed).max(before);
        let expected = &issued.expected[before as usize..units as usize];
        (issued.first_unit.load(Relaxed) + u64::from(before), expected, issued.is_read.load(Relaxed))
    }
}
