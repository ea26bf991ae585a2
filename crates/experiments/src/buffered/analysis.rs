//! Compares requests through the page cache with direct requests.

use halfpower_analyse::{Access, ExperimentCell, Interval, has_settings};
use halfpower_spec::{Direction, Fadvise, InOrder, JsonSchema, PageCache, Pass};
use serde::Serialize;

use super::cost::{BufferedCostRow, PAGE_BYTES, terms};
use super::dropped::{DroppedPages, compared, kept_share};
use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, Scale};

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Requests through the page cache and past it, by block size.
    pub buffered: Vec<BufferedRow>,
    /// Processor cost of a buffered request, term by term.
    pub buffered_cost: Vec<BufferedCostRow>,
}

/// Buffered or direct requests at one block size, at depth 1.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, JsonSchema)]
pub struct BufferedRow {
    /// Order and direction.
    #[serde(flatten)]
    pub access: Access,
    /// Whether requests go through the page cache.
    pub buffered: bool,
    /// Whether their pages are dropped after use (`RWF_DONTCACHE`); left out if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub uncached: bool,
    /// State of the page cache when the run began.
    pub page_cache: PageCache,
    /// Advice to the kernel on the order of reads.
    pub fadvise: Fadvise,
    /// Block size.
    pub bs_bytes: u64,
    /// Mean throughput in MB/s; includes the closing flush of buffered writes.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Throughput into the page cache in MB/s, before the closing flush.
    pub memory_mbps: Option<f64>,
    /// Share of the time that the closing flush took.
    pub flush_share: Option<f64>,
    /// Mean latency in nanoseconds.
    pub latency_ns_mean: f64,
    /// Processor time per request charged to the process, in microseconds.
    pub charged_us: f64,
    /// Processor time per request by the soaker, which includes read-ahead and write-behind; `null` without a soaker
    /// pass.
    pub soaker_us: Option<f64>,
    /// Share of the bytes moved that the page cache held after the run; left out if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_share: Option<f64>,
}

/// The effect of the page cache on requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct BufferedAnswer {
    /// Buffered requests compared with direct ones, by direction.
    pub against_direct: Vec<AgainstDirect>,
    /// The terms of a buffered request's processor time; of writes if there are any.
    pub cost: Option<BufferedCostRow>,
    /// A random write of less than a page.
    pub small_write: Option<SmallWrite>,
    /// Sequential writes of less than a page.
    pub below_a_page: Option<BelowAPage>,
    /// The phases of a write.
    pub phases: Option<WritePhases>,
    /// Reads with the advice to expect random access, which turns read-ahead off.
    pub without_read_ahead: Option<WithoutReadAhead>,
    /// Buffered requests whose pages are dropped after use, by direction and size; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped_pages: Vec<DroppedPages>,
}

/// How many times as fast buffered requests of one direction are as direct ones, at depth 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AgainstDirect {
    /// Which way the bytes go.
    pub rw: Direction,
    /// At the smallest block size of a page or more.
    pub smallest: RatioAtSize,
    /// At the largest block size, if that is another one.
    pub largest: Option<RatioAtSize>,
}

/// A ratio at one block size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RatioAtSize {
    /// Block size.
    pub bs_bytes: u64,
    /// The ratio.
    pub times: RatioFinding,
}

/// The time of a write of less than a page.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SmallWrite {
    /// Block size.
    pub bs_bytes: u64,
    /// Mean time into a page that is not in memory, in nanoseconds.
    pub absent_ns: f64,
    /// Mean time into a page that is in memory, in nanoseconds.
    pub present_ns: f64,
    /// `absent_ns` over `present_ns`, with its interval.
    pub times: RatioFinding,
}

/// How writes of less than a page compare with writes of whole pages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BelowAPage {
    /// Block size.
    pub bs_bytes: u64,
    /// Size of a page.
    pub page_bytes: u64,
    /// Throughput as a share of that of whole pages.
    pub of_whole: RatioFinding,
}

/// The rates at which the page cache takes writes, and the share of time in the flush.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WritePhases {
    /// Block size.
    pub bs_bytes: u64,
    /// Throughput into the page cache in MB/s, before the closing flush.
    pub memory_mbps: f64,
    /// That throughput at first, if it changed.
    pub burst_mbps: Option<f64>,
    /// That throughput later, if it changed.
    pub sustained_mbps: Option<f64>,
    /// Share of the time that the closing flush took.
    pub flush_share: f64,
}

/// Throughput of reads without read-ahead.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WithoutReadAhead {
    /// Block size.
    pub bs_bytes: u64,
    /// Throughput as a share of that with read-ahead.
    pub of_usual: RatioFinding,
}

/// Block size of the run shown over time, and of the chart that compares the cost's terms.
pub(super) const SHOWN_BYTES: u64 = 64 << 10;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, BufferedAnswer) {
    let walk = Walk::of(data);
    let buffered_cost = terms(&walk.cells);
    let answer = BufferedAnswer {
        against_direct: Direction::ALL.iter().filter_map(|rw| walk.against_direct(*rw)).collect(),
        // Writes if there are any: they have work behind the call (writing back), which reads lack.
        cost: buffered_cost.iter().max_by_key(|row| row.rw).copied(),
        small_write: walk.small_write(),
        below_a_page: walk.below_a_page(),
        phases: walk.phases(),
        without_read_ahead: walk.without_read_ahead(),
        dropped_pages: compared(&walk.cells, &walk.scale),
    };
    (Rows { buffered: walk.cells.iter().map(|cell| row(cell)).collect(), buffered_cost }, answer)
}

fn row(cell: &ExperimentCell) -> BufferedRow {
    let workload = &cell.workload;
    let finding = &cell.finding;
    BufferedRow {
        access: finding.access(),
        buffered: !workload.cache.direct(),
        uncached: workload.options.uncached,
        page_cache: workload.options.page_cache,
        fadvise: workload.options.fadvise,
        bs_bytes: workload.bs.0,
        mbps: finding.mbps.value,
        low: finding.mbps.low,
        high: finding.mbps.high,
        memory_mbps: finding.memory_mbps,
        flush_share: finding.flush_share,
        latency_ns_mean: finding.latency_ns.mean.unwrap_or_default(),
        charged_us: finding.charged_us.unwrap_or_default(),
        soaker_us: finding.soaker_us,
        kept_share: kept_share(cell),
    }
}

/// The cells, sorted by direction, cache setting, options and block size.
pub(super) struct Walk<'a> {
    scale: Scale,
    pub cells: Vec<&'a ExperimentCell<'a>>,
}

impl<'a> Walk<'a> {
    pub fn of(data: &'a ExperimentData) -> Self {
        let mut cells: Vec<&ExperimentCell> = data.sound().collect();
        cells.order_by_key(|cell| {
            let workload = cell.workload;
            (workload.rw, workload.cache.direct(), workload.options, workload.bs)
        });
        Self { scale: Scale::of(cells.iter().copied()), cells }
    }

    /// The walk of block sizes in one direction, buffered or direct.
    pub fn along(&self, rw: Direction, direct: bool) -> Vec<&'a ExperimentCell<'a>> {
        let on_it = |cell: &&&ExperimentCell| {
            let workload = cell.workload;
            workload.options.is_default() && cell.finding.rw == rw && workload.cache.direct() == direct
        };
        self.cells.iter().filter(on_it).copied().collect()
    }

    /// The walk of buffered requests of one direction whose pages are dropped after use.
    pub fn dropped(&self, rw: Direction) -> Vec<&'a ExperimentCell<'a>> {
        let on_it = |cell: &&&ExperimentCell| cell.workload.options.uncached && cell.finding.rw == rw;
        self.cells.iter().filter(on_it).copied().collect()
    }

    fn at(&self, rw: Direction, direct: bool, bs_bytes: u64) -> Option<&'a ExperimentCell<'a>> {
        self.along(rw, direct).into_iter().find(|cell| cell.workload.bs.0 == bs_bytes)
    }

    /// Compares buffered with direct requests, at the smallest block size of a page or more and at the largest.
    fn against_direct(&self, rw: Direction) -> Option<AgainstDirect> {
        let at = |bs_bytes: u64| {
            let times = self.scale.times(&[self.at(rw, false, bs_bytes)?], &[self.at(rw, true, bs_bytes)?])?;
            Some(RatioAtSize { bs_bytes, times })
        };
        let sizes = self.along(rw, true).into_iter().map(|cell| cell.workload.bs.0);
        let compared: Vec<RatioAtSize> = sizes.filter(|bytes| *bytes >= PAGE_BYTES).filter_map(at).collect();
        let smallest = *compared.first()?;
        let largest = *compared.last()?;
        Some(AgainstDirect { rw, smallest, largest: (compared.len() > 1).then_some(largest) })
    }

    /// Compares a small write that must read its page first with one that finds its page in memory.
    fn small_write(&self) -> Option<SmallWrite> {
        let [absent, present] = [PageCache::Empty, PageCache::Warm].map(|state| self.small(state));
        let absent = absent?;
        let present = present?;
        let runs = [call_ns(absent), call_ns(present)];
        let times = Scale::of_means(runs.iter().map(Vec::as_slice)).times_means(&runs[0], &runs[1])?;
        let [absent_ns, present_ns] = runs.map(|runs| Interval::of_means(&runs).value);
        Some(SmallWrite { bs_bytes: absent.workload.bs.0, absent_ns, present_ns, times })
    }

    /// The random write of less than a page, with the page cache in this state.
    pub fn small(&self, state: PageCache) -> Option<&'a ExperimentCell<'a>> {
        let is_small = |cell: &&&ExperimentCell| {
            let workload = cell.workload;
            workload.rw.writes()
                && workload.options.region.is_some()
                && workload.options.page_cache == state
                && workload.bs.0 < PAGE_BYTES
        };
        self.cells.iter().find(is_small).copied()
    }

    /// Compares sequential writes of less than a page with writes of whole pages.
    fn below_a_page(&self) -> Option<BelowAPage> {
        let writes = self.along(Direction::Write, false);
        let small = writes.iter().find(|cell| cell.workload.bs.0 < PAGE_BYTES)?;
        let whole = writes.iter().find(|cell| cell.workload.bs.0 == PAGE_BYTES)?;
        let of_whole = self.scale.times(&[small], &[whole])?;
        Some(BelowAPage { bs_bytes: small.workload.bs.0, page_bytes: PAGE_BYTES, of_whole })
    }

    /// Compares reads without read-ahead (advice `random`) with the same reads as usual.
    fn without_read_ahead(&self) -> Option<WithoutReadAhead> {
        let without = self.advised(Fadvise::Random)?;
        let of_usual = self.scale.times(&[without], &[self.advised(Fadvise::Normal)?])?;
        Some(WithoutReadAhead { bs_bytes: without.workload.bs.0, of_usual })
    }

    /// The read with this advice, at the block size at which advice is compared.
    pub fn advised(&self, advice: Fadvise) -> Option<&'a ExperimentCell<'a>> {
        let reported = |cell: &&&ExperimentCell| cell.workload.options.fadvise != Fadvise::Normal;
        let bs = self.cells.iter().find(reported)?.workload.bs;
        let is_it = |cell: &&&ExperimentCell| {
            let workload = cell.workload;
            let fits = workload.bs == bs && workload.options.fadvise == advice;
            fits && !workload.cache.direct() && !workload.rw.writes()
        };
        self.cells.iter().find(is_it).copied()
    }

    fn phases(&self) -> Option<WritePhases> {
        let finding = &self.at(Direction::Write, false, SHOWN_BYTES)?.finding;
        Some(WritePhases {
            bs_bytes: SHOWN_BYTES,
            memory_mbps: finding.memory_mbps?,
            burst_mbps: finding.burst_mbps,
            sustained_mbps: finding.sustained_mbps,
            flush_share: finding.flush_share?,
        })
    }
}

/// Mean time of a call in each plain run, in nanoseconds.
pub(super) fn call_ns(cell: &ExperimentCell) -> Vec<f64> {
    let plain = cell.records.iter().filter(|record| record.run.pass == Pass::Plain && record.ios > 0);
    plain.map(|record| record.latency.mean_ns()).collect()
}

has_settings!(BufferedRow, access: Access);

#[cfg(test)]
mod tests {
    use halfpower_record::{Environment, Latency, Record, Series, Soaker};
    use halfpower_spec::{
        Bytes, Cache, Direction, Experiment, PageCache, Pass, Question, Region, Rw, Workload, WorkloadOptions,
    };

    use crate::buffered::cost::{BufferedCostRow, Cheaper};
    use crate::built::{disk, record_at};
    use crate::study_findings::{StudyFindings, analyse};

    const SIZES_KIB: [u64; 5] = [2, 4, 16, 64, 256];
    /// Microseconds charged per call and per KiB, buffered and direct, and lost beyond that per 64 KiB.
    const BUFFERED: (f64, f64) = (1.5, 0.25);
    const DIRECT: (f64, f64) = (9.0, 0.02);
    const BEHIND_US: f64 = 14.0;

    fn walk(rw: Rw, cache: Cache, kib: u64) -> Workload {
        Workload { rw, cache, bs: Bytes(kib << 10), iodepth: 1, ..Workload::default() }
    }

    /// A run whose requests cost what the constants say, times `chance`.
    fn run(workload: Workload, direct: (f64, f64), repeat: u32, pass: Pass, chance: f64) -> Record {
        let kib = workload.bs.0 as f64 / 1024.0;
        let (call_us, us_per_kib) = if workload.cache.direct() { direct } else { BUFFERED };
        let call_us = (call_us + us_per_kib * kib) * chance;
        let mut record =
            record_at(&disk("fixed=80us,rate=500MB/s"), workload, repeat, pass, kib * 1024e6 / call_us / 4.0);
        record.run.experiment = Some(Experiment::Buffered);
        record.cpu.user_ns = 0;
        record.cpu.system_ns = (record.ios as f64 * call_us * 1e3) as u64;
        let behind_us = if workload.cache.direct() { 0.0 } else { BEHIND_US * kib / 64.0 };
        let lost_ns = (record.ios as f64 * (call_us + behind_us) * 1e3) as u64;
        record.cpu.soaker = (pass == Pass::Soaker).then_some(Soaker { lost_ns, baseline_share: 1.0 });
        record
    }

    fn records() -> Vec<Record> {
        records_beside(DIRECT)
    }

    fn records_beside(direct: (f64, f64)) -> Vec<Record> {
        let mut records = Vec::new();
        for rw in [Rw::Read, Rw::Write] {
            for cache in [Cache::Both, Cache::Device] {
                for kib in SIZES_KIB {
                    let share = |repeat: u32| 1.0 + 0.02 * (f64::from(repeat) - 1.0);
                    let workload = walk(rw, cache, kib);
                    records.extend((0..3).map(|repeat| run(workload, direct, repeat, Pass::Plain, share(repeat))));
                    records.extend((0..2).map(|repeat| run(workload, direct, repeat, Pass::Soaker, 1.0)));
                }
            }
        }
        records
    }

    fn findings(records: &[Record]) -> StudyFindings {
        let question = Question { experiments: vec![Experiment::Buffered], ..Question::about("d") };
        analyse(&question, &Environment::default(), records)
    }

    fn terms(findings: &StudyFindings, rw: Direction) -> BufferedCostRow {
        *findings.rows.buffered.buffered_cost.iter().find(|row| row.rw == rw).expect("no terms")
    }

    fn near(found: f64, truth: f64) -> bool {
        (found / truth - 1.0).abs() < 0.01
    }

    #[test]
    fn the_three_terms_come_back() {
        let reported = findings(&records());
        for rw in [Direction::Read, Direction::Write] {
            let row = terms(&reported, rw);
            assert!(near(row.call_us.value, BUFFERED.0), "{row:?}");
            assert!(near(row.copy_ns_per_byte.value, BUFFERED.1 * 1e3 / 1024.0), "{row:?}");
            assert!(near(row.behind_us_per_64kib.unwrap().value, BEHIND_US), "{row:?}");
            // The lines meet where the saved call equals the cost of the copy and of the work behind it.
            let kib = (DIRECT.0 - BUFFERED.0) / (BUFFERED.1 + BEHIND_US / 64.0 - DIRECT.1);
            assert!(
                row.cheaper == Cheaper::DirectFromASize && near(row.break_even_bytes.unwrap(), kib * 1024.0),
                "{row:?}"
            );
        }
        assert_eq!(reported.rows.buffered.buffered.len(), 20);
        let answer = &reported.experiments[0].answer;
        assert!(
            answer.contains("costs 1.5 µs a call, 0.24 ns a byte and 14 µs for each 64 KiB written behind"),
            "{answer}"
        );
        assert!(answer.contains("so that direct ones cost less from"), "{answer}");
    }

    #[test]
    fn without_the_soaker_the_charge_alone_decides_and_is_named() {
        let mut records = records();
        records.retain(|record| record.run.pass == Pass::Plain);
        let reported = findings(&records);
        let row = terms(&reported, Direction::Write);
        let kib = (DIRECT.0 - BUFFERED.0) / (BUFFERED.1 - DIRECT.1);
        assert!(row.behind_us_per_64kib.is_none() && near(row.break_even_bytes.unwrap(), kib * 1024.0), "{row:?}");
        assert!(reported.experiments[0].answer.contains("by the charge alone"), "{}", reported.experiments[0].answer);
        // An unknown term does not appear in the picture.
        let parts =
            reported.experiments[0].pictures.iter().find(|picture| picture.title.contains("of 64 KiB")).unwrap();
        let names: Vec<&str> = parts.lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["the call", "the copy"]);
    }

    #[test]
    fn lines_that_are_alike_carry_no_verdict() {
        let reported = findings(&records_beside(BUFFERED));
        assert_eq!(terms(&reported, Direction::Read).cheaper, Cheaper::Unknown);
        assert!(!reported.experiments[0].answer.contains("cost less"), "{}", reported.experiments[0].answer);
    }

    #[test]
    fn a_study_cut_short_claims_nothing_of_two_sizes() {
        let mut records = records();
        let kept = |record: &Record| [4096, 16_384].contains(&record.run.workload.bs.0) && record.run.repeat == 0;
        records.retain(|record| kept(record) && (record.run.pass == Pass::Plain || record.run.workload.bs.0 == 4096));
        let reported = findings(&records);
        let row = terms(&reported, Direction::Write);
        assert!(row.cheaper == Cheaper::Unknown && row.behind_us_per_64kib.is_none(), "{row:?}");
        let answer = &reported.experiments[0].answer;
        assert!(!answer.contains("cost less") && !answer.contains("written behind"), "{answer}");
    }

    #[test]
    fn dropped_pages_are_held_against_those_that_stay() {
        let mut records = records();
        for rw in [Rw::Read, Rw::Write] {
            let options = WorkloadOptions { uncached: true, ..WorkloadOptions::default() };
            let workload = Workload { options, ..walk(rw, Cache::Both, 64) };
            let share = |repeat: u32| 1.25 * (1.0 + 0.02 * (f64::from(repeat) - 1.0));
            records.extend((0..3).map(|repeat| run(workload, DIRECT, repeat, Pass::Plain, share(repeat))));
        }
        let none = findings(&records);
        assert!(!none.experiments[0].answer.contains("stay in the page cache"), "{}", none.experiments[0].answer);
        for record in &mut records {
            let Workload { cache, options, .. } = record.run.workload;
            record.span_bytes = 1 << 40;
            let kept = if options.uncached { 0 } else { record.bytes };
            record.cached_after_bytes = (!cache.direct()).then_some(kept);
        }
        let reported = findings(&records);
        let rows = &reported.rows.buffered.buffered;
        let dropped: Vec<_> = rows.iter().filter(|row| row.uncached).map(|row| row.kept_share).collect();
        assert_eq!(dropped, [Some(0.0); 2]);
        assert_eq!(
            reported.rows.buffered.buffered_cost, none.rows.buffered.buffered_cost,
            "the terms are of the usual"
        );
        let answer = &reported.experiments[0].answer;
        assert!(answer.contains("With pages dropped after use (--uncached), reads of 64 KiB get 80% ("), "{answer}");
        let told = "cost 0.33 ns a byte against 0.27 by the charge alone; 0% of their bytes stay in the page cache, and 100% of \
                    the others'";
        assert!(answer.contains(told), "{answer}");
    }

    /// A random small write whose calls take `call_ns`.
    fn small(kib: u64, page_cache: PageCache, repeat: u32, call_ns: u64) -> Record {
        let region = Some(Region { from: Bytes(0), bytes: Bytes(64 << 20) });
        let options = WorkloadOptions { region, page_cache, ..WorkloadOptions::default() };
        let workload = Workload { options, ..walk(Rw::Randwrite, Cache::Both, kib) };
        let mut record = run(workload, DIRECT, repeat, Pass::Plain, 1.0);
        record.latency = Latency::default();
        record.latency.add(call_ns);
        record
    }

    #[test]
    fn a_page_that_is_read_first_shows_in_the_time_of_a_write() {
        let reported = |cold_ns: [u64; 2]| {
            let of = |page_cache, times: [u64; 2]| {
                [0, 1].map(|repeat| small(2, page_cache, repeat as u32, times[repeat])).to_vec()
            };
            let records = [of(PageCache::Empty, cold_ns), of(PageCache::Warm, [1_000, 1_020])].concat();
            findings(&records).experiments[0].answer.clone()
        };
        let read_first = reported([40_000, 40_400]);
        assert!(read_first.contains("takes 40 µs, and 1.0 µs into one that is: 40 times ("), "{read_first}");
        let unknown = reported([500, 90_000]);
        let once = {
            let records = [small(2, PageCache::Empty, 0, 40_000), small(2, PageCache::Warm, 0, 1_000)];
            findings(&records).experiments[0].answer.clone()
        };
        assert!(once.ends_with("40 times (by one run each)."), "{once}");
        assert!(unknown.contains("cannot tell them apart") && !unknown.contains("since the page"), "{unknown}");
    }

    #[test]
    fn a_run_over_time_shows_what_the_cache_took_and_then_the_flush() {
        let mut records = records();
        let shown = |record: &&mut Record| record.run.workload == walk(Rw::Write, Cache::Both, 64);
        for record in records.iter_mut().filter(shown) {
            // 100 MB/s for 0.3 s, 20 MB/s for 0.3 s, then a flush of 0.4 s that takes no writes.
            let steps = [vec![1_000_000; 30], vec![200_000; 30], vec![0; 40]].concat();
            record.series = Series { step_ns: 10_000_000, bytes: steps };
            (record.bytes, record.elapsed_ns, record.flush_ns) = (36_000_000, 1_000_000_000, 400_000_000);
        }
        let reported = findings(&records);
        let picture =
            reported.experiments[0].pictures.iter().find(|picture| picture.title.contains("over time")).unwrap();
        let [taken, flush] = &picture.lines[..] else { panic!("{picture:?}") };
        let rates: Vec<f64> = taken.points.iter().map(|point| point.y).collect();
        assert_eq!((rates.len(), rates[0], rates[rates.len() - 1]), (12, 100.0, 20.0));
        assert!(flush.points.iter().all(|point| point.y == 0.0));
        assert_eq!([flush.points[0].x, flush.points[1].x], [600.0, 1000.0]);
        let answer = &reported.experiments[0].answer;
        assert!(answer.contains("until they are durable, 40% of the time is the closing flush"), "{answer}");
    }
}
