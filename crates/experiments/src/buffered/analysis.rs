//! `buffered`: what does the page cache add to a request, and what does it take from it?

use halfpower_spec::{Direction, Fadvise, PageCache};

use super::cost::{BufferedCostRow, PAGE_BYTES, terms};
use super::rows::{BufferedRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::Scale;
use crate::section::{Picture, Told};
use halfpower_analyse::ExperimentCell;
use halfpower_analyse::Interval;
use halfpower_text::format;

/// Draws the walk and the terms of its cost.
type Pictures = fn(&Walk, &[BufferedCostRow]) -> Vec<Picture>;

/// Block size whose run is shown over time, and at which the terms of the cost are set beside each other.
pub(super) const SHOWN_BYTES: u64 = 64 << 10;

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows, pictures: Pictures) -> Told {
    let mut cells: Vec<&ExperimentCell> = evidence.sound().collect();
    cells.sort_by_key(|cell| {
        let workload = cell.workload;
        (workload.rw, workload.cache.direct(), workload.options, workload.bs)
    });
    rows.buffered = cells.iter().map(|cell| row(cell)).collect();
    rows.buffered_cost = terms(&cells);
    let walk = Walk { scale: Scale::of(cells.iter().copied()), cells };
    let clauses = [
        walk.beside_direct(),
        costs(&rows.buffered_cost),
        walk.small_writes().or_else(|| walk.below_a_page()),
        walk.phases().or_else(|| walk.without_read_ahead()),
    ];
    let answer = crate::section::answer(clauses, "No request through the page cache could be measured.");
    Told { answer, pictures: pictures(&walk, &rows.buffered_cost) }
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
        call_us: finding.latency_ns.mean / 1e3,
        charged_us: finding.charged_us,
        soaker_us: finding.soaker_us,
    }
}

/// The cells, in order of block size.
pub(super) struct Walk<'a> {
    scale: Scale,
    pub cells: Vec<&'a ExperimentCell<'a>>,
}

impl<'a> Walk<'a> {
    /// The walk of block sizes in one direction, through the page cache or past it.
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

    /// How many times as fast buffered requests are as direct ones, at the smallest size of a page or more and at the
    /// largest.
    fn beside_direct(&self) -> Option<String> {
        let compared = |rw: Direction, bs_bytes: u64| {
            self.scale.times(&[self.at(rw, false, bs_bytes)?], &[self.at(rw, true, bs_bytes)?])
        };
        let sizes = |rw: Direction| {
            let all = self.along(rw, true).into_iter().map(|cell| cell.workload.bs.0);
            all.filter(|bytes| *bytes >= PAGE_BYTES && compared(rw, *bytes).is_some()).collect::<Vec<u64>>()
        };
        let told = |rw: &Direction| {
            let sizes = sizes(*rw);
            let (first, last) = (*sizes.first()?, *sizes.last()?);
            let at = |bytes: u64| {
                let (ratio, size) = (compared(*rw, bytes)?, format::size(bytes as f64));
                let times = if ratio.is_one() { String::new() } else { format!("{} ", ratio.times()) };
                Some(format!("{times}as fast at {size}"))
            };
            let rest = if first == last { String::new() } else { format!(" and {}", at(last)?) };
            Some(format!("{rw}s are {}{rest}", at(first)?))
        };
        let both: Vec<String> = Direction::ALL.iter().filter_map(told).collect();
        (!both.is_empty()).then(|| format!("buffered against direct, one request at a time, {}", both.join(", ")))
    }

    /// What a small write takes that has to read its page first, and one that finds it.
    fn small_writes(&self) -> Option<String> {
        let [cold, warm] = [PageCache::Empty, PageCache::Warm].map(|state| self.small(state));
        let (cold, warm) = (cold?, warm?);
        let size = format::size(cold.workload.bs.0 as f64);
        let times = [call_us(cold), call_us(warm)];
        let ratio = Scale::of_means(times.iter().map(Vec::as_slice)).times_means(&times[0], &times[1])?;
        let figures = times.map(|times| format::time_us(Interval::of_means(&times).value));
        let times = match ratio {
            _ if ratio.is_more() => format!("{}, since the page is read first", ratio.times()),
            _ if ratio.is_less() || !ratio.is_known() => ratio.times(),
            _ => format!("{}, so that these runs cannot tell them apart", ratio.times()),
        };
        Some(format!(
            "a write of {size} into a page that is not in memory takes {}, and {} into one that is: {times}",
            figures[0], figures[1]
        ))
    }

    /// The write of less than a page, anywhere, with the page cache in this state.
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

    /// What writes of less than a page get of whole pages, one after the other.
    fn below_a_page(&self) -> Option<String> {
        let writes = self.along(Direction::Write, false);
        let small = writes.iter().find(|cell| cell.workload.bs.0 < PAGE_BYTES)?;
        let whole = writes.iter().find(|cell| cell.workload.bs.0 == PAGE_BYTES)?;
        let ratio = self.scale.times(&[small], &[whole])?;
        let [small, whole] = [small, whole].map(|cell| format::size(cell.workload.bs.0 as f64));
        let why = if ratio.is_less() { ", since each page is read before it is changed" } else { "" };
        Some(format!("writes of {small} get {} of what writes of {whole} get{why}", ratio.share()))
    }

    /// What reads get when the kernel is told to expect no order.
    fn without_read_ahead(&self) -> Option<String> {
        let without = self.advised(Fadvise::Random)?;
        let ratio = self.scale.times(&[without], &[self.advised(Fadvise::Normal)?])?;
        let size = format::size(without.workload.bs.0 as f64);
        Some(match ratio {
            _ if ratio.is_less() => format!("without read-ahead, reads of {size} keep {}", ratio.share()),
            _ => format!("read-ahead brings reads of {size} nothing that these runs show: {} without", ratio.share()),
        })
    }

    /// The read of the block size at which advice is compared, with this advice.
    pub fn advised(&self, advice: Fadvise) -> Option<&'a ExperimentCell<'a>> {
        let told = |cell: &&&ExperimentCell| cell.workload.options.fadvise != Fadvise::Normal;
        let bs = self.cells.iter().find(told)?.workload.bs;
        let is_it = |cell: &&&ExperimentCell| {
            let workload = cell.workload;
            let fits = workload.bs == bs && workload.options.fadvise == advice;
            fits && !workload.cache.direct() && !workload.rw.writes()
        };
        self.cells.iter().find(is_it).copied()
    }

    /// At which rate a write comes in, and what of the time goes to the flush.
    fn phases(&self) -> Option<String> {
        let finding = &self.at(Direction::Write, false, SHOWN_BYTES)?.finding;
        let (memory_mbps, share) = (finding.memory_mbps?, finding.flush_share?);
        let taken = match (finding.burst_mbps, finding.sustained_mbps) {
            (Some(burst), Some(sustained)) => {
                format!("{} at first and {} later", format::mbps(burst), format::mbps(sustained))
            }
            _ => format::mbps(memory_mbps),
        };
        Some(format!(
            "the cache takes writes of {} at {taken}; until they are durable, {} of the time is the closing flush",
            format::size(SHOWN_BYTES as f64),
            format::percent(share)
        ))
    }
}

/// Mean time of a call in each plain run, in microseconds.
pub(super) fn call_us(cell: &ExperimentCell) -> Vec<f64> {
    let plain = cell.records.iter().filter(|record| record.run.pass == halfpower_spec::Pass::Plain && record.ios > 0);
    plain.map(|record| record.latency.mean_ns() / 1e3).collect()
}

/// The three terms, of writes where there are any: they differ from reads by what is done behind.
fn costs(rows: &[BufferedCostRow]) -> Option<String> {
    let row = rows.iter().max_by_key(|row| row.rw)?;
    Some(row.words())
}
