//! Draws what `mirror` measured: reads by requests outstanding, and writes.

use halfpower_analyse::Interval;
use halfpower_spec::{Direction, Pattern, VolumeLayout, format};

use super::rows::{MirrorRow, Rows};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let rows = &rows.mirror;
    let pictures = [
        picture(rows, Pattern::Sequential, "MB/s", |row| interval(row, 1.0)),
        picture(rows, Pattern::Random, "Requests a second", |row| interval(row, row.iops / row.mbps)),
        written(rows),
    ];
    pictures.into_iter().flatten().collect()
}

fn interval(row: &MirrorRow, scale: f64) -> Interval {
    Interval { value: row.mbps * scale, low: row.low * scale, high: row.high * scale }
}

/// The rows of one pattern, direction and layout, sorted by depth.
fn of(rows: &[MirrorRow], pattern: Pattern, rw: Direction, volume_layout: VolumeLayout) -> Vec<&MirrorRow> {
    rows.iter().filter(|row| (row.pattern, row.rw, row.volume_layout) == (pattern, rw, volume_layout)).collect()
}

/// The name of a layout.
fn name(volume_layout: VolumeLayout) -> &'static str {
    match volume_layout {
        VolumeLayout::Each => "one member",
        VolumeLayout::Stripe => "stripe of two",
        VolumeLayout::Mirror => "mirror of two",
    }
}

fn picture(rows: &[MirrorRow], pattern: Pattern, unit: &str, of_row: fn(&MirrorRow) -> Interval) -> Option<Picture> {
    let line = |volume_layout: &VolumeLayout| {
        let point = |row: &MirrorRow| Point::at(f64::from(row.iodepth), row.iodepth.to_string(), of_row(row));
        let points: Vec<Point> = of(rows, pattern, Direction::Read, *volume_layout).into_iter().map(point).collect();
        (!points.is_empty()).then(|| Line { name: name(*volume_layout).to_string(), points })
    };
    let lines: Vec<Line> = VolumeLayout::ALL.iter().filter_map(line).collect();
    let bs = of(rows, pattern, Direction::Read, VolumeLayout::Mirror).first()?.bs_bytes;
    Some(Picture {
        title: format!("{pattern} reads of {} by requests outstanding", format::size(bs as f64)),
        kind: PictureKind::Lines,
        x: Axis::log("Requests outstanding"),
        y: Axis::even(unit),
        lines,
    })
}

fn written(rows: &[MirrorRow]) -> Option<Picture> {
    let line = |volume_layout: &VolumeLayout| {
        let point = |pattern: &Pattern| {
            let row = of(rows, *pattern, Direction::Write, *volume_layout).pop()?;
            Some(Point::named(format!("{pattern}, {}", format::size(row.bs_bytes as f64)), interval(row, 1.0)))
        };
        let points: Vec<Point> = Pattern::ALL.iter().filter_map(point).collect();
        (!points.is_empty()).then(|| Line { name: name(*volume_layout).to_string(), points })
    };
    let lines: Vec<Line> = VolumeLayout::ALL.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| Picture {
        title: "Writes".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Requests"),
        y: Axis::even("MB/s"),
        lines,
    })
}
