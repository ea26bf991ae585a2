//! Draws what `price` measured: accesses per unit of money, by depth.

use halfpower_analyse::{ExperimentCell, Interval, KILOBYTES, MEGABYTES};
use halfpower_spec::format;

use super::rows::Rows;
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

pub(crate) fn pictures(data: &ExperimentData, _: &Rows) -> Vec<Picture> {
    let Some(price) = data.question.price else { return Vec::new() };
    let pictures = [picture(data, price, KILOBYTES, "KAPS"), picture(data, price, MEGABYTES, "MAPS")];
    pictures.into_iter().flatten().collect()
}

/// Accesses of one size per unit of money, by depth.
fn picture(data: &ExperimentData, price: f64, bytes: u64, what: &str) -> Option<Picture> {
    let mut cells: Vec<&ExperimentCell> = data.sound().filter(|cell| cell.finding.bs_bytes == bytes).collect();
    cells.sort_by_key(|cell| cell.finding.iodepth);
    let point = |cell: &&ExperimentCell| {
        let Interval { value, low, high } = cell.finding.mbps;
        let bought = |mbps: f64| mbps * 1e6 / bytes as f64 / price;
        let bought = Interval { value: bought(value), low: bought(low), high: bought(high) };
        Point::named(format!("{} deep", cell.finding.iodepth), bought)
    };
    let size = format::size(bytes as f64);
    (!cells.is_empty()).then(|| Picture {
        title: format!("{what}: random reads of {size}"),
        kind: PictureKind::Bars,
        x: Axis::even("Requests at once"),
        y: Axis::even(format!("{what} for each 1 of the price")),
        lines: vec![Line { name: what.to_string(), points: cells.iter().map(point).collect() }],
    })
}
