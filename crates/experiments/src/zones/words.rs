//! Says what `zones` asks, what it found and what the papers saw; draws throughput by place, and the bands.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::format;

use super::analysis::{Rows, ZoneRow, ZonesAnswer, places};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

pub(crate) const QUESTION: &str =
    "Is every part of the target as fast as every other, from its first byte to its last?";
pub(crate) const PAPERS: &str = "In 2000 the inner band of a Quantum Atlas 10K gave 35% less than its outer one (17 against 24 MB/s), and \
    that of a Quantum Fireball 40% less. A drive without tracks has no such bands: where it shows some, they \
    speak of caches, of what was written when, or of several devices behind one name.";

pub(crate) fn answer(found: &ZonesAnswer) -> String {
    match *found {
        ZonesAnswer::Unread => "No part of the target could be read.".to_string(),
        ZonesAnswer::Even { mbps } => format!("Yes: {} everywhere.", format::mbps(mbps)),
        ZonesAnswer::Nearly { least_mbps, most_mbps } => {
            format!("Nearly: from {} to {}, whatever the place.", format::mbps(least_mbps), format::mbps(most_mbps))
        }
        ZonesAnswer::Bands { bands, first_mbps, last_mbps } => format!(
            "No: it falls into {bands} bands, from {} at the beginning to {} at the end ({} of it).",
            format::mbps(first_mbps),
            format::mbps(last_mbps),
            format::percent(last_mbps / first_mbps),
        ),
    }
}

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let places = places(data);
    let zones = &rows.zones;
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
