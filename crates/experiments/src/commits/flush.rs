//! Finds how long a flush of the device takes alone, for whoever predicts commits of another size or order.

use halfpower_analyse::Interval;
use halfpower_spec::{Cache, FlushCall, Layout};

use super::analysis::{BLOCK, CommitRow};

/// A flush of the device by one writer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlushAlone {
    /// Its median time in nanoseconds.
    pub ns: Interval,
    /// Bytes that were written back within that time; 0 if the write had passed the page cache.
    pub written_bytes: u64,
    /// Most commits that share a flush, if the most writers that were measured shared fewer flushes than all could; 0 if
    /// nothing shows a limit.
    pub most: u32,
    /// Commits a second of that writer, if it is held back: most of its commits take less than half of the time between two.
    pub held_back_per_second: Option<f64>,
}

impl FlushAlone {
    /// Whether a limit of so many write requests a second counts a flush as one of them, as the writer's rate shows.
    pub fn counts(&self, iops: f64) -> bool {
        self.held_back_per_second.is_some_and(|per_second| iops / per_second >= COUNTED)
    }
}

/// Requests of a commit from which its flush is one, beside its write.
const COUNTED: f64 = 1.5;
/// Share of the time between two commits below which the median one is not held back.
const FAR: f64 = 0.5;

/// Writers of which a third has to share a flush; with fewer in a flush, something else limits how many do.
const SHARE: f64 = 1.0 / 3.0;
/// Fewest writers that tell that.
const FEWEST: u32 = 8;

/// The flush of a single writer into blocks that were written before: past the page cache if that was measured, of 8 KiB or
/// the nearest size. `None` if no runs tell.
pub fn flush_alone(rows: &[CommitRow]) -> Option<FlushAlone> {
    let of = |cache: Cache| {
        let is_alone = |row: &&CommitRow| {
            (row.writers, row.beside_writers, row.own_files, row.layout) == (1, 0, false, Layout::Written)
                && row.means.flush_by == Some(FlushCall::Fdatasync)
                && row.means.cache == cache
                && row.flush_ns_p50.is_some()
        };
        rows.iter().filter(is_alone).min_by_key(|row| row.bs_bytes.abs_diff(BLOCK.0))
    };
    let row = of(Cache::Device).or_else(|| of(Cache::Both))?;
    let value = row.flush_ns_p50?;
    // Of the median's own runs only the mean is kept; commits a second vary as their flushes do.
    let reach = row.per_second.relative_reach().min(1.0);
    let ns = Interval { value, low: value * (1.0 - reach), high: value * (1.0 + reach) };
    let written_bytes = if row.means.cache == Cache::Device { 0 } else { row.bs_bytes };
    let is_far = row.commit_ns_p50 > 0 && (row.commit_ns_p50 as f64) < FAR * 1e9 / row.per_second.value;
    let held_back_per_second = is_far.then_some(row.per_second.value);
    Some(FlushAlone { ns, written_bytes, most: most(rows, row, value), held_back_per_second })
}

/// Most commits that share a flush of this time, as many writers like that of `alone` saw; 0 if they saw no limit.
fn most(rows: &[CommitRow], alone: &CommitRow, flush_ns: f64) -> u32 {
    let settings = |row: &CommitRow| (row.means, row.beside_writers, row.own_files, row.layout, row.bs_bytes);
    let is_like = |row: &&CommitRow| settings(row) == settings(alone) && row.writers >= FEWEST;
    let Some(many) = rows.iter().filter(is_like).max_by_key(|row| row.writers) else { return 0 };
    let sharing = many.per_second.value * flush_ns / 1e9;
    if sharing < SHARE * f64::from(many.writers) { sharing.round().max(1.0) as u32 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commits::analysis::CommitMeans;

    fn row(cache: Cache, writers: u32, bs_bytes: u64, flush_ns_p50: f64) -> CommitRow {
        CommitRow {
            means: CommitMeans { cache, flush_by: Some(FlushCall::Fdatasync), durable_by: None },
            writers,
            beside_writers: 0,
            own_files: false,
            layout: Layout::Written,
            bs_bytes,
            per_second: Interval { value: 100.0, low: 90.0, high: 110.0 },
            commit_ns_p50: 0,
            commit_ns_p99: 0,
            commit_ns_p999: 0,
            commits: 0,
            flush_ns_p50: Some(flush_ns_p50),
            runs: 3,
        }
    }

    #[test]
    fn the_flush_past_the_page_cache_tells_most() {
        let buffered =
            [row(Cache::Both, 16, 8192, 9.0), row(Cache::Both, 1, 65_536, 5.0), row(Cache::Both, 1, 4096, 4.0)];
        let flush = flush_alone(&buffered).unwrap();
        assert_eq!((flush.ns.value, flush.written_bytes), (4.0, 4096));
        let direct = [&buffered[..], &[row(Cache::Device, 1, 8192, 3.0)]].concat();
        let flush = flush_alone(&direct).unwrap();
        assert_eq!((flush.ns.value, flush.written_bytes), (3.0, 0));
        assert!((flush.ns.high - 3.3).abs() < 1e-9 && (flush.ns.low - 2.7).abs() < 1e-9, "{flush:?}");
        assert_eq!(flush_alone(&[row(Cache::Both, 2, 8192, 9.0)]), None);
    }

    #[test]
    fn commits_that_are_held_back_show_whether_a_limit_counts_flushes() {
        let flush = |commit_ns_p50| {
            let row = CommitRow {
                per_second: Interval::exact(500.0),
                commit_ns_p50,
                ..row(Cache::Device, 1, 8192, 200_000.0)
            };
            flush_alone(&[row]).unwrap()
        };
        // 500 commits a second, of 300 us each: behind 1000 requests a second, each is two of them.
        assert!(flush(300_000).counts(1000.0));
        assert!(!flush(300_000).counts(500.0));
        assert!(!flush(1_900_000).counts(1000.0), "the disk takes that long");
    }

    #[test]
    fn many_writers_show_how_many_share_a_flush() {
        let rows = |per_second: f64| {
            let many = CommitRow { per_second: Interval::exact(per_second), ..row(Cache::Device, 64, 8192, 9e6) };
            [row(Cache::Device, 1, 8192, 1e6), row(Cache::Device, 16, 8192, 2e6), many]
        };
        // 4 in each flush of 1 ms, or as good as all.
        assert_eq!(flush_alone(&rows(4000.0)).map(|flush| flush.most), Some(4));
        assert_eq!(flush_alone(&rows(50_000.0)).map(|flush| flush.most), Some(0));
    }
}
