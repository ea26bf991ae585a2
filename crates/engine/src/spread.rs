//! Maps the offsets of a span to the places of its pieces on the target.

use std::ops::Range;

use halfpower_spec::{Nanos, Spread};

use crate::{BufferState, Completion, Engine, EngineError, Request};

/// An engine that addresses a span whose pieces are spread over the target.
pub struct SpreadOver {
    engine: Box<dyn Engine>,
    places: Places,
    batch: Vec<Request>,
}

/// Where the pieces of a span lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Places {
    /// At even distances.
    Even(Spread),
    /// In these ranges, one after the other.
    Listed(PieceList),
}

/// Ranges of a target that make one span, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PieceList {
    /// Where each begins in the span, and on the target.
    begins: Vec<(u64, u64)>,
    span_bytes: u64,
}

impl PieceList {
    /// The span of these ranges, of each the whole blocks of `block_bytes`: a request of one block that begins at a multiple
    /// of it stays in one range. `None` if no range holds a block.
    pub fn of_whole(ranges: impl Iterator<Item = Range<u64>>, block_bytes: u64) -> Option<Self> {
        let mut span_bytes = 0;
        let mut begins = Vec::new();
        for range in ranges {
            let length = range.end.saturating_sub(range.start);
            let whole = length - length % block_bytes.max(1);
            if whole > 0 {
                begins.push((span_bytes, range.start));
                span_bytes += whole;
            }
        }
        (span_bytes > 0).then_some(Self { begins, span_bytes })
    }

    /// Bytes of the span.
    pub fn span_bytes(&self) -> u64 {
        self.span_bytes
    }

    /// Whether each of its ranges begins at a multiple of `unit`.
    pub fn begins_at_multiples_of(&self, unit: u64) -> bool {
        self.begins.iter().all(|(_, place)| place.is_multiple_of(unit.max(1)))
    }

    /// Offset on the target of a byte of the span.
    #[inline]
    fn place(&self, offset: u64) -> u64 {
        // The first range begins at 0.
        let at = self.begins.partition_point(|(begin, _)| *begin <= offset).max(1) - 1;
        let (begin, place) = self.begins[at];
        place + (offset - begin)
    }
}

impl From<Spread> for Places {
    fn from(spread: Spread) -> Self {
        Self::Even(spread)
    }
}

impl Places {
    #[inline]
    fn place(&self, offset: u64) -> u64 {
        match self {
            Self::Even(spread) => spread.place(offset),
            Self::Listed(list) => list.place(offset),
        }
    }
}

impl SpreadOver {
    /// Wraps `engine` with `depth` slots for a span whose pieces lie at `places`.
    pub fn new(engine: Box<dyn Engine>, places: impl Into<Places>, depth: u32) -> Self {
        Self { engine, places: places.into(), batch: Vec::with_capacity(depth as usize) }
    }
}

impl Engine for SpreadOver {
    fn now(&self) -> Nanos {
        self.engine.now()
    }

    fn settle(&mut self) -> Result<(), EngineError> {
        self.engine.settle()
    }

    fn buffers(&self) -> BufferState {
        self.engine.buffers()
    }

    fn resubmitted_ios(&self) -> u64 {
        self.engine.resubmitted_ios()
    }

    fn unjudged_reads(&self) -> u64 {
        self.engine.unjudged_reads()
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        let places = &self.places;
        self.batch.clear();
        self.batch.extend(batch.iter().map(|request| Request { offset: places.place(request.offset), ..*request }));
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

    #[test]
    fn listed_pieces_make_one_span_of_whole_blocks() {
        let list = PieceList::of_whole([100..109, 300..302, 200..208].into_iter(), 4).unwrap();
        assert_eq!(list.span_bytes(), 16, "a range of less than a block is left out");
        assert_eq!([0, 4, 7, 8, 15].map(|offset| list.place(offset)), [100, 104, 107, 200, 207]);
        assert!(list.begins_at_multiples_of(100) && !list.begins_at_multiples_of(200));
        assert_eq!(PieceList::of_whole(std::iter::once(0..3), 4), None);
    }
}
