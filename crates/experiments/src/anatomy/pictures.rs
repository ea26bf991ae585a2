//! Draws what `anatomy` measured: the shares and the times of the phases.

use halfpower_analyse::Interval;
use halfpower_record::Phase;

use super::analysis::{Column, OUTSIDE, columns};
use super::rows::{AnatomyRow, Rows};
use super::words::request;
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

pub(crate) fn pictures(data: &ExperimentData, _: &Rows) -> Vec<Picture> {
    let columns = columns(data);
    let several = columns.iter().any(|column| column.n != columns[0].n);
    if columns.is_empty() { Vec::new() } else { vec![shares(&columns, several), times(&columns, several)] }
}

/// The label of a column, such as `4 KiB, 16 deep, 2 devices`.
fn label(column: &Column, several: bool) -> String {
    let devices = if column.n == 1 { "device" } else { "devices" };
    let on = if several { format!(", {} {devices}", column.n) } else { String::new() };
    request(column.cell.workload.bs.0, column.cell.workload.iodepth) + &on
}

/// All phases that occur in any column, in the order in which a request passes them.
fn phases(columns: &[Column]) -> Vec<&'static str> {
    let known = Phase::ALL.iter().map(|phase| phase.word()).chain([OUTSIDE]);
    known.filter(|phase| columns.iter().any(|column| column.rows.iter().any(|row| row.phase == *phase))).collect()
}

fn shares(columns: &[Column], several: bool) -> Picture {
    let line = |phase: &'static str| Line {
        name: phase.to_string(),
        points: columns
            .iter()
            .map(|column| Point::named(label(column, several), Interval::exact(column.share(phase) * 100.0)))
            .collect(),
    };
    Picture {
        title: "Where a request's time goes".to_string(),
        kind: PictureKind::Stack,
        x: Axis::even("Request"),
        y: Axis::even("Share of its latency, %"),
        lines: phases(columns).into_iter().map(line).collect(),
    }
}

fn times(columns: &[Column], several: bool) -> Picture {
    let point = |row: &AnatomyRow| {
        Point::named(row.phase, Interval { value: row.ns / 1e3, low: row.low / 1e3, high: row.high / 1e3 })
    };
    let line = |column: &Column| Line {
        name: label(column, several),
        points: column.rows.iter().filter(|row| row.ns > 0.0).map(point).collect(),
    };
    Picture {
        title: "Time in each phase".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Phase"),
        y: Axis::log("Time, µs"),
        lines: columns.iter().map(line).collect(),
    }
}
