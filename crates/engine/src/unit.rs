//! What does a block carry that can be verified? Its number, the seed, how often it was written, bytes that follow from
//! these three, and a checksum.
//!
//! A unit is 512 bytes, the least that storage addresses: 64 words, of which the first three are the mark and the last
//! is the checksum.

/// Bytes that a part of a torn unit has at least: the mark and some of what follows from it.
const LEAST_PART: usize = 32;

/// Bytes of a unit.
pub const UNIT_BYTES: usize = 512;
const WORDS: usize = UNIT_BYTES / 8;
/// Words that the checksum covers: all but itself.
const COVERED: usize = WORDS - 1;

/// What a unit says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Its number in the target.
    pub number: u64,
    /// The seed of the study that wrote it.
    pub seed: u64,
    /// Which of the writes to this unit it is from.
    pub generation: u32,
}

/// What was found in the place of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A unit with its checksum right.
    Whole(Mark),
    /// Nothing but zeros, as what was never written reads.
    Zeros,
    /// The beginning of one write to this unit and the end of another.
    Torn,
    /// Anything else.
    Damaged,
}

/// Fills `unit`, which is [`UNIT_BYTES`] long.
pub(crate) fn seal(unit: &mut [u8], mark: Mark) {
    let mut sum = START;
    for (word, bytes) in words(mark).zip(unit.chunks_exact_mut(8)) {
        bytes.copy_from_slice(&word.to_le_bytes());
        sum = add(sum, word);
    }
    unit[COVERED * 8..].copy_from_slice(&sum.to_le_bytes());
}

/// What is in the place of the unit that should carry `mark`, or one of the generations beside it.
pub(crate) fn look(unit: &[u8], mark: Mark) -> Found {
    let sum = read_words(unit).take(COVERED).fold(START, add);
    let mut first = read_words(unit);
    let (number, seed, generation) = (first.next(), first.next(), first.next());
    if read_words(unit).nth(COVERED) == Some(sum)
        && let (Some(number), Some(seed), Some(generation)) = (number, seed, generation)
    {
        return Found::Whole(Mark { number, seed, generation: generation as u32 });
    }
    if unit.iter().all(|byte| *byte == 0) {
        Found::Zeros
    } else if is_torn(unit, mark) {
        Found::Torn
    } else {
        Found::Damaged
    }
}

/// Whether the unit begins as one write of `mark`'s neighbourhood left it and ends as another did.
fn is_torn(unit: &[u8], mark: Mark) -> bool {
    let near = [0, 1, 2].map(|back| Mark { generation: (mark.generation + 1).wrapping_sub(back), ..mark });
    let alike = |mark: Mark| {
        let mut written = [0; UNIT_BYTES];
        seal(&mut written, mark);
        let front = unit.iter().zip(&written).take_while(|(found, written)| found == written).count();
        let back = unit.iter().rev().zip(written.iter().rev()).take_while(|(found, written)| found == written).count();
        (front, back)
    };
    let alike = near.map(alike);
    // Both parts are longer than what a flipped bit of the mark or of the checksum leaves of another generation.
    let parts = |front: usize, back: usize| front >= LEAST_PART && back >= LEAST_PART && front + back >= UNIT_BYTES;
    alike.iter().any(|(front, _)| alike.iter().any(|(_, back)| parts(*front, *back)))
}

/// The covered words of a unit: its mark, and what follows from that.
fn words(mark: Mark) -> impl Iterator<Item = u64> {
    let Mark { number, seed, generation } = mark;
    let mut state = mixed(mixed(seed).wrapping_add(number)).wrapping_add(u64::from(generation));
    let body = std::iter::repeat_with(move || {
        state = state.wrapping_add(STEP);
        mixed(state)
    });
    [number, seed, u64::from(generation)].into_iter().chain(body).take(COVERED)
}

fn read_words(unit: &[u8]) -> impl Iterator<Item = u64> {
    unit.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
}

/// The checksum of no words; not 0, so that zeros are no unit.
const START: u64 = 0x6861_6c66_706f_7765;
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A checksum with one word more. Each step is a bijection of the sum and of the word, so that no single changed word
/// goes unnoticed; of any other change one in 2^64 does.
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

    const MARK: Mark = Mark { number: 77, seed: 5, generation: 3 };

    fn sealed(mark: Mark) -> [u8; UNIT_BYTES] {
        let mut unit = [0; UNIT_BYTES];
        seal(&mut unit, mark);
        unit
    }

    #[test]
    fn a_unit_says_what_it_is() {
        assert_eq!(look(&sealed(MARK), MARK), Found::Whole(MARK));
        let other = Mark { number: 78, ..MARK };
        assert_eq!(look(&sealed(other), MARK), Found::Whole(other));
        assert_eq!(look(&[0; UNIT_BYTES], MARK), Found::Zeros);
        assert_eq!(look(&[7; UNIT_BYTES], MARK), Found::Damaged);
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        for bit in 0..UNIT_BYTES * 8 {
            let mut unit = sealed(MARK);
            unit[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(look(&unit, MARK), Found::Damaged, "bit {bit}");
        }
    }

    #[test]
    fn two_halves_of_two_writes_are_torn() {
        let (old, new) = (sealed(Mark { generation: 2, ..MARK }), sealed(MARK));
        for at in [32, 200, 256, 480] {
            assert_eq!(look(&[&new[..at], &old[at..]].concat(), MARK), Found::Torn, "at {at}");
            assert_eq!(look(&[&old[..at], &new[at..]].concat(), MARK), Found::Torn, "at {at}");
        }
    }

    #[test]
    fn no_words_come_twice() {
        let mut seen = std::collections::HashSet::new();
        for number in 0..100 {
            for generation in 1..4 {
                let unit = sealed(Mark { number, seed: 1, generation });
                assert!(read_words(&unit).skip(3).all(|word| seen.insert(word)));
            }
        }
    }
}
