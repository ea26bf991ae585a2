//! Draws what `memory` measured: the rate of each kernel.

use halfpower_analyse::Interval;

use super::rows::{MemoryRow, Rows};
use super::words::threads;
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

/// Bars by kernel, one colour per thread count.
pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let rows = &rows.memory;
    let mut counts: Vec<u32> = rows.iter().map(|row| row.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    let line = |count: &u32| {
        let of = rows.iter().filter(|row| row.threads == *count);
        let point = |row: &MemoryRow| {
            let MemoryRow { mbps: value, low, high, .. } = *row;
            Point::named(row.kernel.word(), Interval { value, low, high })
        };
        Line { name: threads(*count), points: of.map(point).collect() }
    };
    vec![Picture {
        title: "Rate of each kernel".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Kernel"),
        y: Axis::even("MB/s"),
        lines: counts.iter().map(line).collect(),
    }]
}
