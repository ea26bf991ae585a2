//! Joins two members to a mirror: writes go to both members, reads to one of them or, split, to both.
//!
//! The choice of member follows TwinStor's rule (Horst 1999, described in Chung et al. 2000, section 8.4). A read of
//! 256 KiB or more, or a sequential read with 256 KiB outstanding, is split by position: the members read alternate
//! units. Any other sequential read goes to the member of the read before it. All others go to the member with fewer
//! requests in flight, so that two requests use two disk arms.

use std::sync::Arc;

use halfpower_spec::{Bytes, Nanos};

use crate::check::Check;
use crate::pieces::{MemberPiece, Pieces, SlotLayout};
use crate::{Completion, Engine, EngineError, Operation, Request};

/// Bytes in one read, or outstanding in sequential reads, from which reads are split by position.
const TURNS_FROM: u64 = 256 << 10;
/// Number of members.
const COPIES: u32 = 2;

/// Sends the same bytes to two members (RAID 1).
pub(crate) struct Mirror {
    pieces: Pieces,
    /// The only member to read from; `None` applies TwinStor's rule.
    only: Option<u32>,
    /// Bytes that one member reads before the other takes over.
    turn: u64,
    /// Where the last read ended, and which member read it.
    last: (u64, u32),
}

impl Mirror {
    /// The slot layout for `depth` requests of `bs` bytes at any offset.
    pub(crate) fn slot_layout(depth: u32, bs: Bytes) -> SlotLayout {
        // A turn is at least half of such a request. So a request has at most three parts, and at most two on one
        // member.
        let each = if bs.0 > TURNS_FROM { 2 } else { 1 };
        SlotLayout { depth, members: COPIES, each }
    }

    pub(crate) fn new(
        engine: Box<dyn Engine>,
        slot_layout: SlotLayout,
        bs: Bytes,
        only: Option<u32>,
        check: Option<Arc<Check>>,
    ) -> Self {
        let turn = (bs.0 / 2).next_multiple_of(TURNS_FROM).max(TURNS_FROM);
        Self { pieces: Pieces::new(engine, slot_layout, check), only, turn, last: (u64::MAX, 0) }
    }

    fn read(&mut self, request: &Request) {
        let Request { offset, length, .. } = *request;
        let outstanding = self.pieces.bytes_under_way + u64::from(length);
        let goes_on = offset == self.last.0;
        let whole = |member| MemberPiece { member, nth: 0, offset, length, before: 0 };
        let member = match self.only {
            Some(member) => member,
            None if u64::from(length) >= TURNS_FROM || (goes_on && outstanding >= TURNS_FROM) => {
                return self.read_in_turns(request);
            }
            None if goes_on => self.last.1,
            None => self.less_busy(),
        };
        self.last = (offset + u64::from(length), member);
        self.pieces.add(request, &whole(member));
    }

    fn read_in_turns(&mut self, request: &Request) {
        let mut before = 0;
        let mut nth = [0; COPIES as usize];
        while before < request.length {
            let offset = request.offset + u64::from(before);
            let length = (self.turn - offset % self.turn).min(u64::from(request.length - before)) as u32;
            let member = (offset / self.turn % u64::from(COPIES)) as u32;
            self.pieces.add(request, &MemberPiece { member, nth: nth[member as usize], offset, length, before });
            nth[member as usize] += 1;
            before += length;
            self.last = (offset + u64::from(length), member);
        }
    }

    /// The member with fewer requests in flight; with equal counts the one that did not read last.
    fn less_busy(&self) -> u32 {
        match self.pieces.under_way[0].cmp(&self.pieces.under_way[1]) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => 1 - self.last.1,
            std::cmp::Ordering::Greater => 1,
        }
    }
}

impl Engine for Mirror {
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
                Operation::Flush | Operation::Write | Operation::Trim => self.pieces.add_for_all(request),
                Operation::Read => self.read(request),
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
