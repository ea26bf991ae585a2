//! Drives several simulated disks independently.
//!
//! Real members each have their own lane. In virtual time there is one clock, so one lane drives all members: each slot
//! belongs to one member and its requests go only there, which keeps every member at its own depth.

use std::ops::Range;

use halfpower_engine::{Completion, Engine, EngineError, Operation, Request};
use halfpower_spec::{Nanos, Spread};

pub struct EachMember<E> {
    engine: E,
    /// Distance between the first bytes of two members.
    stride: u64,
    members: u32,
    /// Sequential streams, one for each member; `None` leaves offsets as they are.
    streams: Option<Streams>,
    /// Where the pieces of a member's span lie; `None` if it is contiguous.
    spread: Option<Spread>,
    batch: Vec<Request>,
}

/// One stream for each member, which goes round in a range of that member.
struct Streams {
    /// Slots below this one belong to the streams.
    slots: u32,
    range: Range<u64>,
    /// Bytes from where a request begins to where the next one does; less than its length lets it follow at once.
    step: u64,
    /// Offset of each stream's next request.
    next: Vec<u64>,
}

impl<E: Engine> EachMember<E> {
    /// Drives `members` disks that lie `stride` bytes apart on `engine`.
    pub fn new(engine: E, members: u32, stride: u64) -> Self {
        Self { engine, stride, members, streams: None, spread: None, batch: Vec::new() }
    }

    /// The same, with the span of each member spread in pieces.
    pub fn spread(self, spread: Option<Spread>) -> Self {
        Self { spread, ..self }
    }

    /// The same, with a sequential stream for the first `slots` slots in `range` of each member, whose requests begin `step`
    /// bytes apart, or follow each other (0).
    pub fn streaming(self, slots: u32, range: Range<u64>, step: u64) -> Self {
        let next = vec![range.start; self.members as usize];
        Self { streams: Some(Streams { slots, range, step, next }), ..self }
    }

    fn on_member(&mut self, request: &Request) -> Request {
        let member = request.slot % self.members;
        let mut offset = request.offset;
        if let Some(streams) = self.streams.as_mut().filter(|streams| request.slot < streams.slots) {
            let next = &mut streams.next[member as usize];
            let length = u64::from(request.length);
            offset = if *next + length > streams.range.end { streams.range.start } else { *next };
            *next = offset + length.max(streams.step);
        }
        let offset = self.spread.map_or(offset, |spread| spread.place(offset));
        Request { offset: u64::from(member) * self.stride + offset, ..*request }
    }
}

impl<E: Engine> Engine for EachMember<E> {
    fn now(&self) -> Nanos {
        self.engine.now()
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        self.batch.clear();
        for request in batch {
            let request = if request.operation == Operation::Flush { *request } else { self.on_member(request) };
            self.batch.push(request);
        }
        self.engine.submit(&self.batch)
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.engine.reap(least, done)
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.engine.reap_until(until, done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records the requests that it gets.
    #[derive(Default)]
    struct Log(Vec<(u32, u64)>);

    impl Engine for Log {
        fn now(&self) -> Nanos {
            Nanos(0)
        }

        fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
            self.0.extend(batch.iter().map(|request| (request.slot, request.offset)));
            Ok(())
        }

        fn reap(&mut self, _: usize, _: &mut Vec<Completion>) -> Result<(), EngineError> {
            Ok(())
        }
    }

    fn asked(each: EachMember<Log>, slots: &[u32]) -> Vec<(u32, u64)> {
        let mut each = each;
        let request = |slot: &u32| Request { slot: *slot, operation: Operation::Read, offset: 130, length: 20 };
        each.submit(&slots.iter().map(request).collect::<Vec<_>>()).unwrap();
        each.engine.0
    }

    #[test]
    fn each_member_has_a_stream_of_its_own_that_goes_round() {
        let each = EachMember::new(Log::default(), 2, 1000).streaming(4, 100..150, 0);
        let expected = [(0, 100), (1, 1100), (2, 120), (2, 100), (3, 1120), (4, 130)];
        assert_eq!(asked(each, &[0, 1, 2, 2, 3, 4]), expected, "slot 4 is none of the streams'");
        let strided = EachMember::new(Log::default(), 2, 1000).streaming(4, 100..190, 40);
        assert_eq!(asked(strided, &[0, 0, 1, 0]), [(0, 100), (0, 140), (1, 1100), (0, 100)]);
    }

    #[test]
    fn random_requests_stay_where_they_were_drawn_on_their_slots_member() {
        let each = EachMember::new(Log::default(), 2, 1000);
        assert_eq!(asked(each, &[0, 1, 3]), [(0, 130), (1, 1130), (3, 1130)]);
    }
}
