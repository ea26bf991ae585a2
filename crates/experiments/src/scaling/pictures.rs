//! Draws what `scaling` measured: throughput and cost by number of members.

use halfpower_analyse::Interval;
use halfpower_spec::{Direction, Pattern, VolumeLayout};

use super::analysis::{alone, costs, kinds};
use super::answer::MemberCost;
use super::rows::{Rows, ScalingRow};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let rows = &rows.scaling;
    let price = if rows.is_empty() { None } else { price(data) };
    kinds().filter_map(|(pattern, rw)| picture(rows, pattern, rw)).chain(price).collect()
}

fn picture(rows: &[ScalingRow], pattern: Pattern, rw: Direction) -> Option<Picture> {
    let alone = alone(rows, pattern, rw);
    let single = alone.first()?.mbps;
    let at = |row: &ScalingRow| {
        let Interval { value, low, high } = Interval { value: row.mbps, low: row.low, high: row.high };
        Point { label: row.n.to_string(), x: f64::from(row.n), y: value, low, high }
    };
    let of_stripe =
        |row: &&ScalingRow| (row.pattern, row.rw) == (pattern, rw) && (row.volume_layout == VolumeLayout::Stripe);
    let ideal =
        |row: &&ScalingRow| Point::at(f64::from(row.n), row.n.to_string(), Interval::exact(single * f64::from(row.n)));
    Some(Picture {
        title: format!("{pattern} {rw}s by members at work"),
        kind: PictureKind::Lines,
        x: Axis::even("Members"),
        y: Axis::even("MB/s"),
        lines: vec![
            Line { name: "each on its own".to_string(), points: alone.iter().map(|row| at(row)).collect() },
            Line { name: "as a stripe".to_string(), points: rows.iter().filter(of_stripe).map(at).collect() },
            Line { name: "so many times one".to_string(), points: alone.iter().map(ideal).collect() },
        ],
    })
}

fn price(data: &ExperimentData) -> Option<Picture> {
    let line = |rw: Direction, what: &str, of: fn(&MemberCost) -> f64| {
        let point = |cost: &MemberCost| Point::at(f64::from(cost.n), cost.n.to_string(), Interval::exact(of(cost)));
        let points = costs(data, rw).iter().map(point).collect();
        Line { name: format!("{rw}, {what}"), points }
    };
    let lines = Direction::ALL.iter().flat_map(|rw| {
        [line(*rw, "fixed", |cost| cost.fixed_us), line(*rw, "64 KiB more", |cost| cost.us_per_kib * 64.0)]
    });
    let lines: Vec<Line> = lines.filter(|line| !line.points.is_empty()).collect();
    (!lines.is_empty()).then(|| Picture {
        title: "Processor time of a request by members at work".to_string(),
        kind: PictureKind::Lines,
        x: Axis::even("Members"),
        y: Axis::even("Charged, µs a request"),
        lines,
    })
}
