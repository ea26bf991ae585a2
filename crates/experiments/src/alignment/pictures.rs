//! Draws what `alignment` measured: the share that shifted requests keep, and their rates.

use halfpower_analyse::Interval;
use halfpower_spec::{format, path_words};

use super::rows::{AlignmentRow, Rows};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let rows = &rows.alignment;
    [shares(rows), rates(rows)].into_iter().flatten().collect()
}

/// A kind of request, such as `random direct writes of 4 KiB, 8 deep`.
fn kind(row: &AlignmentRow) -> String {
    let path = path_words(row.pattern, row.cache, row.rw);
    format!("{path}s of {}, {} deep", format::size(row.bs_bytes as f64), row.iodepth)
}

/// One line per kind and one bar per shift, since the legend has more room for the long names of kinds; `of` gives the
/// value of a row.
fn lines(rows: &[AlignmentRow], of: impl Fn(&AlignmentRow) -> Option<Interval>) -> Vec<Line> {
    let begin = |row: &AlignmentRow| match row.shift_bytes {
        0 => "aligned".to_string(),
        shift => format!("{} later", format::size(shift as f64)),
    };
    let same = |row: &AlignmentRow| (row.pattern, row.cache, row.rw, row.bs_bytes, row.iodepth);
    let mut kinds: Vec<&AlignmentRow> = rows.iter().filter(|row| of(row).is_some()).collect();
    kinds.dedup_by_key(|row| same(row));
    let line = |of_kind: &&AlignmentRow| Line {
        name: kind(of_kind),
        points: rows
            .iter()
            .filter(|row| same(row) == same(of_kind))
            .filter_map(|row| Some(Point::named(begin(row), of(row)?)))
            .collect(),
    };
    kinds.iter().map(line).collect()
}

fn shares(rows: &[AlignmentRow]) -> Option<Picture> {
    let percent = |row: &AlignmentRow| {
        let Interval { value, low, high } = row.of_aligned?;
        Some(Interval { value: value * 100.0, low: low * 100.0, high: high * 100.0 })
    };
    let lines = lines(rows, percent);
    (!lines.is_empty()).then(|| Picture {
        title: "What shifted requests keep".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Where requests begin"),
        y: Axis::even("% of aligned"),
        lines,
    })
}

fn rates(rows: &[AlignmentRow]) -> Option<Picture> {
    let rate = |row: &AlignmentRow| Some(Interval { value: row.mbps, low: row.low, high: row.high });
    (!rows.is_empty()).then(|| Picture {
        title: "Throughput, aligned and shifted".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Where requests begin"),
        y: Axis::even("MB/s"),
        lines: lines(rows, rate),
    })
}
