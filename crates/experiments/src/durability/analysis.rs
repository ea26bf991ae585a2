//! Compares durable writes with the same writes without durability.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{Cache, Pass, Switch, Workload, WorkloadOptions};

use super::answer::{DurabilityAnswer, DurableAtOnce, DurableWrites, FlushTime, SharedFlush, WithoutWriteCache};
use super::rows::{DurabilityRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::Scale;
use crate::ratio_finding::RatioFinding;

/// The half-power point: at least half of the plain rate.
const HALF: f64 = 0.5;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, DurabilityAnswer) {
    let writes = Writes::of(data);
    let rows = Rows { durability: writes.cells.iter().map(|cell| writes.row(cell)).collect() };
    let sharing: Vec<SharedFlush> =
        [Cache::Device, Cache::Both].into_iter().filter_map(|cache| writes.sharing(cache)).collect();
    let answer = DurabilityAnswer {
        one_at_a_time: [Cache::None, Cache::Os].into_iter().filter_map(|cache| writes.one_at_a_time(cache)).collect(),
        at_once: writes.at_once(),
        flush: if sharing.is_empty() { None } else { writes.flush_time() },
        sharing,
        without_write_cache: writes.without_write_cache(),
    };
    (rows, answer)
}

/// The cells, sorted so that plain writes come before durable ones.
pub(super) struct Writes<'a> {
    scale: Scale,
    pub cells: Vec<&'a ExperimentCell<'a>>,
}

impl<'a> Writes<'a> {
    pub fn of(data: &'a ExperimentData) -> Self {
        let mut cells: Vec<&ExperimentCell> = data.sound().collect();
        cells.sort_by_key(|cell| {
            let Workload { cache, bs, iodepth, options, .. } = cell.workload;
            (bs, iodepth, !cache.direct(), options.write_cache, cache, options.fdatasync)
        });
        Self { scale: Scale::of(cells.iter().copied()), cells }
    }

    fn cell(&self, workload: &Workload) -> Option<&'a ExperimentCell<'a>> {
        self.cells.iter().find(|cell| cell.workload == *workload).copied()
    }

    /// The comparison cell: plain writes through the same caches.
    fn plain(&self, cell: &ExperimentCell) -> Option<&'a ExperimentCell<'a>> {
        let Workload { cache, options, .. } = cell.workload;
        let same = |cache, options| self.cell(&Workload { cache, options, ..cell.workload });
        match (cache, options.write_cache) {
            (Cache::None, _) => same(Cache::Device, options),
            (Cache::Os, _) => same(Cache::Both, options),
            (_, Some(Switch::Off)) => same(cache, WorkloadOptions { write_cache: Some(Switch::On), ..options }),
            _ if options.fdatasync > 0 => same(cache, WorkloadOptions { fdatasync: 0, ..options }),
            _ => None,
        }
    }

    /// A cell's rate as a share of its plain cell's.
    fn of_plain(&self, cell: &'a ExperimentCell<'a>) -> Option<RatioFinding> {
        self.scale.times(&[cell], &[self.plain(cell)?])
    }

    fn row(&self, cell: &'a ExperimentCell<'a>) -> DurabilityRow {
        let (workload, finding) = (&cell.workload, &cell.finding);
        let sync_ns = |quantile: f64| syncs_ns(cell, quantile).map(|runs| Interval::of_means(&runs).value);
        DurabilityRow {
            cache: workload.cache,
            fdatasync: workload.options.fdatasync,
            write_cache: workload.options.write_cache,
            iodepth: workload.iodepth,
            bs_bytes: workload.bs.0,
            mbps: finding.mbps.value,
            low: finding.mbps.low,
            high: finding.mbps.high,
            iops: finding.iops,
            latency_ns_p50: finding.latency_ns.p50.unwrap_or_default(),
            latency_ns_p99: finding.latency_ns.p99.unwrap_or_default(),
            sync_ns_p50: sync_ns(0.5),
            sync_ns_p99: sync_ns(0.99),
            of_plain: self.of_plain(cell).map(|ratio| ratio.interval),
        }
    }

    /// The cell of the smallest blocks, written at depth 1 with default options.
    fn small(&self, cache: Cache) -> Option<&'a ExperimentCell<'a>> {
        let least = self.cells.first()?.workload.bs;
        let is_it = |cell: &&&ExperimentCell| {
            let workload = &cell.workload;
            (workload.bs, workload.iodepth, workload.cache) == (least, 1, cache) && workload.options.is_default()
        };
        self.cells.iter().find(is_it).copied()
    }

    /// How many times as long a small durable write takes as a plain one.
    fn one_at_a_time(&self, cache: Cache) -> Option<DurableWrites> {
        let durable = self.small(cache)?;
        let plain = self.plain(durable)?;
        Some(DurableWrites {
            bs_bytes: durable.workload.bs.0,
            plain_cache: plain.workload.cache,
            iops: durable.finding.iops,
            plain_iops: plain.finding.iops,
            times_slower: self.scale.times(&[plain], &[durable])?,
        })
    }

    /// Compares concurrent durable writes with durable writes one at a time.
    fn at_once(&self) -> Option<DurableAtOnce> {
        let one = self.small(Cache::None)?;
        let deep = self.cells.iter().filter(|cell| {
            let Workload { cache, bs, iodepth, options, .. } = cell.workload;
            (cache, bs) == (Cache::None, one.workload.bs) && iodepth > 1 && options.is_default()
        });
        let deep = *deep.max_by_key(|cell| cell.workload.iodepth)?;
        Some(DurableAtOnce { iodepth: deep.workload.iodepth, times: self.scale.times(&[deep], &[one])? })
    }

    /// The fewest writes per flush that get at least half of the rate without flushes.
    fn sharing(&self, cache: Cache) -> Option<SharedFlush> {
        let mut flushed: Vec<&ExperimentCell> = self.flushed(cache);
        flushed.sort_by_key(|cell| cell.workload.options.fdatasync);
        let is_half = |cell: &&&'a ExperimentCell<'a>| {
            self.of_plain(cell).is_some_and(|share| share.is_known() && share.interval.low >= HALF)
        };
        let fewest = flushed.iter().rev().take_while(is_half).last();
        let cell = fewest.or(flushed.last())?;
        let (writes, of_plain) = (cell.workload.options.fdatasync, self.of_plain(cell)?);
        Some(SharedFlush { cache, writes, of_plain, is_half: fewest.is_some() })
    }

    /// The cells with a flush after every N writes.
    pub fn flushed(&self, cache: Cache) -> Vec<&'a ExperimentCell<'a>> {
        let fits = |cell: &&&ExperimentCell| cell.workload.cache == cache && cell.workload.options.fdatasync > 0;
        self.cells.iter().filter(fits).copied().collect()
    }

    /// The time of a flush after a single write.
    fn flush_time(&self) -> Option<FlushTime> {
        let single = |cell: &&&ExperimentCell| cell.workload.options.fdatasync == 1;
        let cell =
            [Cache::Device, Cache::Both].into_iter().find_map(|cache| self.flushed(cache).iter().find(single).copied());
        let (median, late) = (syncs_ns(cell?, 0.5)?, syncs_ns(cell?, 0.99)?);
        Some(FlushTime {
            ns_p50: Interval::of_means(&median).value,
            ns_p99: Interval::of_means(&late).value,
            ns_p50_least: median.iter().copied().fold(f64::INFINITY, f64::min),
            ns_p50_most: median.iter().copied().fold(0.0, f64::max),
        })
    }

    /// Compares writes with and without the device's write cache.
    fn without_write_cache(&self) -> Vec<WithoutWriteCache> {
        let off = self.cells.iter().filter(|cell| cell.workload.options.write_cache == Some(Switch::Off));
        let kept = |cell: &&'a ExperimentCell<'a>| {
            let (cache, bs_bytes) = (cell.workload.cache, cell.workload.bs.0);
            Some(WithoutWriteCache { cache, bs_bytes, of_cached: self.of_plain(cell)? })
        };
        off.filter_map(kept).collect()
    }
}

/// This quantile of the flush times between writes, for each plain run, in nanoseconds; `None` if there were no
/// flushes.
pub(super) fn syncs_ns(cell: &ExperimentCell, quantile: f64) -> Option<Vec<f64>> {
    let flushed = cell.records.iter().filter(|record| record.run.pass == Pass::Plain && record.syncs.count() > 0);
    let each: Vec<f64> = flushed.map(|record| record.syncs.quantile_ns(quantile) as f64).collect();
    (!each.is_empty()).then_some(each)
}
