//! Joins members to a stripe: the members hold the target's chunks in turn.

use std::sync::Arc;

use halfpower_spec::{Bytes, Nanos};

use crate::check::Check;
use crate::pieces::{MemberPiece, Pieces, SlotLayout};
use crate::{Completion, Engine, EngineError, Operation, Request};

/// Spreads requests over members, chunk by chunk (RAID 0).
pub(crate) struct Stripe {
    pieces: Pieces,
    chunk: u64,
    members: u64,
}

impl Stripe {
    /// The slot layout for `depth` requests of `bs` bytes at any offset over `members`, and the bytes of a slot.
    pub(crate) fn slot_layout(depth: u32, bs: Bytes, chunk: Bytes, members: u32) -> (SlotLayout, Bytes) {
        // A request may begin at the last byte of a chunk.
        let most = (bs.0 - 1).div_ceil(chunk.0) + 1;
        let each = most.div_ceil(u64::from(members)) as u32;
        (SlotLayout { depth, members, each }, bs.min(chunk))
    }

    pub(crate) fn new(
        engine: Box<dyn Engine>,
        slot_layout: SlotLayout,
        chunk: Bytes,
        check: Option<Arc<Check>>,
    ) -> Self {
        Self {
            chunk: chunk.0,
            members: u64::from(slot_layout.members),
            pieces: Pieces::new(engine, slot_layout, check),
        }
    }

    fn cut(&mut self, request: &Request) {
        let Self { pieces, chunk, members } = self;
        let mut row = request.offset / *chunk / *members;
        let mut member = request.offset / *chunk % *members;
        let first = member;
        let mut within = request.offset % *chunk;
        let mut before = 0;
        let mut nth = 0;
        while before < request.length {
            let length = (*chunk - within).min(u64::from(request.length - before)) as u32;
            let offset = row * *chunk + within;
            pieces.add(request, &MemberPiece { member: member as u32, nth, offset, length, before });
            (before, within, member) = (before + length, 0, member + 1);
            if member == *members {
                (member, row) = (0, row + 1);
            }
            nth += u32::from(member == first);
        }
    }
}

impl Engine for Stripe {
    fn now(&self) -> Nanos {
        self.pieces.now()
    }

    fn resubmitted_ios(&self) -> u64 {
        self.pieces.resubmitted_ios()
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for request in batch {
            self.pieces.begin(request);
            match request.operation {
                Operation::Flush => self.pieces.add_for_all(request),
                Operation::Read | Operation::Write | Operation::Trim => self.cut(request),
            }
        }
        self.pieces.send()
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.pieces.reap(least, done)
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.pieces.reap_until(until, done)
    }
}
