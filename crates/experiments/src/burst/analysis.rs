//! Compares rereads of the same few blocks with reads of new blocks, and times requests after a pause.

use halfpower_analyse::fit::{LineFit, fit_line};
use halfpower_analyse::{ExperimentCell, Interval, LinkCeiling};
use halfpower_spec::Pattern;

use super::answer::{AfterAPause, BurstAnswer, LinkRate, MembersTogether, PauseVerdict};
use super::rows::{BurstRow, Hit, HitRow, OverheadRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::Scale;
use crate::ratio_finding::RatioFinding;

/// Smallest ratio of rereads to reads of new blocks that shows that a cache answered.
const ANSWERED: f64 = 1.1;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, BurstAnswer) {
    let scale = Scale::of(data.sound().filter(|cell| !pauses(cell)));
    let mut burst: Vec<BurstRow> =
        data.sound().filter(|cell| is_again(cell)).map(|cell| row(data, &scale, cell)).collect();
    burst.sort_by_key(|row| (row.n, row.iodepth, row.bs_bytes));
    let overhead: Vec<OverheadRow> = overhead(data).iter().map(overhead_row).collect();
    let mut hits: Vec<Paused> = data.sound().filter(|cell| pauses(cell)).map(paused).collect();
    hits.sort_by_key(|one| (one.row.bs_bytes, one.row.hit));
    let link = |fastest: &BurstRow| LinkRate { fastest: *fastest, answered: answered(&burst).copied() };
    let answer = BurstAnswer {
        link: fastest(&burst).map(link),
        together: together(data, &scale, &burst),
        overhead: overhead.first().copied(),
        after_a_pause: after_a_pause(&hits),
    };
    (Rows { burst, overhead, hits: hits.iter().map(|one| one.row).collect() }, answer)
}

pub(super) fn pauses(cell: &ExperimentCell) -> bool {
    cell.workload.options.thinktime.0 > 0
}

pub(super) fn is_again(cell: &ExperimentCell) -> bool {
    cell.workload.options.region.is_some() && !pauses(cell)
}

pub(super) fn members(cell: &ExperimentCell) -> u32 {
    cell.workload.options.members.max(1)
}

/// The cell of sequential reads of new blocks with the same members and settings.
fn new_blocks<'a>(data: &'a ExperimentData, cell: &ExperimentCell) -> Option<&'a ExperimentCell<'a>> {
    let alike = |other: &&ExperimentCell| {
        let (this, that) = (&cell.workload, &other.workload);
        (this.bs, this.iodepth, members(cell)) == (that.bs, that.iodepth, members(other))
            && that.options.region.is_none()
            && !pauses(other)
    };
    data.sound().find(alike)
}

fn row(data: &ExperimentData, scale: &Scale, cell: &ExperimentCell) -> BurstRow {
    let Interval { value, low, high } = cell.finding.mbps;
    let times = new_blocks(data, cell).and_then(|new| scale.times(&[cell], &[new]));
    BurstRow {
        n: members(cell),
        bs_bytes: cell.finding.bs_bytes,
        iodepth: cell.finding.iodepth,
        mbps: value,
        low,
        high,
        of_new: times.filter(RatioFinding::is_known).map(|times| times.interval),
    }
}

/// The median latency of each run, in nanoseconds.
pub(super) fn medians(cell: &ExperimentCell) -> Vec<f64> {
    let runs = cell.records.iter().filter(|record| record.latency.count() > 0);
    runs.map(|record| record.latency.quantile_ns(0.5) as f64).collect()
}

/// Cells that reread one block at depth 1.
pub(super) fn one_at_a_time<'a>(data: &'a ExperimentData) -> impl Iterator<Item = &'a ExperimentCell<'a>> {
    data.sound().filter(|cell| is_again(cell) && cell.workload.iodepth == 1)
}

/// The line fitted to the runs' median latencies in microseconds over KiB.
pub(super) fn overhead(data: &ExperimentData) -> Option<LineFit> {
    let of_cell = |cell: &ExperimentCell| {
        let kib = cell.finding.bs_bytes as f64 / 1024.0;
        medians(cell).into_iter().map(move |ns| (kib, ns / 1e3)).collect::<Vec<_>>()
    };
    fit_line(&one_at_a_time(data).flat_map(of_cell).collect::<Vec<_>>())
}

fn overhead_row(line: &LineFit) -> OverheadRow {
    let mbps = (line.slope > 0.0).then(|| 1024.0 / line.slope);
    OverheadRow { fixed_us: line.intercept_interval(), us_per_kib: line.slope_interval(), mbps }
}

/// Requests after a pause, and the median latency of each run.
struct Paused {
    row: HitRow,
    medians: Vec<f64>,
}

fn paused(cell: &ExperimentCell) -> Paused {
    let medians = medians(cell);
    let Interval { value, low, high } = Interval::of_means(&medians);
    let hit = match (cell.finding.pattern, cell.workload.options.region) {
        (_, Some(_)) => Hit::Same,
        (Pattern::Sequential, None) => Hit::Next,
        (Pattern::Random | Pattern::Unknown, None) => Hit::Any,
    };
    let pause_ns = cell.workload.options.thinktime.0;
    let row = HitRow { hit, bs_bytes: cell.finding.bs_bytes, pause_ns, latency_ns_p50: value, low, high };
    Paused { row, medians }
}

/// The fastest row with the most members: the most that passed through what the members share.
fn fastest(rows: &[BurstRow]) -> Option<&BurstRow> {
    let most = rows.iter().map(|row| row.n).max()?;
    rows.iter().filter(|row| row.n == most).max_by(|one, other| one.mbps.total_cmp(&other.mbps))
}

/// The row in which rereads beat new blocks by the largest factor, if the factor shows that a cache in front of the
/// medium answered.
fn answered(rows: &[BurstRow]) -> Option<&BurstRow> {
    let beyond_doubt = rows.iter().filter_map(|row| Some((row, row.of_new.filter(|times| times.low > ANSWERED)?)));
    beyond_doubt.max_by(|one, other| one.1.value.total_cmp(&other.1.value)).map(|(row, _)| row)
}

/// The throughput that passed through controller and link. It is their limit only if rereads were faster than the
/// medium gives new blocks.
pub(crate) fn measured_link(rows: &[BurstRow]) -> Option<LinkCeiling> {
    let BurstRow { n, bs_bytes, iodepth, mbps, .. } = *fastest(rows)?;
    Some(LinkCeiling { members: n, bs_bytes, iodepth, mbps, answered: answered(rows).is_some() })
}

/// Compares all members together with one.
fn together(data: &ExperimentData, scale: &Scale, rows: &[BurstRow]) -> Option<MembersTogether> {
    let best = fastest(rows).filter(|row| row.n > 1)?;
    let of = |n: u32| {
        let alike = move |cell: &&ExperimentCell| {
            (members(cell), cell.finding.bs_bytes, cell.finding.iodepth) == (n, best.bs_bytes, best.iodepth)
        };
        data.sound().filter(|cell| is_again(cell)).find(alike)
    };
    let times = scale.times(&[of(best.n)?], &[of(1)?])?;
    let shared = times.is_known() && times.interval.high < f64::from(best.n);
    Some(MembersTogether { n: best.n, times, shared })
}

fn after_a_pause(hits: &[Paused]) -> Option<AfterAPause> {
    let small = hits.first()?.row;
    let of = |hit| hits.iter().find(|one| (one.row.bs_bytes, one.row.hit) == (small.bs_bytes, hit));
    let (same, next, any) = (of(Hit::Same)?, of(Hit::Next)?, of(Hit::Any)?);
    let scale = Scale::of_means(hits.iter().map(|one| one.medians.as_slice()));
    let times = |one: &Paused, other: &Paused| scale.times_means(&one.medians, &other.medians);
    let is_sooner = |one, other| times(one, other).is_some_and(|times| times.is_less() && !times.is_alike());
    let verdict = match () {
        () if !times(next, same)?.is_known() => PauseVerdict::SingleRuns,
        () if is_sooner(next, same) => PauseVerdict::NextSooner,
        () if is_sooner(same, next) => PauseVerdict::SameSooner,
        () if is_sooner(next, any) || is_sooner(same, any) => PauseVerdict::Sooner,
        () => PauseVerdict::NoCache,
    };
    let HitRow { bs_bytes, pause_ns, .. } = small;
    let [latency_ns_p50_next, latency_ns_p50_same, latency_ns_p50_any] =
        [next, same, any].map(|one| one.row.latency_ns_p50);
    Some(AfterAPause { pause_ns, bs_bytes, latency_ns_p50_next, latency_ns_p50_same, latency_ns_p50_any, verdict })
}
