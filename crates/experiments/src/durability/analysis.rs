//! Compares durable writes with the same writes without durability.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{Cache, DurableBy, FlushCall, InOrder, JsonSchema, Pass, Switch, Workload, WorkloadOptions};
use serde::Serialize;

use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, Scale};

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Writes at different levels of durability.
    pub durability: Vec<DurabilityRow>,
}

/// Sequential writes with one kind of durability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DurabilityRow {
    /// Cache setting; with `os` and `none`, each write is durable.
    pub cache: Cache,
    /// Writes per fdatasync; 0 means no fdatasync between writes.
    pub fdatasync: u32,
    /// The call of the flushes between writes.
    pub flush_by: FlushCall,
    /// What makes each write durable, with `os` and `none`.
    pub durable_by: DurableBy,
    /// Whether each write is on the medium whole or not at all (`RWF_ATOMIC`); left out if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub atomic: bool,
    /// State of the device's write cache, if it was switched.
    pub write_cache: Option<Switch>,
    /// Depth asked for.
    pub iodepth: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Mean throughput in MB/s, including all flushes.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Writes a second.
    pub iops: f64,
    /// Median latency of a write in nanoseconds, without the flushes between writes; `None` if not known.
    pub latency_ns_p50: Option<u64>,
    /// 99th percentile of that latency, in nanoseconds; `None` if not known.
    pub latency_ns_p99: Option<u64>,
    /// Median time of an fdatasync between writes in nanoseconds, as the mean over runs.
    pub sync_ns_p50: Option<f64>,
    /// 99th percentile of that time in nanoseconds, as the mean over runs.
    pub sync_ns_p99: Option<f64>,
    /// Throughput as a share of the same writes without durability; of atomic writes, of the same ones that are not.
    pub of_plain: Option<Interval>,
}

/// The cost of durable writes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct DurabilityAnswer {
    /// Small writes that are each durable, direct and buffered.
    pub one_at_a_time: Vec<DurableWrites>,
    /// Concurrent durable direct writes.
    pub at_once: Option<DurableAtOnce>,
    /// Writes that share a flush, direct and buffered.
    pub sharing: Vec<SharedFlush>,
    /// The time of a flush after a single write.
    pub flush: Option<FlushTime>,
    /// One write at a time until it is durable, by each call and flag, the fastest first; empty if only one was measured.
    pub means: Vec<DurableMeans>,
    /// Writes with the device's write cache switched off.
    pub without_write_cache: Vec<WithoutWriteCache>,
    /// Atomic writes, plain and durable; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub atomic: Vec<AtomicWrites>,
}

/// Direct writes that are on the medium whole or not at all, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AtomicWrites {
    /// Cache setting; with `none`, each write is durable too.
    pub cache: Cache,
    /// Block size.
    pub bs_bytes: u64,
    /// Writes a second.
    pub iops: f64,
    /// Throughput as a share of the same writes that are not atomic.
    pub of_plain: RatioFinding,
}

/// One write at a time, made durable by one call or flag.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DurableMeans {
    /// The caches of a plain write of the same kind: `device` for direct writes, `both` for buffered ones.
    pub plain_cache: Cache,
    /// The call after each write; `null` if the write itself is durable.
    pub flush_by: Option<FlushCall>,
    /// What makes the write itself durable; `null` if a call follows it.
    pub durable_by: Option<DurableBy>,
    /// Block size.
    pub bs_bytes: u64,
    /// Mean time from one write to the next in nanoseconds, flush included.
    pub ns_each: f64,
}

/// Small writes that are each durable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DurableWrites {
    /// Block size.
    pub bs_bytes: u64,
    /// The cache setting of the plain writes that they are compared with.
    pub plain_cache: Cache,
    /// Durable writes a second.
    pub iops: f64,
    /// Plain writes a second, for comparison.
    pub plain_iops: f64,
    /// Plain rate over durable rate.
    pub times_slower: RatioFinding,
}

/// Concurrent durable direct writes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DurableAtOnce {
    /// Depth.
    pub iodepth: u32,
    /// Rate as a multiple of one write at a time.
    pub times: RatioFinding,
}

/// Writes that share a flush.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SharedFlush {
    /// Cache setting.
    pub cache: Cache,
    /// Writes per flush: the fewest that get half of the plain rate beyond chance, or if none do, the most measured.
    pub writes: u32,
    /// Throughput as a share of plain writes.
    pub of_plain: RatioFinding,
    /// Whether that is half or more beyond chance: the half-power point.
    pub is_half: bool,
}

/// The time of a flush after a single write.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FlushTime {
    /// Median in nanoseconds, as the mean over runs.
    pub ns_p50: f64,
    /// 99th percentile in nanoseconds, as the mean over runs.
    pub ns_p99: f64,
    /// Smallest median of a run, in nanoseconds.
    pub ns_p50_least: f64,
    /// Largest median of a run, in nanoseconds.
    pub ns_p50_most: f64,
}

/// Writes with the device's write cache switched off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WithoutWriteCache {
    /// Cache setting.
    pub cache: Cache,
    /// Block size.
    pub bs_bytes: u64,
    /// Throughput as a share of the same writes with the write cache.
    pub of_cached: RatioFinding,
}

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
        means: writes.means(),
        without_write_cache: writes.without_write_cache(),
        atomic: writes.atomic(),
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
        cells.order_by_key(|cell| {
            let Workload { cache, bs, iodepth, options, .. } = cell.workload;
            let by = (options.flush_by, options.durable_by, options.atomic);
            (bs, iodepth, !cache.direct(), options.write_cache, cache, options.fdatasync, by)
        });
        Self { scale: Scale::of(cells.iter().copied()), cells }
    }

    fn cell(&self, workload: &Workload) -> Option<&'a ExperimentCell<'a>> {
        self.cells.iter().find(|cell| cell.workload == *workload).copied()
    }

    /// The comparison cell: plain writes through the same caches.
    fn plain(&self, cell: &ExperimentCell) -> Option<&'a ExperimentCell<'a>> {
        let Workload { cache, options, .. } = cell.workload;
        let usual = WorkloadOptions::default();
        let options = WorkloadOptions { flush_by: usual.flush_by, durable_by: usual.durable_by, ..options };
        let same = |cache, options| self.cell(&Workload { cache, options, ..cell.workload });
        if options.atomic {
            return same(cache, WorkloadOptions { atomic: false, ..options });
        }
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
        let workload = &cell.workload;
        let finding = &cell.finding;
        let sync_ns = |quantile: f64| syncs_ns(cell, quantile).map(|runs| Interval::of_means(&runs).value);
        DurabilityRow {
            cache: workload.cache,
            fdatasync: workload.options.fdatasync,
            flush_by: workload.options.flush_by,
            durable_by: workload.options.durable_by,
            atomic: workload.options.atomic,
            write_cache: workload.options.write_cache,
            iodepth: workload.iodepth,
            bs_bytes: workload.bs.0,
            mbps: finding.mbps.value,
            low: finding.mbps.low,
            high: finding.mbps.high,
            iops: finding.iops,
            latency_ns_p50: finding.latency_ns.p50,
            latency_ns_p99: finding.latency_ns.p99,
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
        flushed.order_by_key(|cell| cell.workload.options.fdatasync);
        let is_half = |cell: &&&'a ExperimentCell<'a>| {
            self.of_plain(cell).is_some_and(|share| share.is_known() && share.interval.low >= HALF)
        };
        let fewest = flushed.iter().rev().take_while(is_half).last();
        let cell = fewest.or(flushed.last())?;
        let writes = cell.workload.options.fdatasync;
        let of_plain = self.of_plain(cell)?;
        Some(SharedFlush { cache, writes, of_plain, is_half: fewest.is_some() })
    }

    /// The cells with a flush after every N writes.
    pub fn flushed(&self, cache: Cache) -> Vec<&'a ExperimentCell<'a>> {
        let fits = |cell: &&&ExperimentCell| {
            let options = &cell.workload.options;
            cell.workload.cache == cache && options.fdatasync > 0 && options.flush_by == FlushCall::Fdatasync
        };
        self.cells.iter().filter(fits).copied().collect()
    }

    /// The time of a flush after a single write.
    fn flush_time(&self) -> Option<FlushTime> {
        let single = |cell: &&&ExperimentCell| cell.workload.options.fdatasync == 1;
        let cell =
            [Cache::Device, Cache::Both].into_iter().find_map(|cache| self.flushed(cache).iter().find(single).copied());
        let median = syncs_ns(cell?, 0.5)?;
        let late = syncs_ns(cell?, 0.99)?;
        Some(FlushTime {
            ns_p50: Interval::of_means(&median).value,
            ns_p99: Interval::of_means(&late).value,
            ns_p50_least: median.iter().copied().fold(f64::INFINITY, f64::min),
            ns_p50_most: median.iter().copied().fold(0.0, f64::max),
        })
    }

    /// One small write at a time until it is durable, by each means; empty if only one was measured.
    fn means(&self) -> Vec<DurableMeans> {
        let all = [Cache::Device, Cache::Both].into_iter().flat_map(|cache| {
            let mut of_cache: Vec<DurableMeans> =
                self.cells.iter().filter_map(|cell| self.by_means(cell, cache)).collect();
            of_cache.order_by(|one, other| one.ns_each.total_cmp(&other.ns_each));
            if of_cache.len() > 1 { of_cache } else { Vec::new() }
        });
        all.collect()
    }

    fn by_means(&self, cell: &ExperimentCell, plain_cache: Cache) -> Option<DurableMeans> {
        let Workload { bs, iodepth, cache, options, .. } = cell.workload;
        let is_small = self.cells.first().is_some_and(|first| first.workload.bs == bs) && iodepth == 1;
        let is_of_kind = cache.direct() == plain_cache.direct() && options.write_cache.is_none() && !options.atomic;
        let by_call = options.fdatasync == 1;
        let fits = is_small && is_of_kind && (by_call || cache.durable()) && cell.finding.iops > 0.0;
        fits.then(|| DurableMeans {
            plain_cache,
            flush_by: by_call.then_some(options.flush_by),
            durable_by: (!by_call).then_some(options.durable_by),
            bs_bytes: bs.0,
            ns_each: 1e9 / cell.finding.iops,
        })
    }

    /// Compares atomic writes with the same ones that are not.
    fn atomic(&self) -> Vec<AtomicWrites> {
        let atomic = self.cells.iter().filter(|cell| cell.workload.options.atomic);
        let compared = |cell: &&'a ExperimentCell<'a>| {
            let Workload { cache, bs, .. } = cell.workload;
            Some(AtomicWrites { cache, bs_bytes: bs.0, iops: cell.finding.iops, of_plain: self.of_plain(cell)? })
        };
        atomic.filter_map(compared).collect()
    }

    /// Compares writes with and without the device's write cache.
    fn without_write_cache(&self) -> Vec<WithoutWriteCache> {
        let off = self.cells.iter().filter(|cell| cell.workload.options.write_cache == Some(Switch::Off));
        let kept = |cell: &&'a ExperimentCell<'a>| {
            let cache = cell.workload.cache;
            let bs_bytes = cell.workload.bs.0;
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

#[cfg(test)]
mod tests {
    use halfpower_record::{Environment, Latency, Record};
    use halfpower_spec::{Bytes, Cache, Experiment, Pass, Question, Rw, Switch, Workload, WorkloadOptions};

    use super::DurabilityRow;
    use crate::built::{disk, record_at};
    use crate::study_findings::{StudyFindings, analyse};

    const PLAIN_MBPS: f64 = 100.0;
    const FLUSH_NS: u64 = 1_500_000;

    /// Three runs of sequential writes at this rate, with a relative deviation of `chance`.
    fn runs(cache: Cache, iodepth: u32, options: WorkloadOptions, mbps: f64, chance: f64) -> Vec<Record> {
        let workload = Workload { rw: Rw::Write, cache, bs: Bytes(4096), iodepth, options, ..Workload::default() };
        let run = |repeat: u32| {
            let rate = mbps * 1e6 * (1.0 + chance * (f64::from(repeat) - 1.0));
            let mut record = record_at(&disk("fixed=80us,rate=500MB/s"), workload, repeat, Pass::Plain, rate);
            record.run.experiment = Some(Experiment::Durability);
            record.syncs = Latency::default();
            (0..options.fdatasync.min(1)).for_each(|_| record.syncs.add(FLUSH_NS));
            record
        };
        (0..3).map(run).collect()
    }

    fn usual() -> WorkloadOptions {
        WorkloadOptions::default()
    }

    /// Runs with a flush after every N writes, at these shares of the plain rate.
    fn flushed(shares: [f64; 5], chance: f64) -> Vec<Record> {
        let each = [1, 4, 16, 64, 256].into_iter().zip(shares);
        let runs_of = |(fdatasync, share): (u32, f64)| {
            runs(Cache::Device, 1, WorkloadOptions { fdatasync, ..usual() }, share * PLAIN_MBPS, chance)
        };
        each.flat_map(runs_of).collect()
    }

    fn findings(records: &[Vec<Record>]) -> StudyFindings {
        let question = Question { experiments: vec![Experiment::Durability], ..Question::about("d") };
        analyse(&question, &Environment::default(), &records.concat())
    }

    fn answer(records: &[Vec<Record>]) -> String {
        findings(records).experiments[0].answer.clone()
    }

    fn near(found: f64, truth: f64) -> bool {
        (found / truth - 1.0).abs() < 0.01
    }

    #[test]
    fn each_promise_is_held_against_the_same_writes_without_it() {
        let write_cache = |write_cache| WorkloadOptions { write_cache: Some(write_cache), ..usual() };
        let reported = findings(&[
            runs(Cache::Both, 1, usual(), 4.0 * PLAIN_MBPS, 0.02),
            runs(Cache::Os, 1, usual(), 8.0, 0.02),
            runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.02),
            runs(Cache::None, 1, usual(), 5.0, 0.02),
            runs(Cache::None, 16, usual(), 40.0, 0.02),
            runs(Cache::Device, 1, write_cache(Switch::On), PLAIN_MBPS, 0.02),
            runs(Cache::Device, 1, write_cache(Switch::Off), 10.0, 0.02),
            flushed([0.05, 0.2, 0.45, 0.7, 0.9], 0.02),
        ]);
        let share = |wanted: &dyn Fn(&DurabilityRow) -> bool| {
            reported
                .rows
                .durability
                .durability
                .iter()
                .find(|row| wanted(row))
                .and_then(|row| row.of_plain)
                .map(|share| share.value)
        };
        let one = |row: &DurabilityRow| row.iodepth == 1;
        assert!(near(share(&|row| row.cache == Cache::None && one(row)).unwrap(), 0.05));
        assert!(near(share(&|row| row.cache == Cache::Os).unwrap(), 0.02));
        assert!(near(share(&|row| row.fdatasync == 16).unwrap(), 0.45));
        assert!(near(share(&|row| row.write_cache == Some(Switch::Off)).unwrap(), 0.1));
        assert_eq!(share(&|row| row.cache == Cache::Both), None, "a plain write is held against nothing");
        let answer = &reported.experiments[0].answer;
        assert!(answer.contains("durable one by one are, direct, 20 times"), "{answer}");
        let short = reported.experiments[0].short.as_ref().unwrap();
        assert_eq!(short.figure, "20 times slower");
        assert!(short.sentence.starts_with("Direct writes of 4 KiB, durable one by one, reach "), "{short:?}");
        assert!(short.sentence.ends_with("; half of that from 64 a flush on."), "{short:?}");
        assert!(answer.contains("16 at once are 8.00 times"), "{answer}");
        assert!(answer.contains("at least half of the plain rate from 64 a flush on: 70%"), "{answer}");
        assert!(answer.contains("a flush of a single write takes 1.5 ms in the median"), "{answer}");
        assert!(answer.contains("Without the device's write cache, direct writes of 4 KiB get 10%"), "{answer}");
    }

    #[test]
    fn half_of_the_rate_is_reached_where_the_interval_says_so() {
        let plain = || runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.02);
        // A share of 60% with an interval from 40% to 90% may be less than half.
        let uncertain = answer(&[plain(), flushed([0.05, 0.2, 0.45, 0.6, 0.95], 0.15)]);
        assert!(uncertain.contains("from 256 a flush on"), "{uncertain}");
        let never = answer(&[plain(), flushed([0.05, 0.1, 0.2, 0.3, 0.4], 0.02)]);
        assert!(never.contains("do not surely get half of the plain rate even with 256 a flush: 40%"), "{never}");
    }

    #[test]
    fn half_of_the_rate_is_reached_from_a_number_on_and_not_by_chance_below_it() {
        let plain = runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.02);
        let dips = answer(&[plain.clone(), flushed([0.05, 0.6, 0.3, 0.7, 0.9], 0.02)]);
        assert!(dips.contains("at least half of the plain rate from 64 a flush on: 70%"), "{dips}");
        let mut once = [plain, flushed([0.05, 0.6, 0.7, 0.8, 0.9], 0.02)].concat();
        once.retain(|record| record.run.repeat == 0);
        let once = answer(&[once]);
        assert!(once.contains("direct ones get 90% (by one run each) of the plain rate with 256 a flush"), "{once}");
    }

    #[test]
    fn atomic_writes_are_held_against_those_that_are_not() {
        let atomic = WorkloadOptions { atomic: true, ..usual() };
        let reported = findings(&[
            runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.02),
            runs(Cache::None, 1, usual(), 5.0, 0.02),
            runs(Cache::Device, 1, atomic, 0.8 * PLAIN_MBPS, 0.02),
            runs(Cache::None, 1, atomic, 4.5, 0.02),
        ]);
        let rows = &reported.rows.durability.durability;
        let shares: Vec<f64> = rows.iter().filter(|row| row.atomic).map(|row| row.of_plain.unwrap().value).collect();
        assert!(shares.len() == 2 && near(shares[0], 0.8) && near(shares[1], 0.9), "{shares:?}");
        let answer = &reported.experiments[0].answer;
        assert!(answer.contains("Atomic writes of 4 KiB (--atomic) get, direct, 80% ("), "{answer}");
        assert!(answer.contains("durable direct, 90% ("), "{answer}");
        assert!(!answer.contains("each durable write of 4 KiB takes"), "they are no means of durability: {answer}");
    }

    /// Others use the disk during the whole second round, and it is free again in the third.
    #[test]
    fn a_slow_round_hides_no_difference() {
        let mut runs = [
            runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.02),
            runs(Cache::None, 1, usual(), 50.0, 0.02),
            flushed([0.05, 0.2, 0.45, 0.7, 0.9], 0.02),
        ];
        let slow = |record: &&mut Record| record.run.repeat == 1;
        runs.iter_mut().flatten().filter(slow).for_each(|record| record.elapsed_ns *= 3);
        let answer = answer(&runs);
        assert!(answer.contains("durable one by one are, direct, 2.00 times"), "{answer}");
        assert!(answer.contains("at least half of the plain rate from 64 a flush on: 70%"), "{answer}");
    }

    #[test]
    fn single_runs_show_their_ratio_and_no_judgement() {
        let mut once = [
            runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.0),
            runs(Cache::None, 1, usual(), 5.0, 0.0),
            runs(Cache::None, 16, usual(), 40.0, 0.0),
        ]
        .concat();
        once.retain(|record| record.run.repeat == 0);
        let reported = answer(&[once]);
        assert!(reported.contains("direct, 20 times (by one run each) slower"), "{reported}");
        assert!(reported.contains("16 at once are 8.00 times (by one run each) as fast"), "{reported}");
    }

    /// The smallest blocks have no durable cell, so the answer does not mention them.
    #[test]
    fn blocks_of_one_size_are_held_against_each_other_alone() {
        let large = |cache, iodepth, mbps| {
            let mut records = runs(cache, iodepth, usual(), mbps, 0.02);
            records.iter_mut().for_each(|record| record.run.workload.bs = Bytes(65536));
            records
        };
        let reported = answer(&[
            runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.02),
            runs(Cache::None, 16, usual(), 40.0, 0.02),
            large(Cache::Device, 1, PLAIN_MBPS),
            large(Cache::None, 1, 50.0),
        ]);
        assert!(!reported.contains("4 KiB") && !reported.contains("at once"), "{reported}");
    }

    #[test]
    fn what_chance_could_have_made_is_not_called_slower() {
        let reported = answer(&[
            runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.4),
            runs(Cache::None, 1, usual(), 0.7 * PLAIN_MBPS, 0.4),
            runs(Cache::None, 16, usual(), PLAIN_MBPS, 0.4),
        ]);
        assert!(
            reported.contains("no slower that these runs could tell")
                && reported.contains("bring nothing that these runs show"),
            "{reported}"
        );
        let alike = answer(&[
            runs(Cache::Device, 1, usual(), PLAIN_MBPS, 0.001),
            runs(Cache::None, 1, usual(), PLAIN_MBPS, 0.001),
        ]);
        assert!(alike.contains("as fast as plain ones"), "{alike}");
    }
}
