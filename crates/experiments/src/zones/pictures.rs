//! Draws what `zones` measured: throughput by place, and the bands.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::format;

use super::analysis::places;
use super::rows::{Rows, ZoneRow};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let (places, zones) = (places(data), &rows.zones);
    if places.is_empty() {
        return Vec::new();
    }
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let place =
        |(from, cell): &(u64, &ExperimentCell)| Point::at(gib(*from), format::size(*from as f64), cell.finding.mbps);
    let ends = |zone: &ZoneRow| {
        [zone.from_bytes, zone.to_bytes]
            .map(|at| Point::at(gib(at), format::size(at as f64), Interval::exact(zone.mbps)))
    };
    vec![Picture {
        title: "Throughput by place".to_string(),
        kind: PictureKind::Lines,
        x: Axis::even("Place, GiB"),
        y: Axis::even("MB/s"),
        lines: vec![
            Line { name: "measured".to_string(), points: places.iter().map(place).collect() },
            Line { name: "bands".to_string(), points: zones.iter().flat_map(ends).collect() },
        ],
    }]
}
