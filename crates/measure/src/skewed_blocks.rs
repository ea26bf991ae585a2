//! Draws blocks from a skewed distribution, in which some come more often than others.
//!
//! A rank is drawn from the distribution. Each rank is mapped to its own block somewhere in the target, the same for
//! every lane, so that hot blocks are not neighbours.

use halfpower_spec::RandomDistribution;
use rand::Rng;
use rand_distr::{Distribution, Zipf};

/// Added to each rank before it is scattered, so that rank 0 is not block 0; the value is arbitrary.
const SHIFT: u64 = 0x51ed_270b_7f3a_c5d1;

/// Number of blocks drawn before a window opens; a longer window repeats them in the same order.
const DRAWN: usize = 1 << 20;

/// A stream of blocks from a skewed distribution. They are drawn in advance, because a draw takes longer than
/// everything else that the window does for a request.
pub(crate) struct DrawnBlocks {
    blocks: Box<[u64]>,
    next: usize,
}

impl DrawnBlocks {
    /// Draws from a distribution over `blocks` blocks, at least one; `None` if no block is favoured.
    pub(crate) fn new(distribution: RandomDistribution, blocks: u64, random: &mut impl Rng) -> Option<Self> {
        let skewed = SkewedBlocks::new(distribution, blocks)?;
        Some(Self { blocks: (0..DRAWN).map(|_| skewed.draw(random)).collect(), next: 0 })
    }

    /// The next block.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let block = self.blocks[self.next];
        self.next = (self.next + 1) % DRAWN;
        block
    }
}

/// A distribution over blocks.
struct SkewedBlocks {
    ranks: Ranks,
    blocks: u64,
    mask: u64,
}

enum Ranks {
    Zipf(Zipf<f64>),
    /// The exponent ln h / ln (1 - h) of a uniform number: a share 1 - h of all numbers falls below h.
    Pareto(f64),
}

impl SkewedBlocks {
    /// A distribution over `blocks` blocks, at least one; `None` if it is even, or has zones.
    fn new(distribution: RandomDistribution, blocks: u64) -> Option<Self> {
        let parameter = distribution.parameter();
        let ranks = match distribution {
            RandomDistribution::Even | RandomDistribution::Shuffled | RandomDistribution::Zoned(_) => return None,
            RandomDistribution::Zipf(_) => Ranks::Zipf(Zipf::new(blocks as f64, parameter).ok()?),
            RandomDistribution::Pareto(_) => Ranks::Pareto(parameter.ln() / (1.0 - parameter).ln()),
        };
        Some(Self { ranks, blocks, mask: blocks.next_power_of_two() - 1 })
    }

    /// The next block.
    fn draw(&self, random: &mut impl Rng) -> u64 {
        let rank = match &self.ranks {
            Ranks::Zipf(zipf) => zipf.sample(random) as u64 - 1,
            Ranks::Pareto(exponent) => {
                let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                (uniform.powf(*exponent) * self.blocks as f64) as u64
            }
        };
        self.block_of(rank.min(self.blocks - 1))
    }

    /// The block of a rank: a bijection that is repeated until its value is below the number of blocks.
    fn block_of(&self, rank: u64) -> u64 {
        let mut block = rank;
        loop {
            block = scatter(block.wrapping_add(SHIFT) & self.mask, self.mask);
            if block < self.blocks {
                return block;
            }
        }
    }
}

/// A bijection of the values up to `mask` (all ones): a multiplication by an odd number and a xorshift.
#[inline]
pub(crate) fn scatter(state: u64, mask: u64) -> u64 {
    let half = (mask.count_ones() / 2).max(1);
    let mixed = state.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
    mixed ^ (mixed >> half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    const DRAWS: usize = 100_000;

    /// How often each block came, the most frequent first.
    fn counts(distribution: &str, blocks: u64) -> Vec<usize> {
        let skewed = SkewedBlocks::new(distribution.parse().unwrap(), blocks).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut counts = vec![0; blocks as usize];
        (0..DRAWS).for_each(|_| counts[skewed.draw(&mut random) as usize] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    #[test]
    fn a_fifth_of_the_blocks_has_four_fifths_of_the_requests() {
        let counts = counts("pareto:0.2", 1000);
        let hot: usize = counts[..200].iter().sum();
        assert!((hot as f64 / DRAWS as f64 - 0.8).abs() < 0.01, "{hot}");
    }

    #[test]
    fn blocks_are_drawn_before_anybody_waits_for_them() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut drawn = DrawnBlocks::new("zipf:1.1".parse().unwrap(), 1 << 30, &mut random).unwrap();
        let mut first: Vec<u64> = (0..DRAWN).map(|_| drawn.next()).collect();
        let again: Vec<u64> = (0..DRAWN).map(|_| drawn.next()).collect();
        assert_eq!(first, again, "nothing is drawn while requests go out");
        first.sort_unstable();
        first.dedup();
        assert!(first.len() > DRAWN / 10, "the tail is drawn too: {}", first.len());
    }

    #[test]
    fn ranks_fall_off_as_zipf_says() {
        let counts = counts("zipf:1", 1000);
        let harmonic: f64 = (1..=1000).map(|rank| 1.0 / f64::from(rank)).sum();
        for rank in [1, 2, 10] {
            let expected = DRAWS as f64 / f64::from(rank) / harmonic;
            assert!((counts[rank as usize - 1] as f64 / expected - 1.0).abs() < 0.06, "rank {rank}: {expected}");
        }
    }

    #[test]
    fn every_rank_has_a_block_of_its_own_away_from_its_neighbours() {
        for blocks in [1, 2, 3, 64, 1000] {
            let skewed = SkewedBlocks::new("zipf:1.2".parse().unwrap(), blocks).unwrap();
            let places: Vec<u64> = (0..blocks).map(|rank| skewed.block_of(rank)).collect();
            let near = places.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count();
            assert!(blocks < 64 || near < blocks as usize / 8, "{near} of {blocks}");
            let mut sorted = places.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..blocks).collect::<Vec<_>>());
        }
    }
}
