//! Counts the sizes of operations: the most frequent ones each, and the rest together.

use super::keys::ByNumber;

/// Sizes that are listed each.
const LISTED: usize = 8;
/// Different sizes that are told apart while counting.
const TOLD_APART: usize = 512;
/// Up to these many bytes, operations belong to the first and to the second class; larger ones to the third.
const CLASSES: [u64; 2] = [32 << 10, 256 << 10];

/// Sizes in bytes, each with its number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sizes {
    counts: ByNumber<u64, u64>,
    rest: u64,
}

impl Sizes {
    pub(crate) fn add(&mut self, bytes: u64) {
        let is_full = self.counts.len() >= TOLD_APART;
        match self.counts.get_mut(&bytes) {
            Some(count) => *count += 1,
            None if is_full => self.rest += 1,
            None => {
                self.counts.insert(bytes, 1);
            }
        }
    }

    /// The same with so many times the number of all, which is rounded, and not each.
    pub(crate) fn listed_as(&self, times: f64) -> Vec<(u64, u64)> {
        let (mut seen, mut told) = (0, 0);
        let one = |(bytes, count): (u64, u64)| {
            seen += count;
            let before = told;
            told = (seen as f64 * times).round() as u64;
            (bytes, told - before)
        };
        self.listed().into_iter().map(one).collect()
    }

    /// The most frequent sizes first, each with its number; all others last, under size 0.
    pub(crate) fn listed(&self) -> Vec<(u64, u64)> {
        let mut all: Vec<(u64, u64)> = self.counts.iter().map(|(bytes, count)| (*bytes, *count)).collect();
        all.sort_unstable_by_key(|(bytes, count)| (std::cmp::Reverse(*count), *bytes));
        let others = all.split_off(all.len().min(LISTED));
        let rest = self.rest + others.iter().map(|(_, count)| count).sum::<u64>();
        all.extend((rest > 0).then_some((0, rest)));
        all
    }
}

/// The class of a size: small ones cost mostly their number, large ones mostly their bytes.
pub(crate) fn class(bytes: u64) -> u8 {
    CLASSES.iter().filter(|most| bytes > **most).count() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_come_first_and_the_rest_together() {
        let mut sizes = Sizes::default();
        for (bytes, count) in (1..=10_u64).map(|step| (step * 4096, step)) {
            (0..count).for_each(|_| sizes.add(bytes));
        }
        let listed = sizes.listed();
        assert_eq!(listed.len(), 9);
        assert_eq!((listed[0], listed[7], listed[8]), ((40_960, 10), (12_288, 3), (0, 3)));
        assert!(Sizes::default().listed().is_empty());
        let times = sizes.listed_as(1.1);
        assert_eq!((times[0], times[8], times.iter().map(|(_, count)| count).sum::<u64>()), ((40_960, 11), (0, 4), 61));
    }

    #[test]
    fn more_sizes_than_are_told_apart_still_count() {
        let mut sizes = Sizes::default();
        (0..10_000).for_each(|bytes| sizes.add(bytes));
        assert_eq!(sizes.listed().iter().map(|(_, count)| count).sum::<u64>(), 10_000);
    }

    #[test]
    fn classes_end_where_they_say() {
        assert_eq!([512, 32 << 10, (32 << 10) + 1, 256 << 10, 1 << 20].map(class), [0, 0, 1, 1, 2]);
    }
}
