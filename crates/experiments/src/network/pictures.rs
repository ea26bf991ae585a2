//! Draws what `network` measured: rates and processor time by block size.

use halfpower_analyse::Interval;
use halfpower_spec::Direction;
use halfpower_text::format;

use super::rows::{NetworkRow, Rows};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

type Figure = fn(&NetworkRow) -> Option<Interval>;

pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let all = [
        by_size(rows, "Throughput by block size", "MB/s", &[("", rate)]),
        by_size(rows, "Processor time a request", "µs", &[(", here", charged), (", far end", far)]),
    ];
    all.into_iter().flatten().collect()
}

fn rate(row: &NetworkRow) -> Option<Interval> {
    Some(Interval { value: row.mbps, low: row.low, high: row.high })
}

fn charged(row: &NetworkRow) -> Option<Interval> {
    row.soaker_us.or(row.charged_us).filter(|us| *us > 0.0).map(Interval::exact)
}

fn far(row: &NetworkRow) -> Option<Interval> {
    row.far_us.filter(|us| *us > 0.0).map(Interval::exact)
}

/// A line for each direction, depth and figure, over one connection.
fn by_size(rows: &Rows, title: &str, unit: &str, figures: &[(&str, Figure)]) -> Option<Picture> {
    let mut depths: Vec<u32> = rows.network.iter().map(|row| row.iodepth).collect();
    depths.sort_unstable();
    depths.dedup();
    let mut lines = Vec::new();
    for (rw, depth) in Direction::ALL.iter().flat_map(|rw| depths.iter().map(move |depth| (*rw, *depth))) {
        let same: Vec<&NetworkRow> =
            rows.network.iter().filter(|row| (row.rw, row.iodepth, row.connections) == (rw, depth, 1)).collect();
        for (whose, figure) in figures {
            let point = |row: &&NetworkRow| {
                Some(Point::at(row.bs_bytes as f64, format::size(row.bs_bytes as f64), figure(row)?))
            };
            let points: Vec<Point> = same.iter().filter_map(point).collect();
            if points.len() > 1 {
                lines.push(Line { name: format!("{rw}, {depth} deep{whose}"), points });
            }
        }
    }
    let (x, y) = (Axis::log("Block size"), Axis::log(unit));
    (!lines.is_empty()).then(|| Picture { title: title.to_string(), kind: PictureKind::Lines, x, y, lines })
}
