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
}

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
    Some(FlushAlone { ns, written_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commits::CommitMeans;

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
            flush_ns_p50: Some(flush_ns_p50),
            runs: 3,
        }
    }

    #[test]
    fn the_flush_past_the_page_cache_tells_most() {
        let buffered = [row(Cache::Both, 16, 8192, 9.0), row(Cache::Both, 1, 65_536, 5.0), row(Cache::Both, 1, 4096, 4.0)];
        let flush = flush_alone(&buffered).unwrap();
        assert_eq!((flush.ns.value, flush.written_bytes), (4.0, 4096));
        let direct = [&buffered[..], &[row(Cache::Device, 1, 8192, 3.0)]].concat();
        let flush = flush_alone(&direct).unwrap();
        assert_eq!((flush.ns.value, flush.written_bytes), (3.0, 0));
        assert!((flush.ns.high - 3.3).abs() < 1e-9 && (flush.ns.low - 2.7).abs() < 1e-9, "{flush:?}");
        assert_eq!(flush_alone(&[row(Cache::Both, 2, 8192, 9.0)]), None);
    }
}
