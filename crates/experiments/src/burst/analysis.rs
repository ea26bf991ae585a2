//! `burst`: what do controller and link let through, and what does a request cost in time when no medium is behind it?

use halfpower_spec::Pattern;

use super::rows::{BurstRow, Hit, HitRow, OverheadRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::{Ratio, Scale};
use crate::section::{Axis, Line, Picture, PictureKind, Point, Told};
use halfpower_analyse::ExperimentCell;
use halfpower_analyse::fit::{LineFit, fit_line};
use halfpower_analyse::{Interval, LinkCeiling};
use halfpower_text::format;

/// How many times as fast as new blocks the same ones have to come at least, for a cache to have answered.
const ANSWERED: f64 = 1.1;

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows) -> Told {
    let scale = Scale::of(evidence.sound().filter(|cell| !pauses(cell)));
    rows.burst = evidence.sound().filter(|cell| is_again(cell)).map(|cell| row(evidence, &scale, cell)).collect();
    rows.burst.sort_by_key(|row| (row.n, row.iodepth, row.bs_bytes));
    let line = overhead(evidence);
    rows.overhead.extend(line.map(|line| overhead_row(&line)));
    let mut hits: Vec<Paused> = evidence.sound().filter(|cell| pauses(cell)).map(paused).collect();
    hits.sort_by_key(|one| (one.row.bs_bytes, one.row.hit));
    rows.hits = hits.iter().map(|one| one.row).collect();
    let ceiling: Vec<String> =
        [ceiling(&rows.burst), together(evidence, &scale, &rows.burst)].into_iter().flatten().collect();
    let ceiling = (!ceiling.is_empty()).then(|| ceiling.join("; "));
    let answer =
        crate::section::answer([ceiling, fixed(&rows.overhead), after_a_pause(&hits)], "No block could be read again.");
    let pictures = [by_shape(evidence), by_members(&rows.burst), by_size(evidence, line), by_hit(&rows.hits)];
    Told { answer, pictures: pictures.into_iter().flatten().collect() }
}

fn pauses(cell: &ExperimentCell) -> bool {
    cell.workload.options.thinktime.0 > 0
}

fn is_again(cell: &ExperimentCell) -> bool {
    cell.workload.options.region.is_some() && !pauses(cell)
}

fn members(cell: &ExperimentCell) -> u32 {
    cell.workload.options.members.max(1)
}

/// Sequential reads of new blocks by the same members in the same way.
fn new_blocks<'a>(evidence: &'a ExperimentData, cell: &ExperimentCell) -> Option<&'a ExperimentCell<'a>> {
    let alike = |other: &&ExperimentCell| {
        let (this, that) = (&cell.workload, &other.workload);
        (this.bs, this.iodepth, members(cell)) == (that.bs, that.iodepth, members(other))
            && that.options.region.is_none()
            && !pauses(other)
    };
    evidence.sound().find(alike)
}

fn row(evidence: &ExperimentData, scale: &Scale, cell: &ExperimentCell) -> BurstRow {
    let Interval { value, low, high } = cell.finding.mbps;
    let times = new_blocks(evidence, cell).and_then(|new| scale.times(&[cell], &[new]));
    BurstRow {
        n: members(cell),
        bs_bytes: cell.finding.bs_bytes,
        iodepth: cell.finding.iodepth,
        mbps: value,
        low,
        high,
        of_new: times.filter(Ratio::is_known).map(|times| times.interval()),
    }
}

/// The median latency of each run, in microseconds.
fn medians(cell: &ExperimentCell) -> Vec<f64> {
    let runs = cell.records.iter().filter(|record| record.latency.count() > 0);
    runs.map(|record| record.latency.quantile_ns(0.5) as f64 / 1e3).collect()
}

/// Cells of one request for the same block at a time.
fn one_at_a_time<'a>(evidence: &'a ExperimentData) -> impl Iterator<Item = &'a ExperimentCell<'a>> {
    evidence.sound().filter(|cell| is_again(cell) && cell.workload.iodepth == 1)
}

/// The line through the runs' median latencies over KiB.
fn overhead(evidence: &ExperimentData) -> Option<LineFit> {
    let of_cell = |cell: &ExperimentCell| {
        let kib = cell.finding.bs_bytes as f64 / 1024.0;
        medians(cell).into_iter().map(move |us| (kib, us)).collect::<Vec<_>>()
    };
    fit_line(&one_at_a_time(evidence).flat_map(of_cell).collect::<Vec<_>>())
}

fn overhead_row(line: &LineFit) -> OverheadRow {
    let mbps = (line.slope > 0.0).then(|| 1024.0 / line.slope);
    OverheadRow { fixed_us: line.intercept_interval(), us_per_kib: line.slope_interval(), mbps }
}

/// Requests after a pause, with the median latency of each run.
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
        (Pattern::Random, None) => Hit::Any,
    };
    let pause_us = cell.workload.options.thinktime.0 as f64 / 1e3;
    let row = HitRow { hit, bs_bytes: cell.finding.bs_bytes, pause_us, us: value, low, high };
    Paused { row, medians }
}

/// The fastest row of the most members: what gets through all that they have before them.
fn fastest(rows: &[BurstRow]) -> Option<&BurstRow> {
    let most = rows.iter().map(|row| row.n).max()?;
    rows.iter().filter(|row| row.n == most).max_by(|one, other| one.mbps.total_cmp(&other.mbps))
}

/// The row in which the same blocks come so much faster than new ones that something before the medium must have
/// answered; of several the one in which they do most.
fn answered(rows: &[BurstRow]) -> Option<(&BurstRow, Interval)> {
    let beyond_doubt = rows.iter().filter_map(|row| Some((row, row.of_new.filter(|times| times.low > ANSWERED)?)));
    beyond_doubt.max_by(|one, other| one.1.value.total_cmp(&other.1.value))
}

/// What got through controller and link; it is their limit only where the same few blocks came faster than the medium
/// gives new ones.
pub(crate) fn measured_link(rows: &[BurstRow]) -> Option<LinkCeiling> {
    let BurstRow { n, bs_bytes, iodepth, mbps, .. } = *fastest(rows)?;
    Some(LinkCeiling { members: n, bs_bytes, iodepth, mbps, answered: answered(rows).is_some() })
}

/// `1 MiB, 2 deep on each of 4 members`.
fn way(row: &BurstRow) -> String {
    let on = if row.n > 1 { format!(" on each of {} members", row.n) } else { String::new() };
    format!("{}, {} deep{on}", format::size(row.bs_bytes as f64), row.iodepth)
}

fn times(times: Interval) -> String {
    let Interval { value, low, high } = times;
    let [value, low, high] = [value, low, high].map(format::factor);
    format!("{value} times ({low} to {high})")
}

fn ceiling(rows: &[BurstRow]) -> Option<String> {
    let best = fastest(rows)?;
    let again = format!("The same few blocks come again at {} ({})", format::mbps(best.mbps), way(best));
    Some(match (answered(rows), best.of_new) {
        (Some((row, of_new)), _) if row == best => {
            format!("{again}, {} what new ones do: so much gets through controller and link", times(of_new))
        }
        (Some((row, of_new)), _) => {
            let where_so = if row.n == best.n { way(row) } else { format!("{}, {} alone", way(row), count(row.n)) };
            let times = times(of_new);
            format!(
                "{again}: so much gets through controller and link, since something before the medium answers: \
                 {times} what new ones do ({where_so})"
            )
        }
        (None, Some(of_new)) => format!(
            "{again}, {} what new ones do: nothing before the medium is known to answer, and controller and link may \
             let more through",
            times(of_new)
        ),
        (None, None) => format!("{again}: at least so much gets through controller and link"),
    })
}

fn count(members: u32) -> String {
    if members == 1 { "one member".to_string() } else { format!("{members} members") }
}

/// How all members together compare with one, to follow after a semicolon.
fn together(evidence: &ExperimentData, scale: &Scale, rows: &[BurstRow]) -> Option<String> {
    let best = fastest(rows).filter(|row| row.n > 1)?;
    let of = |n: u32| {
        let alike = move |cell: &&ExperimentCell| {
            (members(cell), cell.finding.bs_bytes, cell.finding.iodepth) == (n, best.bs_bytes, best.iodepth)
        };
        evidence.sound().filter(|cell| is_again(cell)).find(alike)
    };
    let ratio = scale.times(&[of(best.n)?], &[of(1)?])?;
    let shared = ratio.is_known() && ratio.interval().high < f64::from(best.n);
    let why = if shared { ", so they share what stops them" } else { "" };
    Some(format!("{} together get {} what one gets{why}", count(best.n), ratio.times()))
}

fn fixed(rows: &[OverheadRow]) -> Option<String> {
    let OverheadRow { fixed_us, mbps, .. } = rows.first()?;
    let [value, low, high] = [fixed_us.value, fixed_us.low, fixed_us.high].map(format::time_us);
    let bytes = mbps.map_or(String::new(), |mbps| format!(", and its bytes come at {}", format::mbps(mbps)));
    Some(format!("one at a time, such a request takes {value} ({low} to {high}) whatever its size{bytes}"))
}

fn after_a_pause(hits: &[Paused]) -> Option<String> {
    let small = hits.first()?.row;
    let of = |hit| hits.iter().find(|one| (one.row.bs_bytes, one.row.hit) == (small.bs_bytes, hit));
    let (same, next, any) = (of(Hit::Same)?, of(Hit::Next)?, of(Hit::Any)?);
    let [first, second, third] = [next, same, any].map(|one| format::time_us(one.row.us));
    let scale = Scale::of_means(hits.iter().map(|one| one.medians.as_slice()));
    let times = |one: &Paused, other: &Paused| scale.times_means(&one.medians, &other.medians);
    let is_sooner = |one, other| times(one, other).is_some_and(|times: Ratio| times.is_less() && !times.is_one());
    let judged = match () {
        () if !times(next, same)?.is_known() => ", by one run each",
        () if is_sooner(next, same) => ": reading on is sooner than reading again",
        () if is_sooner(same, next) => ": reading again is sooner than reading on",
        () if is_sooner(next, any) || is_sooner(same, any) => "",
        () => ": these runs show no cache",
    };
    Some(format!(
        "after {} of nothing, {} that come next take {first}, the same again {second} and any others {third}{judged}",
        format::time_us(small.pause_us),
        format::size(small.bs_bytes as f64)
    ))
}

/// The same blocks and new ones, by one member and by all.
fn by_shape(evidence: &ExperimentData) -> Option<Picture> {
    let cells: Vec<&ExperimentCell> =
        evidence.sound().filter(|cell| !pauses(cell) && cell.workload.iodepth > 1).collect();
    let (least, most) = (cells.iter().map(|cell| members(cell)).min()?, cells.iter().map(|cell| members(cell)).max()?);
    let label = |cell: &ExperimentCell| {
        format!("{}, {} deep", format::size(cell.finding.bs_bytes as f64), cell.finding.iodepth)
    };
    let line = |n: u32, again: bool| {
        let mut of: Vec<&&ExperimentCell> =
            cells.iter().filter(|cell| members(cell) == n && is_again(cell) == again).collect();
        of.sort_by_key(|cell| (cell.finding.bs_bytes, cell.finding.iodepth));
        let what = if again { "the same blocks" } else { "new blocks" };
        let name = if most == 1 { what.to_string() } else { format!("{what}, members: {n}") };
        Line { name, points: of.iter().map(|cell| Point::named(label(cell), cell.finding.mbps)).collect() }
    };
    let counts = if least == most { vec![most] } else { vec![least, most] };
    let lines = counts.into_iter().flat_map(|n| [line(n, true), line(n, false)]);
    Some(Picture {
        title: "The same blocks again, and new ones".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Requests"),
        y: Axis::even("MB/s"),
        lines: lines.filter(|line| !line.points.is_empty()).collect(),
    })
}

fn by_members(rows: &[BurstRow]) -> Option<Picture> {
    let deep = || rows.iter().filter(|row| row.iodepth > 1);
    let mut shapes: Vec<(u32, u64)> = deep().map(|row| (row.iodepth, row.bs_bytes)).collect();
    shapes.sort_unstable();
    shapes.dedup();
    let point = |row: &BurstRow| {
        let mbps = Interval { value: row.mbps, low: row.low, high: row.high };
        Point::at(f64::from(row.n), row.n.to_string(), mbps)
    };
    let line = |(iodepth, bs): &(u32, u64)| Line {
        name: format!("{}, {iodepth} deep", format::size(*bs as f64)),
        points: deep().filter(|row| (row.iodepth, row.bs_bytes) == (*iodepth, *bs)).map(point).collect(),
    };
    rows.iter().any(|row| row.n > 1).then(|| Picture {
        title: "The same blocks again, by members at work".to_string(),
        kind: PictureKind::Lines,
        x: Axis::even("Members"),
        y: Axis::even("MB/s"),
        lines: shapes.iter().map(line).collect(),
    })
}

fn by_size(evidence: &ExperimentData, line: Option<LineFit>) -> Option<Picture> {
    let line = line?;
    let point = |cell: &ExperimentCell, us: Interval| {
        let bytes = cell.finding.bs_bytes as f64;
        Point::at(bytes / 1024.0, format::size(bytes), us)
    };
    let measured =
        one_at_a_time(evidence).map(|cell| point(cell, Interval::of_means(&medians(cell)))).collect::<Vec<_>>();
    let fitted = one_at_a_time(evidence)
        .map(|cell| point(cell, Interval::exact(line.at(cell.finding.bs_bytes as f64 / 1024.0))));
    Some(Picture {
        title: "Time of a request for the same block again".to_string(),
        kind: PictureKind::Lines,
        x: Axis::even("Block size, KiB"),
        y: Axis::even("Median latency, µs"),
        lines: vec![
            Line { name: "measured".to_string(), points: measured },
            Line { name: "fixed + per KiB".to_string(), points: fitted.collect() },
        ],
    })
}

fn by_hit(rows: &[HitRow]) -> Option<Picture> {
    let line = |name: &str, hit| Line {
        name: name.to_string(),
        points: rows
            .iter()
            .filter(|row| row.hit == hit)
            .map(|HitRow { bs_bytes, us, low, high, .. }| {
                Point::named(format::size(*bs_bytes as f64), Interval { value: *us, low: *low, high: *high })
            })
            .collect(),
    };
    (!rows.is_empty()).then(|| Picture {
        title: "A request after a pause".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Block size"),
        y: Axis::even("Median latency, µs"),
        lines: vec![line("the block before", Hit::Same), line("the next one", Hit::Next), line("any", Hit::Any)],
    })
}
