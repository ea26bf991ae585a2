//! Compares requests through the page cache with direct requests.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{Direction, Fadvise, PageCache, Pass};

use super::answer::{
    AgainstDirect, BelowAPage, BufferedAnswer, RatioAtSize, SmallWrite, WithoutReadAhead, WritePhases,
};
use super::cost::{PAGE_BYTES, terms};
use super::rows::{BufferedRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::Scale;

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
    };
    (Rows { buffered: walk.cells.iter().map(|cell| row(cell)).collect(), buffered_cost }, answer)
}

fn row(cell: &ExperimentCell) -> BufferedRow {
    let (workload, finding) = (&cell.workload, &cell.finding);
    BufferedRow {
        rw: finding.rw,
        pattern: finding.pattern,
        buffered: !workload.cache.direct(),
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
        cells.sort_by_key(|cell| {
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
        let (smallest, largest) = (*compared.first()?, *compared.last()?);
        Some(AgainstDirect { rw, smallest, largest: (compared.len() > 1).then_some(largest) })
    }

    /// Compares a small write that must read its page first with one that finds its page in memory.
    fn small_write(&self) -> Option<SmallWrite> {
        let [absent, present] = [PageCache::Empty, PageCache::Warm].map(|state| self.small(state));
        let (absent, present) = (absent?, present?);
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
