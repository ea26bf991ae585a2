//! Cuts requests into pieces for the members of a volume, and completes a request when all its pieces are complete.

use std::sync::Arc;

use halfpower_spec::Nanos;

use crate::check::Check;
use crate::{Completion, Engine, EngineError, Errno, Operation, Request};

/// Pieces of requests to all members over one engine, so that a single wait serves every member.
pub(crate) struct Pieces {
    engine: Box<dyn Engine>,
    check: Option<Arc<Check>>,
    slot_layout: SlotLayout,
    /// The state of the request in each slot.
    whole: Vec<Whole>,
    /// Requests that are not complete.
    in_flight: usize,
    /// Pieces in flight to each member.
    pub under_way: Vec<u32>,
    /// Bytes of the pieces in flight, over all members.
    pub bytes_under_way: u64,
    batch: Vec<Request>,
    done: Vec<Completion>,
    /// The request and the member that each slot of the engine belongs to.
    owner: Vec<SlotOwner>,
}

/// How the engine's slots are divided among requests and members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotLayout {
    /// Number of request slots.
    pub depth: u32,
    pub members: u32,
    /// Most pieces of one request on one member.
    pub each: u32,
}

#[derive(Debug, Clone, Copy)]
struct SlotOwner {
    slot: u32,
    member: u32,
    /// Bytes of the piece in this slot.
    bytes: u32,
}

/// The progress of a request.
#[derive(Debug, Clone, Copy, Default)]
struct Whole {
    /// Pieces in flight.
    left: u32,
    /// Bytes requested.
    length: u32,
    /// Bytes that the pieces did not move.
    lacking: u32,
    error: Option<Errno>,
}

/// A part of a request for one member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemberPiece {
    pub member: u32,
    /// Index of the piece among the request's pieces on this member.
    pub nth: u32,
    /// Where it begins on the member.
    pub offset: u64,
    pub length: u32,
    /// Bytes of the request before this piece.
    pub before: u32,
}

impl SlotLayout {
    /// Number of slots of the engine.
    pub fn count(self) -> u32 {
        self.members.saturating_mul(self.depth).saturating_mul(self.each)
    }

    /// The request slot of each slot of the engine, in order.
    pub fn owners(self) -> impl Iterator<Item = u32> {
        let pieces = move |slot| std::iter::repeat_n(slot, self.each as usize);
        (0..self.members).flat_map(move |_| (0..self.depth).flat_map(pieces))
    }

    fn slot(self, slot: u32, piece: &MemberPiece) -> u32 {
        (piece.member * self.depth + slot) * self.each + piece.nth
    }
}

impl Pieces {
    pub fn new(engine: Box<dyn Engine>, slot_layout: SlotLayout, check: Option<Arc<Check>>) -> Self {
        let count = slot_layout.count() as usize;
        let member = |slot: usize| (slot as u32) / (slot_layout.depth * slot_layout.each);
        let owner = |(at, slot)| SlotOwner { slot, member: member(at), bytes: 0 };
        Self {
            engine,
            check,
            slot_layout,
            whole: vec![Whole::default(); slot_layout.depth as usize],
            in_flight: 0,
            under_way: vec![0; slot_layout.members as usize],
            bytes_under_way: 0,
            batch: Vec::with_capacity(count),
            done: Vec::with_capacity(count),
            owner: slot_layout.owners().enumerate().map(owner).collect(),
        }
    }

    pub fn now(&self) -> Nanos {
        self.engine.now()
    }

    /// As [`Engine::resubmitted_ios`], counted in pieces.
    pub fn resubmitted_ios(&self) -> u64 {
        self.engine.resubmitted_ios()
    }

    /// Begins a request; its pieces follow.
    #[inline]
    pub fn begin(&mut self, request: &Request) {
        self.whole[request.slot as usize] = Whole { length: bytes_of(request, request.length), ..Whole::default() };
        self.in_flight += 1;
    }

    /// Adds a piece of a request to the batch of the next [`Pieces::send`].
    #[inline]
    pub fn add(&mut self, request: &Request, piece: &MemberPiece) {
        let slot = self.slot_layout.slot(request.slot, piece);
        let MemberPiece { offset, length, .. } = *piece;
        self.batch.push(Request { slot, offset, length, ..*request });
        self.whole[request.slot as usize].left += 1;
        self.under_way[piece.member as usize] += 1;
        let bytes = bytes_of(request, length);
        self.bytes_under_way += u64::from(bytes);
        self.owner[slot as usize].bytes = bytes;
        if let Some(check) = &self.check {
            check.cut(slot, piece.before);
        }
    }

    /// Adds the same request for every member, for example a flush.
    pub fn add_for_all(&mut self, request: &Request) {
        for member in 0..self.slot_layout.members {
            self.add(
                request,
                &MemberPiece { member, nth: 0, offset: request.offset, length: request.length, before: 0 },
            );
        }
    }

    /// Submits the batch.
    ///
    /// # Errors
    /// As [`Engine::submit`].
    #[inline]
    pub fn send(&mut self) -> Result<(), EngineError> {
        self.engine.submit(&self.batch)?;
        self.batch.clear();
        Ok(())
    }

    /// As [`Engine::reap`], for whole requests.
    ///
    /// # Errors
    /// As [`Engine::reap`].
    pub fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let least = done.len() + least.min(self.in_flight);
        loop {
            let wanted = if done.len() < least { self.fewest_left() } else { 0 };
            self.done.clear();
            self.engine.reap(wanted, &mut self.done)?;
            let came = self.take_all(done);
            if done.len() >= least || came == 0 {
                return Ok(());
            }
        }
    }

    /// As [`Engine::reap_until`], for whole requests.
    ///
    /// # Errors
    /// As [`Engine::reap_until`].
    pub fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        loop {
            self.done.clear();
            self.engine.reap_until(until, &mut self.done)?;
            self.take_all(done);
            if !done.is_empty() || self.engine.now() >= until {
                return Ok(());
            }
        }
    }

    /// Takes the completions of pieces and returns their number.
    fn take_all(&mut self, done: &mut Vec<Completion>) -> usize {
        let came = self.done.len();
        for at in 0..came {
            let completion = self.done[at];
            self.take(completion, done);
        }
        came
    }

    /// Least number of pieces that must complete before any request is complete.
    fn fewest_left(&self) -> usize {
        let left = self.whole.iter().map(|whole| whole.left).filter(|left| *left > 0);
        left.min().unwrap_or(0) as usize
    }

    #[inline]
    fn take(&mut self, completion: Completion, done: &mut Vec<Completion>) {
        let SlotOwner { slot, member, bytes } = self.owner[completion.slot as usize];
        self.under_way[member as usize] -= 1;
        self.bytes_under_way -= u64::from(bytes);
        let whole = &mut self.whole[slot as usize];
        whole.left -= 1;
        match completion.result {
            Ok(moved) => whole.lacking += bytes.saturating_sub(moved),
            Err(errno) => whole.error = whole.error.or(Some(errno)),
        }
        if whole.left == 0 {
            self.in_flight -= 1;
            let moved = whole.length.saturating_sub(whole.lacking);
            done.push(Completion { slot, result: whole.error.map_or(Ok(moved), Err) });
        }
    }
}

/// Bytes that a request is meant to move: none for a flush, whatever its length.
fn bytes_of(request: &Request, length: u32) -> u32 {
    if request.operation == Operation::Flush { 0 } else { length }
}
