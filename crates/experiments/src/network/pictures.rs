//! Draws what `network` measured: rates and processor time by block size, sealing and way.

use halfpower_analyse::Interval;
use halfpower_spec::{Direction, Sealing, Way, format};

use super::analysis::walked;
use super::rows::{NetworkRow, Rows};
use super::sealed::Sealed;
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

/// Depth at which the ways are compared.
const DEPTH_OF_WAYS: u32 = 8;

type Figure = fn(&NetworkRow) -> Option<Interval>;

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let walked: Vec<&NetworkRow> = walked(&rows.network, data.question.sealing).collect();
    let all = [
        by_size(&walked, "Throughput by block size", "MB/s", &[("", rate)]),
        by_size(&walked, "Processor time a request", "µs", &[(", here", charged), (", far end", far)]),
        by_way(rows, "Throughput by way, 8 deep"),
        by_sealing(data, rows, "Throughput by sealing", "MB/s", &[("", rate)]),
        by_sealing(data, rows, "Processor time a request by sealing", "µs", &[(", here", charged), (", far end", far)]),
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

/// One line per direction, depth and figure, over one connection.
fn by_size(rows: &[&NetworkRow], title: &str, unit: &str, figures: &[(&str, Figure)]) -> Option<Picture> {
    let mut depths: Vec<u32> = rows.iter().map(|row| row.iodepth).collect();
    depths.sort_unstable();
    depths.dedup();
    let mut lines = Vec::new();
    for (rw, depth) in Direction::ALL.iter().flat_map(|rw| depths.iter().map(move |depth| (*rw, *depth))) {
        let same: Vec<&NetworkRow> =
            rows.iter().copied().filter(|row| (row.rw, row.iodepth, row.connections) == (rw, depth, 1)).collect();
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

/// One bar per sealing and figure; one group per kind of request that was measured with several sealings.
fn by_sealing(
    data: &ExperimentData,
    rows: &Rows,
    title: &str,
    unit: &str,
    figures: &[(&str, Figure)],
) -> Option<Picture> {
    let asked = Sealed::asked(&data.environment.capabilities);
    let kind = |row: &NetworkRow| (row.rw, row.way, row.bs_bytes, row.iodepth, row.connections);
    let is_compared = |row: &&NetworkRow| {
        row.way == Way::Wire
            && rows.network.iter().any(|other| kind(other) == kind(row) && other.sealing != row.sealing)
    };
    let mut lines = Vec::new();
    for (sealing, (whose, figure)) in
        Sealing::ALL.iter().flat_map(|sealing| figures.iter().map(move |of| (*sealing, of)))
    {
        let point = |row: &NetworkRow| {
            let label = format!("{}s of {}, {} deep", row.rw, format::size(row.bs_bytes as f64), row.iodepth);
            Some(Point::named(label, figure(row)?))
        };
        let same = rows.network.iter().filter(|row| row.sealing == sealing).filter(is_compared);
        let points: Vec<Point> = same.filter_map(point).collect();
        if !points.is_empty() {
            lines.push(Line { name: format!("{}{whose}", Sealed::of(sealing, asked).word()), points });
        }
    }
    let (x, y) = (Axis::even("Requests"), Axis::log(unit));
    (lines.len() > 1).then(|| Picture { title: title.to_string(), kind: PictureKind::Bars, x, y, lines })
}

/// One line per direction and way, with the sealing that the server asks for; `None` if only the wire was measured.
fn by_way(rows: &Rows, title: &str) -> Option<Picture> {
    let is_compared =
        |row: &&NetworkRow| (row.iodepth, row.connections, row.sealing) == (DEPTH_OF_WAYS, 1, Sealing::AsAsked);
    if rows.network.iter().all(|row| row.way == Way::Wire) {
        return None;
    }
    let mut lines = Vec::new();
    for (rw, way) in Direction::ALL.iter().flat_map(|rw| Way::ALL.iter().map(move |way| (*rw, *way))) {
        let same = rows.network.iter().filter(is_compared).filter(|row| (row.rw, row.way) == (rw, way));
        let point =
            |row: &NetworkRow| Some(Point::at(row.bs_bytes as f64, format::size(row.bs_bytes as f64), rate(row)?));
        let points: Vec<Point> = same.filter_map(point).collect();
        if points.len() > 1 {
            lines.push(Line { name: format!("{rw}, {way}"), points });
        }
    }
    let (x, y) = (Axis::log("Block size"), Axis::log("MB/s"));
    (lines.len() > 1).then(|| Picture { title: title.to_string(), kind: PictureKind::Lines, x, y, lines })
}
