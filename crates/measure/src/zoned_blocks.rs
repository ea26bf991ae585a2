//! Draws blocks from zones of a target, each of which has its share of the requests.

use halfpower_spec::Zones;
use rand::Rng;

/// Of so many equal chances a zone has its share.
const CHANCES_BITS: u32 = 32;

/// A stream of blocks from zones; within a zone, all blocks come equally often.
pub(crate) struct ZonedBlocks {
    zones: Box<[Zone]>,
}

/// A zone is drawn if a random 32-bit number is less than `below`, and no earlier zone was drawn.
struct Zone {
    below: u64,
    first: u64,
    blocks: u64,
}

impl ZonedBlocks {
    /// Draws from the zones within `blocks` blocks of `block_bytes`; `None` if none that gets requests lies there.
    pub(crate) fn new(zones: Zones, blocks: u64, block_bytes: u64) -> Option<Self> {
        let reached = zones.in_blocks(blocks, block_bytes);
        let all: u64 = reached.iter().map(|(_, share)| u64::from(*share)).sum();
        let mut sum = 0;
        let zones = reached.into_iter().map(|(blocks, share)| {
            sum += u64::from(share);
            Zone { below: (sum << CHANCES_BITS) / all, first: blocks.start, blocks: blocks.end - blocks.start }
        });
        let zones: Box<[Zone]> = zones.collect();
        (!zones.is_empty()).then_some(Self { zones })
    }

    /// The next block.
    #[inline]
    pub(crate) fn draw(&self, random: &mut impl Rng) -> u64 {
        let chance = random.next_u64() >> CHANCES_BITS;
        let zone = self.zones.iter().find(|zone| chance < zone.below).unwrap_or(&self.zones[0]);
        // Multiply and shift instead of a division.
        zone.first + ((u128::from(random.next_u64()) * u128::from(zone.blocks)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use halfpower_spec::RandomDistribution;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    const DRAWS: usize = 100_000;

    /// How often each of 1000 blocks of 4 KiB came.
    fn counts(distribution: &str) -> Vec<usize> {
        let Ok(RandomDistribution::Zoned(zones)) = distribution.parse() else { panic!("{distribution} has zones") };
        let zoned = ZonedBlocks::new(zones, 1000, 4096).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut counts = vec![0; 1000];
        (0..DRAWS).for_each(|_| counts[zoned.draw(&mut random) as usize] += 1);
        counts
    }

    #[test]
    fn each_zone_gets_its_share_and_a_gap_nothing() {
        let counts = counts("zoned:90/10:0/10:10/20");
        let share = |from: usize, to: usize| counts[from..to].iter().sum::<usize>() as f64 / DRAWS as f64;
        assert!((share(0, 100) - 0.9).abs() < 0.01, "{}", share(0, 100));
        assert_eq!((share(100, 200), share(400, 1000)), (0.0, 0.0));
        assert!((share(0, 50) - share(50, 100)).abs() < 0.01, "blocks of a zone come equally often");
        assert!(counts[0] > 0 && counts[99] > 0 && counts[200] > 0 && counts[399] > 0, "all of a zone is reached");
    }

    #[test]
    fn what_lies_beyond_the_end_leaves_the_others_their_shares_in_proportion() {
        let counts = counts("zoned_abs:60/400k:20/3600k:20/1g");
        let first: usize = counts[..100].iter().sum();
        assert!((first as f64 / DRAWS as f64 - 0.75).abs() < 0.01, "{first}");
    }
}
