//! Draws what `engines` measured: rates, latencies and both bounds of the cost, by engine.

use halfpower_analyse::Interval;
use halfpower_spec::{Issuing, format};

use super::analysis::{Work, work};
use super::rows::{EngineRow, Rows};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

/// An engine and what it changes in issuing, such as `io_uring, huge pages`.
fn way(row: &EngineRow) -> String {
    let usual = Issuing::default();
    let huge = row.iomem.filter(|iomem| *iomem != usual.iomem).map(|_| ", huge pages".to_string());
    let batch = row.iodepth_batch.filter(|batch| *batch != usual.iodepth_batch).map(|batch| match batch {
        0 => ", all a call".to_string(),
        some => format!(", {some} a call"),
    });
    format!("{}{}{}", row.engine, huge.unwrap_or_default(), batch.unwrap_or_default())
}

/// Bars by engine, one colour per kind of work.
pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let groups: Vec<&[EngineRow]> = rows.engines.chunk_by(|one, other| work(one) == work(other)).collect();
    let name = |work: &Work| {
        let way = if work.is_buffered { "buffered and in order" } else { "direct" };
        format!("{way}, {} × {}", work.iodepth, format::size(work.bs_bytes as f64))
    };
    let bars = |title: &str, unit: &str, value: &dyn Fn(&EngineRow) -> Option<Interval>| Picture {
        title: title.to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Engine"),
        y: Axis::even(unit),
        lines: groups
            .iter()
            .map(|rows| Line {
                name: name(&work(&rows[0])),
                points: rows.iter().filter_map(|row| Some(Point::named(way(row), value(row)?))).collect(),
            })
            .collect(),
    };
    let rate = |row: &EngineRow| Interval {
        value: row.iops,
        low: row.low * row.iops / row.mbps,
        high: row.high * row.iops / row.mbps,
    };
    vec![
        bars("Requests a second", "IOPS", &|row| Some(rate(row))),
        bars("Median latency", "µs", &|row| Some(Interval::exact(row.latency_ns_p50 as f64 / 1e3))),
        bars("Processor time a request, charged", "µs", &|row| Some(Interval::exact(row.charged_us))),
        bars("Processor time a request, by the soaker", "µs", &|row| row.soaker_us.map(Interval::exact)),
    ]
}
