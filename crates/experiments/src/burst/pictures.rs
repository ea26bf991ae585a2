//! Draws what `burst` measured: rereads and new blocks, latency by size, and requests after a pause.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::format;

use super::analysis::{is_again, medians, members, one_at_a_time, overhead, pauses};
use super::rows::{BurstRow, Hit, HitRow, Rows};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let pictures = [by_shape(data), by_members(&rows.burst), by_size(data), by_hit(&rows.hits)];
    pictures.into_iter().flatten().collect()
}

/// Throughput of rereads and of new blocks, by one member and by all.
fn by_shape(data: &ExperimentData) -> Option<Picture> {
    let cells: Vec<&ExperimentCell> = data.sound().filter(|cell| !pauses(cell) && cell.workload.iodepth > 1).collect();
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
