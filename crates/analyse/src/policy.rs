//! Defines when settings count as advice, for both the report's advice and the study's planner.
//!
//! Rates and costs are compared by their natural logarithms, so the same rules apply to known and estimated values.

use halfpower_spec::{Bytes, Cache, Direction};

/// Share of the best throughput that advised settings must reach.
pub const NEAR_BEST: f64 = 0.95;
/// Factor up to which two costs count as equal: accounting is no more precise.
pub const SAME_COST: f64 = 1.05;
/// Share of the processors that a run can use from which they count as full.
pub const FULL_CORE: f64 = 0.9;
/// Factor that more threads must gain before still more are tried.
pub const MORE_THREADS_GAIN: f64 = 1.05;
/// Ratio of a buffered read to the best direct read above which it counts as a cache's, unless the device's own counter
/// shows that the device moved the bytes.
pub const ABOVE_DIRECT: f64 = 1.5;
/// Share of a run's bytes that the device must have moved for it to count as the source.
const DEVICE_MOVED: f64 = 0.9;
/// Share of its span in the page cache above which a buffered read measured memory.
const CACHED_SHARE: f64 = 0.1;

/// Confirming runs from which a cell is reported by them only.
pub(crate) const CONFIRMING_RUNS: usize = 3;
/// Block size of the pages of most databases.
const DATABASE_BS: Bytes = Bytes(8192);

/// The block size that represents a database's pages: the nearest to 8 KiB by its logarithm, the first of two equally
/// near.
pub fn database_bs(sizes: impl Iterator<Item = Bytes>) -> Option<Bytes> {
    let far = |bs: &Bytes| (bs.0 as f64 / DATABASE_BS.0 as f64).ln().abs();
    sizes.min_by(|one, other| far(one).total_cmp(&far(other)))
}

/// What settings ask of an application, ordered from least to most: depth, block size, cache setting.
pub type Ease = (u32, Bytes, Cache);

/// Settings that may be advised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contender {
    /// Logarithm of the throughput.
    pub log_rate: f64,
    /// Logarithm of the processor time a byte, in any unit.
    pub log_cost: f64,
    /// What the settings ask of an application.
    pub ease: Ease,
}

impl Contender {
    /// Whether this one would rank before `other` if both were fast enough: it is cheaper beyond the accuracy of costs,
    /// or asks less.
    pub fn may_displace(&self, other: &Self) -> bool {
        self.ease < other.ease || self.log_cost < other.log_cost - SAME_COST.ln()
    }
}

/// The lowest logarithm of a rate that counts as near the best one.
pub fn near_best(log_best: f64) -> f64 {
    log_best + NEAR_BEST.ln()
}

/// The highest logarithm of a cost that counts as equal to this one.
pub fn same_cost(log_cost: f64) -> f64 {
    log_cost + SAME_COST.ln()
}

/// Index of the advised settings among `contenders`, for a measured best rate: those near the best, of these the ones
/// about as cheap as the cheapest, and of these the one that asks least of an application.
pub fn advised(contenders: impl Iterator<Item = Contender>, log_best: f64) -> Option<usize> {
    let is_near = |(_, contender): &(usize, Contender)| contender.log_rate >= near_best(log_best);
    let near: Vec<(usize, Contender)> = contenders.enumerate().filter(is_near).collect();
    let least = near.iter().map(|(_, contender)| contender.log_cost).reduce(f64::min)?;
    let affordable = near.into_iter().filter(|(_, contender)| contender.log_cost <= same_cost(least));
    affordable.min_by_key(|(_, contender)| contender.ease).map(|(place, _)| place)
}

/// Whether a read goes through the page cache, so that the cache may answer it.
pub fn is_buffered_read(cache: Cache, rw: Direction) -> bool {
    rw == Direction::Read && !cache.direct()
}

/// Whether a run with this share of its span in the page cache measured memory.
pub fn measured_memory(cache: Cache, rw: Direction, cached_share: Option<f64>) -> bool {
    is_buffered_read(cache, rw) && cached_share.is_some_and(|share| share > CACHED_SHARE)
}

/// Whether the device moved what a run read, by its own counter: `device_share` is [`Record::device_share`].
///
/// [`Record::device_share`]: halfpower_record::Record::device_share
pub fn is_from_device(device_share: Option<f64>) -> bool {
    device_share.is_some_and(|share| share >= DEVICE_MOVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(rate: f64, cost: f64, depth: u32) -> Contender {
        Contender { log_rate: rate.ln(), log_cost: cost.ln(), ease: (depth, Bytes(4096), Cache::Device) }
    }

    #[test]
    fn of_the_fast_and_cheap_the_easiest_is_advised() {
        let contenders =
            [contender(100.0, 2.0, 32), contender(96.0, 1.04, 8), contender(97.0, 1.0, 16), contender(94.0, 0.5, 1)];
        assert_eq!(advised(contenders.into_iter(), 100f64.ln()), Some(1));
        // Simplicity never outweighs cost or speed.
        let dear = [contender(100.0, 1.06, 1), contender(100.0, 1.0, 16), contender(94.9, 1.0, 1)];
        assert_eq!(advised(dear.into_iter(), 100f64.ln()), Some(1));
        assert_eq!(advised([contender(50.0, 1.0, 1)].into_iter(), 100f64.ln()), None);
    }

    #[test]
    fn only_a_buffered_read_can_come_out_of_the_page_cache() {
        assert!(measured_memory(Cache::Both, Direction::Read, Some(0.2)));
        assert!(!measured_memory(Cache::Both, Direction::Read, Some(0.05)));
        assert!(!measured_memory(Cache::Both, Direction::Write, Some(1.0)));
        assert!(!measured_memory(Cache::Device, Direction::Read, Some(1.0)));
    }
}
