//! Spreads a span in equal pieces over a whole target, so that a small part represents all of it.

use std::ops::Range;

use crate::Bytes;

/// Largest piece, in bytes: a stream over pieces of this size spends little time between pieces, even on disks with
/// heads.
const MOST_PIECE_BYTES: u64 = 64 << 20;
/// Smallest piece, in bytes. Pieces begin at multiples of it.
const LEAST_PIECE_BYTES: u64 = 1 << 20;
/// Number of pieces to aim for, so that requests reach all parts of the target.
const ENOUGH_PIECES: u64 = 16;

/// Places of the pieces of a span: the first at the target's start, the last at its end, the others evenly between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// First byte of the first piece.
    first_byte: u64,
    /// Bytes of a piece; the last may hold fewer.
    piece_bytes: u64,
    /// Bytes from the start of a piece to the start of the next: at least two pieces, or one piece of every process.
    stride_bytes: u64,
    /// Whether another process's piece begins where a piece ends.
    is_shared: bool,
}

impl Spread {
    /// Spreads `span_bytes` over a target of `whole_bytes`.
    ///
    /// # Errors
    /// The reason why the span cannot be spread, as a phrase that follows the target's name.
    pub fn over(span_bytes: u64, whole_bytes: u64) -> Result<Self, String> {
        let enough = |piece: &u64| span_bytes / piece >= ENOUGH_PIECES;
        let sizes = std::iter::successors(Some(MOST_PIECE_BYTES), |piece| Some(piece / 2));
        let piece_bytes =
            sizes.take_while(|piece| *piece > LEAST_PIECE_BYTES).find(enough).unwrap_or(LEAST_PIECE_BYTES);
        let pieces = span_bytes.div_ceil(piece_bytes);
        if pieces < 2 {
            let span = Bytes(span_bytes);
            let piece = Bytes(LEAST_PIECE_BYTES);
            return Err(format!(
                "cannot have {span} spread over it, since a piece has {piece}: ask for a larger --size"
            ));
        }
        if pieces.saturating_mul(piece_bytes).saturating_mul(2) > whole_bytes {
            let span = Bytes(span_bytes);
            let whole = Bytes(whole_bytes);
            return Err(format!(
                "holds {whole}, and {span} in pieces of {} have no room between them: ask for a --size below half of it, \
                 or leave --spread out",
                Bytes(piece_bytes)
            ));
        }
        let stride_bytes = (whole_bytes - piece_bytes) / (pieces - 1);
        let stride_bytes = stride_bytes - stride_bytes % LEAST_PIECE_BYTES;
        Ok(Self { first_byte: 0, piece_bytes, stride_bytes, is_shared: false })
    }

    /// The part of process `rank` out of `of` processes with `span_bytes` each: one part after the other, or striped in
    /// chunks of `interleave` bytes.
    pub fn of_process(rank: u32, of: u32, span_bytes: u64, interleave: Option<Bytes>) -> Self {
        let piece_bytes = interleave.map_or(span_bytes, |interleave| interleave.0).max(1);
        Self {
            first_byte: piece_bytes * u64::from(rank),
            piece_bytes,
            stride_bytes: piece_bytes * u64::from(of),
            is_shared: true,
        }
    }

    /// Whether every request of `bytes` that begins at a multiple of `bytes` stays in its piece or the gap after it.
    pub fn admits(&self, bytes: u64, span_bytes: u64) -> bool {
        let is_whole = !self.is_shared || self.piece_bytes >= span_bytes || self.piece_bytes.is_multiple_of(bytes);
        bytes <= self.piece_bytes && is_whole
    }

    /// Bytes of a piece. A request up to this size that begins in a piece ends before the next piece begins.
    pub fn piece_bytes(&self) -> u64 {
        self.piece_bytes
    }

    /// Number of pieces in a span of `span_bytes`.
    pub fn pieces(&self, span_bytes: u64) -> u64 {
        span_bytes.div_ceil(self.piece_bytes)
    }

    /// Offset on the target of a byte of the span.
    #[inline]
    pub fn place(&self, offset: u64) -> u64 {
        self.first_byte + (offset / self.piece_bytes) * self.stride_bytes + offset % self.piece_bytes
    }

    /// Ranges on the target that hold a part of the span.
    pub fn places(&self, part: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
        let this = *self;
        let part = part.clone();
        let pieces = part.start / this.piece_bytes..part.end.div_ceil(this.piece_bytes);
        pieces.map(move |piece| {
            let from = piece * this.piece_bytes;
            let to = (piece + 1) * this.piece_bytes;
            let from = from.max(part.start);
            this.place(from)..this.place(from) + (to.min(part.end) - from)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn pieces_reach_from_the_first_byte_to_the_last_and_keep_apart() {
        for (span, whole) in [(2, 4), (16, 33), (100, 1000), (1024, 1 << 20), (1 << 20, 3 << 20), (3, 1000)] {
            let spread = Spread::over(span * MIB + 5, (whole + 3) * MIB + 7).unwrap();
            let places: Vec<Range<u64>> = spread.places(&(0..span * MIB + 5)).collect();
            assert_eq!(places[0].start, 0);
            let end = places.last().unwrap().end;
            let slack = places.len() as u64 * MIB + spread.piece_bytes();
            assert!(end <= (whole + 3) * MIB + 7 && end + slack >= whole * MIB, "{span} of {whole}: {end}");
            assert_eq!(places.iter().map(|place| place.end - place.start).sum::<u64>(), span * MIB + 5);
            assert!(places.windows(2).all(|pair| pair[1].start - pair[0].start >= 2 * spread.piece_bytes()));
            assert!(places.iter().all(|place| place.start.is_multiple_of(MIB)));
        }
    }

    #[test]
    fn a_byte_lies_where_its_part_does() {
        let spread = Spread::over(64 * MIB, 1024 * MIB).unwrap();
        assert_eq!(spread.piece_bytes(), 4 * MIB);
        for offset in [0, 1, 4 * MIB - 1, 4 * MIB, 33 * MIB + 17] {
            let parts: Vec<Range<u64>> = spread.places(&(offset..offset + 1)).collect();
            assert_eq!(parts.len(), 1);
            assert_eq!(parts[0], spread.place(offset)..spread.place(offset) + 1);
        }
        assert_eq!(spread.place(60 * MIB), 1020 * MIB, "the last piece ends with the target");
    }

    #[test]
    fn parts_of_processes_are_disjoint_and_fill_the_file() {
        for interleave in [None, Some(Bytes(MIB)), Some(Bytes(2 * MIB))] {
            let mut places: Vec<Range<u64>> = (0..3)
                .flat_map(|rank| Spread::of_process(rank, 3, 4 * MIB, interleave).places(&(0..4 * MIB)))
                .collect();
            places.sort_by_key(|place| place.start);
            assert_eq!((places[0].start, places.last().unwrap().end), (0, 12 * MIB));
            assert!(places.windows(2).all(|pair| pair[0].end == pair[1].start), "{places:?}");
        }
        let second = Spread::of_process(1, 4, 8 * MIB, Some(Bytes(MIB)));
        assert_eq!([0, MIB - 1, MIB, 2 * MIB + 5].map(|at| second.place(at)), [MIB, 2 * MIB - 1, 5 * MIB, 9 * MIB + 5]);
        assert!(second.admits(MIB, 8 * MIB) && second.admits(65_536, 8 * MIB));
        assert!(!second.admits(2 * MIB, 8 * MIB) && !second.admits(24_576, 8 * MIB));
        assert!(Spread::of_process(1, 4, 8 * MIB, None).admits(24_576, 8 * MIB));
    }

    #[test]
    fn what_has_no_room_is_refused() {
        assert!(Spread::over(600 * MIB, 1000 * MIB).unwrap_err().contains("below half"));
        assert!(Spread::over(MIB, 1000 * MIB).unwrap_err().contains("larger --size"));
    }
}
