//! Compares rereads of the same few blocks with reads of new blocks, and times requests after a pause.

use halfpower_analyse::fit::{LineFit, fit_line};
use halfpower_analyse::{ExperimentCell, Interval, LinkCeiling};
use halfpower_spec::{InOrder, JsonSchema, Pattern};
use serde::Serialize;

use crate::at_once::SCALES;
use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, Scale};

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Rereads of the same few blocks, by number of members.
    pub burst: Vec<BurstRow>,
    /// The time of a reread by block size; one row or none.
    pub overhead: Vec<OverheadRow>,
    /// Requests after a pause: for the last block read, the block after it, or any other.
    pub hits: Vec<HitRow>,
}

/// Rereads of the same few blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BurstRow {
    /// Members that are read at once, each its own blocks.
    pub n: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Requests kept outstanding per member.
    pub iodepth: u32,
    /// Total throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Throughput as a multiple of sequential reads of new blocks with the same settings; `null` if those were not
    /// measured, or if nothing was measured twice.
    pub of_new: Option<Interval>,
}

/// The fit time = fixed + size x per KiB, for rereads of one block at depth 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct OverheadRow {
    /// Time per request, whatever its size, in microseconds.
    pub fixed_us: Interval,
    /// Additional time per KiB, in microseconds.
    pub us_per_kib: Interval,
    /// Throughput from `us_per_kib` alone, in MB/s; `null` if size adds no time.
    pub mbps: Option<f64>,
}

/// The block requested after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hit {
    /// The last block read: a hit if a cache keeps it.
    Same,
    /// The block after it: a hit if something reads ahead.
    Next,
    /// Any block.
    Any,
}

/// Latency of requests after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HitRow {
    /// The block requested.
    pub hit: Hit,
    /// Block size.
    pub bs_bytes: u64,
    /// The pause in nanoseconds.
    pub pause_ns: u64,
    /// Median latency in nanoseconds, as the mean over runs.
    pub latency_ns_p50: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The results of rereading the same few blocks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct BurstAnswer {
    /// The highest throughput.
    pub link: Option<LinkRate>,
    /// All members together compared with one, if there are several.
    pub together: Option<MembersTogether>,
    /// The time of a request, by size.
    pub overhead: Option<OverheadRow>,
    /// Requests after a pause.
    pub after_a_pause: Option<AfterAPause>,
}

/// The highest throughput through controller and link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LinkRate {
    /// The fastest requests with the most members.
    pub fastest: BurstRow,
    /// The requests that beat new blocks by the largest factor, which shows that a cache in front of the medium
    /// answered; `null` if none did, so that the medium may be the limit.
    pub answered: Option<BurstRow>,
}

/// All members together compared with one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MembersTogether {
    /// Number of members.
    pub n: u32,
    /// Throughput as a multiple of one member's.
    pub times: RatioFinding,
    /// Whether a shared part of the path limits them beyond chance.
    pub shared: bool,
}

/// Latency of the smallest requests after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AfterAPause {
    /// The pause in nanoseconds.
    pub pause_ns: u64,
    /// Block size.
    pub bs_bytes: u64,
    /// Median latency of the block after the last one read, in nanoseconds.
    pub latency_ns_p50_next: f64,
    /// Median latency of the last block read, in nanoseconds.
    pub latency_ns_p50_same: f64,
    /// Median latency of any other block, in nanoseconds.
    pub latency_ns_p50_any: f64,
    /// What these latencies show.
    pub verdict: PauseVerdict,
}

/// What requests after a pause show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PauseVerdict {
    /// Nothing was measured twice.
    SingleRuns,
    /// The next block comes sooner than the same block, beyond chance.
    NextSooner,
    /// The same block comes sooner than the next, beyond chance.
    SameSooner,
    /// The same or the next block comes sooner than any other, but neither sooner than the other.
    Sooner,
    /// No block comes sooner than any other: no sign of a cache.
    NoCache,
}

/// Smallest ratio of rereads to reads of new blocks that shows that a cache answered.
const ANSWERED: f64 = 1.1;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, BurstAnswer) {
    let scale = Scale::of(data.sound().filter(|cell| !pauses(cell)));
    let mut burst: Vec<BurstRow> =
        data.sound().filter(|cell| is_again(cell)).map(|cell| row(data, &scale, cell)).collect();
    burst.order_by_key(|row| (row.n, row.iodepth, row.bs_bytes));
    let overhead: Vec<OverheadRow> = overhead(data).iter().map(overhead_row).collect();
    let mut hits: Vec<Paused> = data.sound().filter(|cell| pauses(cell)).map(paused).collect();
    hits.order_by_key(|one| (one.row.bs_bytes, one.row.hit));
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
        let this = &cell.workload;
        let that = &other.workload;
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
    // A lack that is sure, but too small to matter, is no shared limit.
    let Interval { value, high, .. } = times.interval;
    let shared = times.is_known() && high < f64::from(best.n) && value < SCALES * f64::from(best.n);
    Some(MembersTogether { n: best.n, times, shared })
}

fn after_a_pause(hits: &[Paused]) -> Option<AfterAPause> {
    let small = hits.first()?.row;
    let of = |hit| hits.iter().find(|one| (one.row.bs_bytes, one.row.hit) == (small.bs_bytes, hit));
    let same = of(Hit::Same)?;
    let next = of(Hit::Next)?;
    let any = of(Hit::Any)?;
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

#[cfg(test)]
mod tests {
    use halfpower_analyse::{
        KnownLimit, LevelFinding, LevelId, LevelKind, LevelSource, LinkCeiling, NextLimit, NextLimitBy, StoppedBy,
    };
    use halfpower_record::{Environment, Latency, Level, Record};
    use halfpower_spec::{
        Bytes, Cache, Direction, Experiment, Nanos, Pass, Pattern, Question, Rate, Region, Rw, Workload,
        WorkloadOptions,
    };
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::Hit;
    use crate::built::{disk, normal, record_at};
    use crate::study_findings::{StudyFindings, analyse};

    const LINK_MBPS: f64 = 400.0;
    const FIXED_US: f64 = 40.0;
    const US_PER_KIB: f64 = 2.5;

    /// The blocks that a request reads.
    #[derive(Clone, Copy, PartialEq)]
    enum Blocks {
        Same,
        Next,
        Any,
    }

    fn workload(blocks: Blocks, bs_kib: u64, iodepth: u32, pause_us: u64) -> Workload {
        let region = (blocks == Blocks::Same).then_some(Region { from: Bytes(0), bytes: Bytes(bs_kib << 10) });
        let options = WorkloadOptions { region, thinktime: Nanos(pause_us * 1000), ..WorkloadOptions::default() };
        let rw = if blocks == Blocks::Any { Rw::Randread } else { Rw::Read };
        Workload { options, ..crate::built::workload(rw, Cache::Device, bs_kib, iodepth) }
    }

    fn runs(workload: Workload, mbps: f64, us: f64, random: &mut Xoshiro256PlusPlus) -> Vec<Record> {
        let run = |repeat| {
            let factor = 1.0 + 0.01 * normal(random);
            let record = record_at(&disk(""), workload, repeat, Pass::Plain, mbps * factor * 1e6);
            let mut latency = Latency::default();
            (0..100).for_each(|_| latency.add((us / factor * 1e3) as u64));
            let run = halfpower_spec::Run { experiment: Some(Experiment::Burst), ..record.run };
            Record { latency, run, ..record }
        };
        (0..3).map(run).collect()
    }

    /// A path whose medium gives `medium_mbps`, and which answers the last block after a pause in `same_us`.
    fn findings(medium_mbps: f64, same_us: f64) -> StudyFindings {
        findings_of(&records(medium_mbps, same_us))
    }

    fn records(medium_mbps: f64, same_us: f64) -> Vec<Record> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut records = Vec::new();
        for (kib, depth) in [(64, 2), (1024, 2), (1024, 8)] {
            let again = medium_mbps.max(if kib == 64 { 0.8 } else { 1.0 } * LINK_MBPS);
            records.extend(runs(workload(Blocks::Same, kib, depth, 0), again, 100.0, &mut random));
            records.extend(runs(workload(Blocks::Next, kib, depth, 0), medium_mbps, 100.0, &mut random));
        }
        for kib in [4, 8, 16, 32, 64] {
            let us = FIXED_US + US_PER_KIB * kib as f64;
            records.extend(runs(workload(Blocks::Same, kib, 1, 0), kib as f64 * 1024.0 / us, us, &mut random));
        }
        for (blocks, us) in [(Blocks::Same, same_us), (Blocks::Next, 60.0), (Blocks::Any, 5000.0)] {
            records.extend(runs(workload(blocks, 8, 1, 10_000), 1.0, us, &mut random));
        }
        records
    }

    fn findings_of(records: &[Record]) -> StudyFindings {
        let device = Level { name: "device".into(), pap: Some(Rate(1e9)), ..Level::default() };
        let environment = Environment { levels: vec![device], ..Environment::default() };
        let question = Question { experiments: vec![Experiment::Burst], ..Question::about("d") };
        analyse(&question, &environment, records)
    }

    #[track_caller]
    fn near(found: f64, truth: f64) {
        assert!((found / truth - 1.0).abs() < 0.03, "{found} instead of {truth}");
    }

    fn controller_and_link() -> LevelId {
        LevelId { direction: Some(Direction::Read), ..LevelId::of(LevelKind::ControllerAndLink) }
    }

    /// The evidence for the level of controller and link.
    fn same_blocks(findings: &StudyFindings) -> LinkCeiling {
        match link(findings).source {
            LevelSource::SameBlocks { link, .. } => link,
            ref other => panic!("{other:?}"),
        }
    }

    fn link(findings: &StudyFindings) -> &LevelFinding {
        let place = findings.levels.iter().position(|level| level.id == controller_and_link()).unwrap();
        assert_eq!(findings.levels[place + 1].id, LevelId::of(LevelKind::Device), "it comes before the medium");
        &findings.levels[place]
    }

    #[test]
    fn a_cache_before_the_medium_shows_what_controller_and_link_let_through() {
        let findings = findings(100.0, 60.0);
        let fastest = findings.rows.burst.burst.iter().map(|row| row.mbps).fold(0.0, f64::max);
        near(fastest, LINK_MBPS);
        let shape = |bs: u64, iodepth: u32| {
            *findings.rows.burst.burst.iter().find(|row| (row.bs_bytes, row.iodepth) == (bs, iodepth)).unwrap()
        };
        near(shape(65536, 2).mbps, 0.8 * LINK_MBPS);
        let of_new = shape(1 << 20, 2).of_new.unwrap();
        assert!(of_new.low < 4.0 && of_new.high > 4.0 && of_new.high / of_new.low < 1.2, "{of_new:?}");
        near(link(&findings).rap_mbps.unwrap(), LINK_MBPS);
        assert!(same_blocks(&findings).answered);
        let answer = &findings.experiments[0].answer;
        assert!(answer.contains("so much gets through controller and link"), "{answer}");
    }

    #[test]
    fn the_fixed_time_of_a_request_is_found_by_subtraction() {
        let overhead = findings(100.0, 60.0).rows.burst.overhead[0];
        near(overhead.fixed_us.value, FIXED_US);
        assert!(overhead.fixed_us.low <= FIXED_US && FIXED_US <= overhead.fixed_us.high, "{overhead:?}");
        near(overhead.mbps.unwrap(), 1024.0 / US_PER_KIB);
    }

    #[test]
    fn where_nothing_keeps_blocks_no_ceiling_is_claimed() {
        let findings = findings(LINK_MBPS, 60.0);
        let answer = &findings.experiments[0].answer;
        assert!(answer.contains("nothing before the medium is known to answer"), "{answer}");
        assert!(!same_blocks(&findings).answered);
    }

    #[test]
    fn what_comes_sooner_after_a_pause_is_said_only_where_runs_carry_it() {
        let of = |same_us| findings(100.0, same_us);
        let hits = of(90.0).rows.burst.hits;
        assert_eq!(hits.iter().map(|row| row.hit).collect::<Vec<_>>(), [Hit::Same, Hit::Next, Hit::Any]);
        near(hits[0].latency_ns_p50 / 1e3, 90.0);
        assert_eq!(hits[0].pause_ns, 10_000_000);
        let answer = |same_us| of(same_us).experiments[0].answer.clone();
        assert!(answer(90.0).ends_with(": reading on is sooner than reading again."), "{}", answer(90.0));
        assert!(answer(40.0).ends_with(": reading again is sooner than reading on."), "{}", answer(40.0));
        assert!(!answer(60.2).contains("sooner"), "{}", answer(60.2));
    }

    #[test]
    fn a_single_run_after_a_pause_judges_nothing() {
        let mut once = records(100.0, 90.0);
        once.retain(|record| record.run.repeat == 0);
        let answer = findings_of(&once).experiments[0].answer.clone();
        assert!(answer.ends_with(", by one run each."), "{answer}");
    }

    /// Rereads of small blocks are four times as fast as new blocks. Rereads of large blocks are not faster, since new ones
    /// already fill the link.
    #[test]
    fn the_factor_stands_with_the_blocks_that_it_was_seen_with() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut records = Vec::new();
        for (kib, depth, again, new) in [(64, 2, 320.0, 80.0), (1024, 8, LINK_MBPS, LINK_MBPS)] {
            records.extend(runs(workload(Blocks::Same, kib, depth, 0), again, 100.0, &mut random));
            records.extend(runs(workload(Blocks::Next, kib, depth, 0), new, 100.0, &mut random));
        }
        let answer = findings_of(&records).experiments[0].answer.clone();
        assert!(answer.contains("MB/s (1 MiB, 8 deep): so much gets through"), "{answer}");
        let (_, seen_with) = answer.split_once("what new ones do (").unwrap();
        assert!(seen_with.starts_with("64 KiB, 2 deep)"), "{answer}");
    }

    /// Members that get nearly as much together as alone share nothing that stops them, however sure the runs are.
    #[test]
    fn members_share_a_limit_only_where_much_is_lacking() {
        let alike = |members: u32, mbps: f64, noise: f64| {
            let mut workload = workload(Blocks::Same, 1024, 8, 0);
            workload.options.members = members;
            let run = |repeat: u32| {
                let rate = mbps * 1e6 * (1.0 + noise * (f64::from(repeat) - 1.0));
                let mut record = record_at(&disk(""), workload, repeat, Pass::Plain, rate);
                record.run.experiment = Some(Experiment::Burst);
                record
            };
            (0..3).map(run).collect::<Vec<Record>>()
        };
        let said = |mbps| {
            let records = [alike(1, 100.0, 0.0002), alike(4, mbps, -0.0002)].concat();
            findings_of(&records).experiments[0].answer.clone()
        };
        let scales = said(396.0);
        assert!(scales.contains("4 members together get 3.96 times"), "{scales}");
        assert!(!scales.contains("share what stops them"), "{scales}");
        assert!(said(200.0).contains("so they share what stops them"), "{}", said(200.0));
    }

    /// Sequential reads almost reach the rate of rereads, so controller and link are the bottleneck. The report says how
    /// that is known, what comes next, and what would disprove it.
    #[test]
    fn a_measured_link_can_be_the_bottleneck() {
        let of_burst = findings(100.0, 60.0);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
        let mut records = Vec::new();
        for (kib, depth, mbps) in [(64, 2, 100.0), (64, 8, 380.0), (1024, 8, 390.0), (1024, 32, 392.0)] {
            let mut walked = runs(workload(Blocks::Next, kib, depth, 0), mbps, 100.0, &mut random);
            walked.iter_mut().for_each(|record| record.run.experiment = Some(Experiment::Sequential));
            records.extend(walked);
        }
        for (kib, depth) in [(64, 2), (1024, 8)] {
            records.extend(runs(workload(Blocks::Same, kib, depth, 0), LINK_MBPS, 100.0, &mut random));
            records.extend(runs(workload(Blocks::Next, kib, depth, 0), 100.0, 100.0, &mut random));
        }
        let device = Level { name: "device".into(), pap: Some(Rate(1e9)), ..Level::default() };
        let environment = Environment { levels: vec![device], ..Environment::default() };
        let question =
            Question { experiments: vec![Experiment::Sequential, Experiment::Burst], ..Question::about("d") };
        assert_eq!(question.patterns().next(), Some(Pattern::Sequential));
        let bottleneck = &analyse(&question, &environment, &records).bottleneck;
        assert_eq!(bottleneck.level, Some(controller_and_link()), "{bottleneck:?}");
        let known = &bottleneck.stopped_by;
        assert!(
            matches!(known, StoppedBy::KnownRate { limit: KnownLimit::Attainable, source, .. }
                if matches!(source, LevelSource::SameBlocks { .. })),
            "{known:?}"
        );
        let level = LevelId::of(LevelKind::Device);
        let mbps = 1_000.0;
        let by = NextLimitBy::Advertised;
        assert_eq!(bottleneck.next, Some(NextLimit::Level { level, mbps, by }));
        assert_eq!(of_burst.bottleneck.level, None, "nothing was walked, so nothing is claimed");
    }
}
