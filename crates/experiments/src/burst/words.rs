//! Says what `burst` asks, what it found and what the papers saw; draws rereads and new blocks, latency by size, and
//! requests after a pause.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{InOrder, format};

use super::analysis::{
    AfterAPause, BurstAnswer, BurstRow, Hit, HitRow, LinkRate, MembersTogether, OverheadRow, PauseVerdict, Rows,
    is_again, medians, members, one_at_a_time, overhead, pauses,
};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::ratio::is_undecided;
use crate::words::{NOT_DECIDED, decided, each_sentence, size, times, times_of, with_interval};

pub(crate) const QUESTION: &str = "What do controller and link let through where no medium has to be waited for, and what does each request \
    cost in time?";
pub(crate) const PAPERS: &str = "In 2000 blocks read again and again from the disks' own caches, two deep, brought a PCI bus of 133 MB/s to \
    98.5 MB/s with 1 MB requests and 83.6 with 64 KB, and a 3ware card to 58.9. In 1998 a request had about \
    0.58 ms of fixed time on older Barracuda disks and 0.3 ms on a newer one (Table 3), and a block that had \
    been prefetched came sooner than one that had just been read: some drives did not see that they had it. \
    What is the same: a fixed time that small requests pay in full. What is not: a drive without an arm may \
    keep no blocks at all, since its medium is nearly as fast as its link.";

pub(crate) fn answer(found: &BurstAnswer) -> Told {
    Told::of(short(found), details(found), "No block could be read again.")
}

/// What controller and link let through, and the time that each request takes besides.
fn short(found: &BurstAnswer) -> Option<ShortAnswer> {
    let Some(LinkRate { fastest, answered }) = &found.link else {
        let row = found.overhead.as_ref()?;
        let text = "A request for the same block again, one at a time, takes that whatever its size.";
        return Some(ShortAnswer::new(fixed(row), text));
    };
    let BurstRow { mbps: value, low, high, .. } = *fastest;
    let most = if answered.is_some() { "so much" } else { "at least so much" };
    let known = found.overhead.as_ref().filter(|row| !is_undecided(&row.fixed_us));
    let besides = known.map_or(String::new(), |row| format!("; each request takes {} besides", fixed(row)));
    let text = format!("Controller and link let {most} through ({}){besides}.", way(fastest));
    Some(ShortAnswer::new(with_interval(Interval { value, low, high }, "MB/s"), text))
}

/// The time of a request whatever its size: `97 µs (85 µs to 109 µs)`.
fn fixed(row: &OverheadRow) -> String {
    let Interval { value, low, high } = row.fixed_us;
    let [value, low, high] = [value, low.max(0.0), high].map(format::time_us);
    if is_undecided(&row.fixed_us) {
        format!("{NOT_DECIDED}, {low} to {high}")
    } else {
        format!("{value} ({low} to {high})")
    }
}

fn details(found: &BurstAnswer) -> Vec<String> {
    let ceiling = [found.link.as_ref().map(link), found.together.as_ref().map(together)];
    let ceiling: Vec<String> = ceiling.into_iter().flatten().collect();
    let ceiling = (!ceiling.is_empty()).then(|| ceiling.join("; "));
    let clauses = [ceiling, found.overhead.as_ref().map(fixed_time), found.after_a_pause.as_ref().map(after_a_pause)];
    each_sentence(clauses)
}

/// The settings of a row, such as `1 MiB, 2 deep on each of 4 members`.
fn way(row: &BurstRow) -> String {
    let on = if row.n > 1 { format!(" on each of {} members", row.n) } else { String::new() };
    format!("{}, {} deep{on}", size(row.bs_bytes), row.iodepth)
}

fn link(found: &LinkRate) -> String {
    let best = &found.fastest;
    let rate = decided(Interval { value: best.mbps, low: best.low, high: best.high }, format::mbps);
    let again = format!("The same few blocks come again at {rate} ({})", way(best));
    let of_new = |row: &BurstRow| row.of_new.map(times_of);
    match (&found.answered, of_new(best)) {
        (Some(row), Some(times)) if row == best => {
            format!("{again}, {times} what new ones do: so much gets through controller and link")
        }
        (Some(row), _) => {
            let where_so = if row.n == best.n { way(row) } else { format!("{}, {} alone", way(row), count(row.n)) };
            format!(
                "{again}: so much gets through controller and link, since something before the medium answers: {} \
                 what new ones do ({where_so})",
                of_new(row).unwrap_or_default()
            )
        }
        (None, Some(times)) => format!(
            "{again}, {times} what new ones do: nothing before the medium is known to answer, and controller and link \
             may let more through"
        ),
        (None, None) => format!("{again}: at least so much gets through controller and link"),
    }
}

fn count(members: u32) -> String {
    if members == 1 { "one member".to_string() } else { format!("{members} members") }
}

/// A clause to follow a semicolon.
fn together(found: &MembersTogether) -> String {
    let why = if found.shared { ", so they share what stops them" } else { "" };
    format!("{} together get {} what one gets{why}", count(found.n), times(&found.times))
}

fn fixed_time(row: &OverheadRow) -> String {
    let bytes = row.mbps.map_or(String::new(), |mbps| format!(", and its bytes come at {}", format::mbps(mbps)));
    format!("one at a time, such a request takes {} whatever its size{bytes}", fixed(row))
}

fn after_a_pause(found: &AfterAPause) -> String {
    let judged = match found.verdict {
        PauseVerdict::SingleRuns => ", by one run each",
        PauseVerdict::NextSooner => ": reading on is sooner than reading again",
        PauseVerdict::SameSooner => ": reading again is sooner than reading on",
        PauseVerdict::Sooner => "",
        PauseVerdict::NoCache => ": these runs show no cache",
    };
    let pause = format::time_ns(found.pause_ns as f64);
    let [next, same, any] =
        [found.latency_ns_p50_next, found.latency_ns_p50_same, found.latency_ns_p50_any].map(format::time_ns);
    format!(
        "after {pause} of nothing, {} that come next take {next}, the same again {same} and any others {any}{judged}",
        size(found.bs_bytes)
    )
}

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let pictures = [by_shape(data), by_members(&rows.burst), by_size(data), by_hit(&rows.hits)];
    pictures.into_iter().flatten().collect()
}

/// Throughput of rereads and of new blocks, by one member and by all.
fn by_shape(data: &ExperimentData) -> Option<Picture> {
    let cells: Vec<&ExperimentCell> = data.sound().filter(|cell| !pauses(cell) && cell.workload.iodepth > 1).collect();
    let least = cells.iter().map(|cell| members(cell)).min()?;
    let most = cells.iter().map(|cell| members(cell)).max()?;
    let label = |cell: &ExperimentCell| {
        format!("{}, {} deep", format::size(cell.finding.bs_bytes as f64), cell.finding.iodepth)
    };
    let line = |n: u32, again: bool| {
        let mut of: Vec<&&ExperimentCell> =
            cells.iter().filter(|cell| members(cell) == n && is_again(cell) == again).collect();
        of.order_by_key(|cell| (cell.finding.bs_bytes, cell.finding.iodepth));
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

fn by_size(data: &ExperimentData) -> Option<Picture> {
    let line = overhead(data)?;
    let point = |cell: &ExperimentCell, us: Interval| {
        let bytes = cell.finding.bs_bytes as f64;
        Point::at(bytes / 1024.0, format::size(bytes), us)
    };
    let measured =
        one_at_a_time(data).map(|cell| point(cell, micros(Interval::of_means(&medians(cell))))).collect::<Vec<_>>();
    let fitted =
        one_at_a_time(data).map(|cell| point(cell, Interval::exact(line.at(cell.finding.bs_bytes as f64 / 1024.0))));
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

/// Nanoseconds as microseconds.
fn micros(ns: Interval) -> Interval {
    Interval { value: ns.value / 1e3, low: ns.low / 1e3, high: ns.high / 1e3 }
}

fn by_hit(rows: &[HitRow]) -> Option<Picture> {
    let line = |name: &str, hit| Line {
        name: name.to_string(),
        points: rows
            .iter()
            .filter(|row| row.hit == hit)
            .map(|HitRow { bs_bytes, latency_ns_p50: value, low, high, .. }| {
                let ns = Interval { value: *value, low: *low, high: *high };
                Point::named(format::size(*bs_bytes as f64), micros(ns))
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
