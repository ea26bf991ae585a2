//! Divides a sequence of values into bands of neighbours with equal means.
//!
//! Optimal partitioning (Jackson and others, An algorithm for optimal partitioning of data on an interval, 2005): of
//! all ways to cut the sequence, it picks the one with the smallest sum of squares about the bands' means, in units of
//! the noise, plus a penalty per band.

use std::ops::Range;

/// Penalty per band, in units of the noise's variance times the logarithm of the number of values. BIC would charge two
/// parameters per band, its level and its end. Since the end may be anywhere, that would make bands from chance.
const PENALTY: f64 = 5.0;
/// Smallest noise as a share of the mean: no value counts as more precise, whatever its runs say.
const LEAST_NOISE: f64 = 0.01;

/// The bands of `values` with the standard error `noise`; together they cover all values, in order.
pub(crate) fn bands(values: &[f64], noise: f64) -> Vec<Range<usize>> {
    let count = values.len();
    if count == 0 {
        return Vec::new();
    }
    let mean = values.iter().sum::<f64>() / count as f64;
    let variance = noise.max(LEAST_NOISE * mean.abs()).powi(2).max(f64::MIN_POSITIVE);
    let penalty = PENALTY * (count as f64).ln().max(1.0);
    let mut sums = vec![0.0];
    let mut squares = vec![0.0];
    for value in values {
        sums.push(sums[sums.len() - 1] + (value - mean));
        squares.push(squares[squares.len() - 1] + (value - mean).powi(2));
    }
    let cost = |from: usize, to: usize| {
        let sum: f64 = sums[to] - sums[from];
        (squares[to] - squares[from] - sum * sum / (to - from) as f64) / variance
    };
    // The cheapest way to cut the first n values, and the start of its last band.
    let mut best = vec![(-penalty, 0)];
    for to in 1..=count {
        let ways = (0..to).map(|from| (best[from].0 + cost(from, to) + penalty, from));
        best.push(ways.min_by(|one, other| one.0.total_cmp(&other.0)).expect("a band has a beginning"));
    }
    let mut cuts = Vec::new();
    let mut to = count;
    while to > 0 {
        let from = best[to].1;
        cuts.push(from..to);
        to = from;
    }
    cuts.reverse();
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::normal;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn noisy(levels: &[(usize, f64)], deviation: f64, seed: u64) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let level = |(count, level): &(usize, f64)| vec![*level; *count];
        levels.iter().flat_map(level).map(|level| level + deviation * normal(&mut random)).collect()
    }

    #[test]
    fn four_bands_are_found_where_they_are() {
        let found = |seed| bands(&noisy(&[(8, 24.1), (10, 21.0), (6, 18.5), (8, 14.9)], 0.4, seed), 0.4);
        let right = (0..50).filter(|seed| found(*seed) == [0..8, 8..18, 18..24, 24..32]).count();
        assert!(right >= 47, "{right} of 50 rows are cut where they should be");
    }

    #[test]
    fn noise_alone_is_one_band() {
        let more = (0..200).filter(|seed| bands(&noisy(&[(32, 100.0)], 3.0, *seed), 3.0).len() > 1).count();
        assert!(more <= 4, "{more} of 200 rows of noise have bands");
    }

    #[test]
    fn one_value_and_none() {
        assert_eq!(bands(&[3.0], 0.1).first(), Some(&(0..1)));
        assert!(bands(&[], 0.1).is_empty());
    }
}
