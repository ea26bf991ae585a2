//! Compares what an application does with what a study found that the path gives: at its size and pattern, at its own depth
//! and at the best.
//!
//! Between measured sizes and depths, the logarithm of the rate is interpolated linearly in their logarithms. Nothing is
//! extrapolated, but for sizes that are nearly measured.

use halfpower_record::{OperationKind, Operations};
use halfpower_spec::{Cache, Direction, Pattern};

use super::groups::{Gathered, group_of, pattern, size};
use super::parts::{OperationGroup, WatchUse};
use super::seconds::ratio;
use super::thresholds::STANDS_FOR_ALL;
use crate::policy::NEAR_BEST;
use crate::{CellFinding, Findings, Interval};

/// Factor by which a size may lie outside those that were measured.
const NEARLY: f64 = 1.5;
/// Depth of a test: so many times the application's own.
const TEST_DEPTH: f64 = 2.5;

/// What a group uses of what the study found; `None` without cells of its pattern, direction, cache setting and size, or if
/// its operations differ too much.
pub(super) fn uses(group: &Gathered<'_>, rate: &Interval, study: &Findings) -> Option<WatchUse> {
    let one = group.largest()?;
    if (one.count as f64) < STANDS_FOR_ALL * group.count as f64 {
        return None;
    }
    let pattern = pattern(one)?;
    let (size_bytes, _) = size(one)?;
    let surface = Surface::of(study, one, pattern)?;
    let depth = group.depth_while_busy;
    let at_depth_iops = surface.iops(size_bytes, depth)?;
    let (best_iodepth, best_iops) = surface.best(size_bytes)?;
    let from_disk = 1.0 - group.cached_share();
    let rate = Interval { value: rate.value * from_disk, low: rate.low * from_disk, high: rate.high * from_disk };
    let test_iodepth = test_depth(depth, best_iodepth);
    let at_test = surface.iops(size_bytes, f64::from(test_iodepth)).unwrap_or(best_iops);
    Some(WatchUse {
        rw: surface.rw,
        pattern,
        size_bytes,
        rate,
        depth,
        at_depth_iops,
        share_at_depth: ratio(&rate, &at_depth_iops),
        best_iops,
        best_iodepth,
        share_of_best: ratio(&rate, &best_iops),
        deeper_gain: ratio(&best_iops, &at_depth_iops),
        test_iodepth,
        test_gain: ratio(&at_test, &at_depth_iops),
    })
}

/// The depth of a test, beyond the application's own: the study must promise more for it. A file of somebody else may tell any
/// own depth.
fn test_depth(own: f64, best_iodepth: u32) -> u32 {
    let beyond = (TEST_DEPTH * own).ceil().max(2.0) as u32;
    beyond.checked_next_power_of_two().unwrap_or(u32::MAX).min(best_iodepth.max(2))
}

/// Cells of one pattern, direction and way through the caches.
struct Surface<'a> {
    rw: Direction,
    cells: Vec<&'a CellFinding>,
}

impl<'a> Surface<'a> {
    /// The cells that do what this operation does; `None` if there are none.
    fn of(study: &'a Findings, one: &Operations, pattern: Pattern) -> Option<Self> {
        let group = group_of(one.kind);
        let rw = if group == OperationGroup::Reads { Direction::Read } else { Direction::Write };
        let caches = caches(one, pattern)?;
        let like = |cell: &&CellFinding| {
            cell.usable() && cell.rw == rw && cell.pattern == pattern && caches.contains(&cell.cache)
        };
        let cells: Vec<&CellFinding> = study.cells.iter().filter(like).collect();
        (!cells.is_empty()).then_some(Self { rw, cells })
    }

    /// Operations of this size a second at this depth; `None` if no cells are near enough.
    fn iops(&self, size_bytes: f64, depth: f64) -> Option<Interval> {
        let mut sizes: Vec<u64> = self.cells.iter().map(|cell| cell.bs_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let points: Vec<(f64, Interval)> =
            sizes.into_iter().filter_map(|size| Some((size as f64, self.of_size(size, depth)?))).collect();
        between(&points, size_bytes, NEARLY)
    }

    /// The same of one measured size. A depth beyond the deepest gives what the deepest does.
    fn of_size(&self, size: u64, depth: f64) -> Option<Interval> {
        let mut depths: Vec<u32> =
            self.cells.iter().filter(|cell| cell.bs_bytes == size).map(|cell| cell.total_depth()).collect();
        depths.sort_unstable();
        depths.dedup();
        let best = |depth: u32| {
            let at = self.cells.iter().filter(|cell| cell.bs_bytes == size && cell.total_depth() == depth);
            at.max_by(|one, other| one.mbps.value.total_cmp(&other.mbps.value)).map(|cell| iops_of(cell))
        };
        let points: Vec<(f64, Interval)> =
            depths.into_iter().filter_map(|depth| Some((f64::from(depth), best(depth)?))).collect();
        let deepest = points.last()?.0;
        between(&points, depth.min(deepest), NEARLY)
    }

    /// The smallest depth that gives nearly the most operations of this size, and that most.
    fn best(&self, size_bytes: f64) -> Option<(u32, Interval)> {
        let mut depths: Vec<u32> = self.cells.iter().map(|cell| cell.total_depth()).collect();
        depths.sort_unstable();
        depths.dedup();
        let rates: Vec<(u32, Interval)> =
            depths.into_iter().filter_map(|depth| Some((depth, self.iops(size_bytes, f64::from(depth))?))).collect();
        let (_, most) = *rates.iter().max_by(|one, other| one.1.value.total_cmp(&other.1.value))?;
        let (depth, _) = rates.iter().find(|(_, iops)| iops.value >= NEAR_BEST * most.value)?;
        Some((*depth, most))
    }
}

/// The cache settings of cells that do what this operation does to the device; `None` if no cell does.
fn caches(one: &Operations, pattern: Pattern) -> Option<&'static [Cache]> {
    let direct = one.direct?;
    match one.kind {
        // Random reads that miss the page cache reach the device as they are; sequential ones are read ahead.
        OperationKind::Read if direct || pattern == Pattern::Random => Some(&[Cache::Device, Cache::None]),
        OperationKind::Read => Some(&[Cache::Both, Cache::Os]),
        OperationKind::Write if direct => Some(&[Cache::Device]),
        OperationKind::DurableWrite if direct => Some(&[Cache::None]),
        OperationKind::DurableWrite => Some(&[Cache::Os]),
        OperationKind::FaultRead
        | OperationKind::Write
        | OperationKind::Fdatasync
        | OperationKind::Fsync
        | OperationKind::OtherSync => None,
    }
}

/// Requests of a cell a second, with the interval of its rate.
fn iops_of(cell: &CellFinding) -> Interval {
    let mbps = cell.prediction.map_or(cell.mbps, |prediction| prediction.mbps);
    let scale = if cell.mbps.value > 0.0 { cell.iops / cell.mbps.value } else { 0.0 };
    Interval { value: cell.iops, low: (mbps.low * scale).max(0.0), high: mbps.high * scale }
}

/// The value at `x` of rising points, interpolated in logarithms; of the nearest point if `x` lies outside by no more than
/// the factor `nearly`. `None` otherwise.
fn between(points: &[(f64, Interval)], x: f64, nearly: f64) -> Option<Interval> {
    let first = points.first()?;
    let last = points.last()?;
    if x <= first.0 {
        return (x * nearly >= first.0).then_some(first.1);
    }
    if x >= last.0 {
        return (x <= last.0 * nearly).then_some(last.1);
    }
    let above = points.iter().position(|point| point.0 >= x)?;
    let low = points[above - 1];
    let high = points[above];
    let share = (x / low.0).ln() / (high.0 / low.0).ln();
    let mix = |one: f64, other: f64| {
        if one > 0.0 && other > 0.0 { (one.ln() * (1.0 - share) + other.ln() * share).exp() } else { 0.0 }
    };
    let mixed = Interval {
        value: mix(low.1.value, high.1.value),
        low: mix(low.1.low, high.1.low),
        high: mix(low.1.high, high.1.high),
    };
    (mixed.value > 0.0).then_some(mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_points_the_logarithm_is_linear_and_beyond_them_nothing_is_known() {
        let points = [(1.0, Interval::exact(10.0)), (4.0, Interval::exact(40.0)), (16.0, Interval::exact(40.0))];
        let at = |x| between(&points, x, 1.5).map(|found| found.value.round());
        assert_eq!([at(1.0), at(2.0), at(4.0), at(8.0)], [Some(10.0), Some(20.0), Some(40.0), Some(40.0)]);
        assert_eq!([at(0.7), at(0.5), at(20.0), at(64.0)], [Some(10.0), None, Some(40.0), None]);
        assert_eq!(between(&[], 1.0, 1.5), None);
    }

    #[test]
    fn a_test_is_deeper_than_the_application_and_no_deeper_than_the_best() {
        assert_eq!(
            [(0.0, 1), (1.0, 32), (10.0, 32), (20.0, 32)].map(|(own, best)| test_depth(own, best)),
            [2, 4, 32, 32]
        );
        assert_eq!([1e300, f64::MAX, -1.0].map(|own| test_depth(own, 16)), [16, 16, 2]);
    }
}
