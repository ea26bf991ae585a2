//! Draws what `credit` measured: the rate over time.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::format;

use super::rows::Rows;
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

/// Approximate number of points in a line.
const POINTS: usize = 40;

pub(crate) fn pictures(data: &ExperimentData, _: &Rows) -> Vec<Picture> {
    let lines: Vec<Line> = data.sound().filter_map(line).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    vec![Picture {
        title: "Throughput as it goes on".to_string(),
        kind: PictureKind::Lines,
        x: Axis::even("Time, s"),
        y: Axis::even("MB/s"),
        lines,
    }]
}

/// The first run of a cell; the later runs follow without a rest.
fn line(cell: &ExperimentCell) -> Option<Line> {
    let series = &cell.records.iter().find(|record| record.bytes > 0)?.series;
    let group = series.bytes.len().div_ceil(POINTS).max(1);
    let seconds = group as f64 * series.step_ns as f64 / 1e9;
    let point = |(place, steps): (usize, &[u64])| {
        let at_s = (place as f64 + 0.5) * seconds;
        let mbps = steps.iter().map(|bytes| *bytes as f64).sum::<f64>() / seconds / 1e6;
        Point::at(at_s, format!("{at_s:.2} s"), Interval::exact(mbps))
    };
    let name = format!("{} {}", cell.finding.rw, format::size(cell.finding.bs_bytes as f64));
    Some(Line { name, points: series.bytes.chunks_exact(group).enumerate().map(point).collect() })
}
