//! Writes and verifies units of 512 bytes: a header, bytes derived from the header, and a checksum.
//!
//! A unit has 512 bytes, the smallest size that storage addresses. It has 64 words: the first three are the header, the
//! last is the checksum.

/// Least bytes of each part of a torn unit: the header and some of the bytes derived from it.
const LEAST_PART: usize = 32;

/// Bytes of a unit.
pub const UNIT_BYTES: usize = 512;
const WORDS: usize = UNIT_BYTES / 8;
/// Words that the checksum covers: all but the checksum itself.
const COVERED: usize = WORDS - 1;

/// The identity of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    /// Index of the unit in the target.
    pub number: u64,
    /// Epoch of its layout; no two layouts have the same.
    pub epoch: u64,
    /// Which write to this unit it comes from.
    pub generation: u32,
}

/// What a reader found in place of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnitState {
    /// A unit with a correct checksum.
    Whole(BlockHeader),
    /// Only zeros, as in a unit that was never written.
    Zeros,
    /// The beginning of one write to this unit and the end of another.
    Torn,
    /// Anything else.
    Damaged,
}

/// Fills `unit`, which is [`UNIT_BYTES`] long.
pub(crate) fn write(unit: &mut [u8], header: BlockHeader) {
    let mut sum = START;
    for (word, bytes) in words(header).zip(unit.chunks_exact_mut(8)) {
        bytes.copy_from_slice(&word.to_le_bytes());
        sum = add(sum, word);
    }
    unit[COVERED * 8..].copy_from_slice(&sum.to_le_bytes());
}

/// The state of the unit that should carry `header` or a generation next to it.
pub(crate) fn verify(unit: &[u8], header: BlockHeader) -> UnitState {
    let sum = read_words(unit).take(COVERED).fold(START, add);
    let mut first = read_words(unit);
    let number = first.next();
    let epoch = first.next();
    let generation = first.next();
    if read_words(unit).nth(COVERED) == Some(sum)
        && let (Some(number), Some(epoch), Some(generation)) = (number, epoch, generation)
    {
        return UnitState::Whole(BlockHeader { number, epoch, generation: generation as u32 });
    }
    if unit.iter().all(|byte| *byte == 0) {
        UnitState::Zeros
    } else if is_torn(unit, header) {
        UnitState::Torn
    } else {
        UnitState::Damaged
    }
}

/// Whether the unit begins as one generation near `header` wrote it and ends as another did.
fn is_torn(unit: &[u8], header: BlockHeader) -> bool {
    let near = [0, 1, 2].map(|back| BlockHeader { generation: (header.generation + 1).wrapping_sub(back), ..header });
    let alike = |header: BlockHeader| {
        let mut written = [0; UNIT_BYTES];
        write(&mut written, header);
        let front = unit.iter().zip(&written).take_while(|(found, written)| found == written).count();
        let back = unit.iter().rev().zip(written.iter().rev()).take_while(|(found, written)| found == written).count();
        (front, back)
    };
    let alike = near.map(alike);
    // Both parts must be longer than what a single flipped bit in the header or checksum could imitate.
    let parts = |front: usize, back: usize| front >= LEAST_PART && back >= LEAST_PART && front + back >= UNIT_BYTES;
    alike.iter().any(|(front, _)| alike.iter().any(|(_, back)| parts(*front, *back)))
}

/// The covered words of a unit: its header and the words derived from it.
fn words(header: BlockHeader) -> impl Iterator<Item = u64> {
    let BlockHeader { number, epoch, generation } = header;
    let mut state = mixed(mixed(epoch).wrapping_add(number)).wrapping_add(u64::from(generation));
    let body = std::iter::repeat_with(move || {
        state = state.wrapping_add(STEP);
        mixed(state)
    });
    [number, epoch, u64::from(generation)].into_iter().chain(body).take(COVERED)
}

fn read_words(unit: &[u8]) -> impl Iterator<Item = u64> {
    unit.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
}

/// Start value of the checksum; not 0, so that zeros are not a valid unit.
const START: u64 = 0x6861_6c66_706f_7765;
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Adds a word to a checksum. Each step is a bijection of the sum and of the word, so any single changed word is
/// detected; any other change goes undetected with probability 2^-64.
fn add(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(STEP).rotate_left(29)
}

/// The output function of SplitMix64 (Steele, Lea and Flood, 2014).
fn mixed(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: BlockHeader = BlockHeader { number: 77, epoch: 5, generation: 3 };

    fn written_unit(header: BlockHeader) -> [u8; UNIT_BYTES] {
        let mut unit = [0; UNIT_BYTES];
        write(&mut unit, header);
        unit
    }

    #[test]
    fn a_unit_says_what_it_is() {
        assert_eq!(verify(&written_unit(HEADER), HEADER), UnitState::Whole(HEADER));
        let other = BlockHeader { number: 78, ..HEADER };
        assert_eq!(verify(&written_unit(other), HEADER), UnitState::Whole(other));
        assert_eq!(verify(&[0; UNIT_BYTES], HEADER), UnitState::Zeros);
        assert_eq!(verify(&[7; UNIT_BYTES], HEADER), UnitState::Damaged);
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        for bit in 0..UNIT_BYTES * 8 {
            let mut unit = written_unit(HEADER);
            unit[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(verify(&unit, HEADER), UnitState::Damaged, "bit {bit}");
        }
    }

    #[test]
    fn two_halves_of_two_writes_are_torn() {
        let old = written_unit(BlockHeader { generation: 2, ..HEADER });
        let new = written_unit(HEADER);
        for at in [32, 200, 256, 480] {
            assert_eq!(verify(&[&new[..at], &old[at..]].concat(), HEADER), UnitState::Torn, "at {at}");
            assert_eq!(verify(&[&old[..at], &new[at..]].concat(), HEADER), UnitState::Torn, "at {at}");
        }
    }

    #[test]
    fn no_words_come_twice() {
        let mut seen = std::collections::HashSet::new();
        for number in 0..100 {
            for generation in 1..4 {
                let unit = written_unit(BlockHeader { number, epoch: 1, generation });
                assert!(read_words(&unit).skip(3).all(|word| seen.insert(word)));
            }
        }
    }
}
