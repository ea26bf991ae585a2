//! Draws what `allocation` measured: throughput by file layout.

use halfpower_analyse::Interval;
use halfpower_spec::{Cache, cache_word};

use super::rows::{AllocationRow, Rows};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

/// Bars by layout, one colour per cache setting and depth.
pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let mut groups: Vec<(Cache, u32)> = rows.allocation.iter().map(|row| (row.cache, row.iodepth)).collect();
    groups.dedup();
    let line = |(cache, iodepth): &(Cache, u32)| {
        let of_group = |row: &&AllocationRow| (row.cache, row.iodepth) == (*cache, *iodepth);
        let point = |row: &AllocationRow| {
            Point::named(row.case.word(), Interval { value: row.mbps, low: row.low, high: row.high })
        };
        let points = rows.allocation.iter().filter(of_group).map(point).collect();
        Line { name: format!("{}, {iodepth} deep", cache_word(*cache)), points }
    };
    vec![Picture {
        title: "Sequential writes of 64 KiB by how the file is there".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("How the file is there when they begin"),
        y: Axis::even("MB/s"),
        lines: groups.iter().map(line).collect(),
    }]
}
