//! Draws what `hosts` measured: throughput by number of hosts, and each host alone.

use halfpower_analyse::Interval;
use halfpower_spec::{Direction, Pattern};

use super::analysis::kinds;
use super::rows::{HostAloneRow, HostsRow, Rows};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

pub(crate) fn pictures(_data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    kinds().filter_map(|(pattern, rw)| together(&rows.hosts, pattern, rw)).chain(alone(&rows.hosts_alone)).collect()
}

fn together(rows: &[HostsRow], pattern: Pattern, rw: Direction) -> Option<Picture> {
    let rows: Vec<&HostsRow> = rows.iter().filter(|row| (row.pattern, row.rw) == (pattern, rw)).collect();
    rows.first()?;
    let at = |row: &&HostsRow, interval| Point::at(f64::from(row.n), row.n.to_string(), interval);
    let measured = |row: &&HostsRow| at(row, Interval { value: row.mbps, low: row.low, high: row.high });
    let one_by_one = |row: &&HostsRow| at(row, Interval::exact(row.mbps / row.of_alone));
    Some(Picture {
        title: format!("{pattern} {rw}s by hosts at work"),
        kind: PictureKind::Lines,
        x: Axis::even("Hosts"),
        y: Axis::even("MB/s"),
        lines: vec![
            Line { name: "together".to_string(), points: rows.iter().map(measured).collect() },
            Line { name: "the same one by one".to_string(), points: rows.iter().map(one_by_one).collect() },
        ],
    })
}

fn alone(rows: &[HostAloneRow]) -> Option<Picture> {
    let of = |rw: Direction| {
        let rows = rows.iter().filter(|row| (row.pattern, row.rw) == (Pattern::Sequential, rw));
        let point = |row: &HostAloneRow| {
            Point::named(row.rank.to_string(), Interval { value: row.mbps, low: row.low, high: row.high })
        };
        Line { name: format!("{rw}s"), points: rows.map(point).collect() }
    };
    let lines: Vec<Line> = Direction::ALL.iter().copied().map(of).filter(|line| line.points.len() > 1).collect();
    (!lines.is_empty()).then(|| Picture {
        title: "Each host alone".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Rank"),
        y: Axis::even("MB/s"),
        lines,
    })
}
