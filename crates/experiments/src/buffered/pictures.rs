//! Draws what `buffered` measured: rates and costs by block size, the terms of the cost, small writes, and a run over
//! time.

use halfpower_analyse::{CellFinding, ExperimentCell, Interval};
use halfpower_spec::{Direction, Fadvise, PageCache, Pass, format};

use super::analysis::{SHOWN_BYTES, Walk, call_ns};
use super::cost::BufferedCostRow;
use super::rows::Rows;
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};

/// Points of a run over time: few enough to read.
const MOMENTS: usize = 12;

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let walk = &Walk::of(data);
    let mbps = |finding: &CellFinding| Some(finding.mbps);
    let charged = |finding: &CellFinding| Some(Interval::of_means(&finding.run_charged_us));
    let soaker = |finding: &CellFinding| finding.soaker_us.map(Interval::exact);
    let pictures = [
        by_size(walk, "Throughput by block size, one request at a time", Axis::log("MB/s"), &mbps),
        by_size(walk, "Processor time a request, charged", Axis::log("µs"), &charged),
        by_size(walk, "Processor time a request, by the soaker", Axis::log("µs"), &soaker),
        parts(&rows.buffered_cost),
        small_writes(walk),
        advice(walk),
        over_time(walk),
    ];
    pictures.into_iter().flatten().collect()
}

fn by_size(walk: &Walk, title: &str, y: Axis, value: &dyn Fn(&CellFinding) -> Option<Interval>) -> Option<Picture> {
    let line = |direct: bool, rw: Direction| {
        let point = |cell: &&ExperimentCell| {
            let bytes = cell.workload.bs.0 as f64;
            Some(Point::at(bytes, format::size(bytes), value(&cell.finding)?))
        };
        let points: Vec<Point> = walk.along(rw, direct).iter().filter_map(point).collect();
        let name = format!("{} {rw}", if direct { "direct" } else { "buffered" });
        (!points.is_empty()).then_some(Line { name, points })
    };
    let both = |direct: bool| Direction::ALL.iter().filter_map(move |rw| line(direct, *rw));
    let lines: Vec<Line> = both(false).chain(both(true)).collect();
    let x = Axis::log("Block size");
    (!lines.is_empty()).then(|| Picture { title: title.to_string(), kind: PictureKind::Lines, x, y, lines })
}

/// The terms of the cost, stacked.
fn parts(terms: &[BufferedCostRow]) -> Option<Picture> {
    let line = |name: &str, value: &dyn Fn(&BufferedCostRow) -> Option<f64>| {
        let point = |row: &BufferedCostRow| Some(Point::named(row.rw.word(), Interval::exact(value(row)?.max(0.0))));
        Line { name: name.to_string(), points: terms.iter().filter_map(point).collect() }
    };
    let lines = [
        line("the call", &|row| Some(row.call_us.value)),
        line("the copy", &|row| Some(row.copy_ns_per_byte.value * SHOWN_BYTES as f64 / 1e3)),
        // Without a soaker pass this term is unknown, not zero.
        line("reading ahead, writing behind", &|row| Some(row.behind_us_per_64kib?.value)),
    ];
    let lines = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    (!terms.is_empty()).then(|| Picture {
        title: "Processor time of a buffered request of 64 KiB".to_string(),
        kind: PictureKind::Stack,
        x: Axis::even("Direction"),
        y: Axis::even("µs"),
        lines,
    })
}

fn small_writes(walk: &Walk) -> Option<Picture> {
    let named = |state: PageCache, label: &str| Some(Point::named(label, mean_us(walk.small(state)?)));
    let points: Vec<Point> = [named(PageCache::Empty, "not in memory"), named(PageCache::Warm, "in memory")]
        .into_iter()
        .flatten()
        .chain(whole_pages(walk))
        .collect();
    (points.len() > 1).then(|| Picture {
        title: "Small buffered writes anywhere".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Where the page is"),
        y: Axis::even("Mean time of a write, µs"),
        lines: vec![Line { name: "2 KiB, and a whole page".to_string(), points }],
    })
}

/// Mean time of a call, in microseconds.
fn mean_us(cell: &ExperimentCell) -> Interval {
    let Interval { value, low, high } = Interval::of_means(&call_ns(cell));
    Interval { value: value / 1e3, low: low / 1e3, high: high / 1e3 }
}

/// Random writes of whole pages, which read nothing first.
fn whole_pages(walk: &Walk) -> Option<Point> {
    let is_whole = |cell: &&&ExperimentCell| {
        let workload = cell.workload;
        workload.options.region.is_some() && workload.bs.0 >= super::cost::PAGE_BYTES
    };
    let cell = walk.cells.iter().find(is_whole)?;
    Some(Point::named("a whole page, not in memory", mean_us(cell)))
}

fn advice(walk: &Walk) -> Option<Picture> {
    let point = |advice: &Fadvise| Some(Point::named(advice.word(), walk.advised(*advice)?.finding.mbps));
    let points: Vec<Point> = Fadvise::ALL.iter().filter_map(point).collect();
    let size = format::size(walk.advised(Fadvise::Random)?.workload.bs.0 as f64);
    (points.len() > 1).then(|| Picture {
        title: format!("Buffered reads of {size} by what the kernel is told"),
        kind: PictureKind::Bars,
        x: Axis::even("posix_fadvise"),
        y: Axis::even("MB/s"),
        lines: vec![Line { name: "buffered read".to_string(), points }],
    })
}

/// Rate at which the page cache took writes in the first run, over time; zero during the closing flush.
fn over_time(walk: &Walk) -> Option<Picture> {
    let writes = walk.along(Direction::Write, false);
    let cell = writes.iter().find(|cell| cell.workload.bs.0 == SHOWN_BYTES)?;
    let record = cell.records.iter().find(|record| record.run.pass == Pass::Plain && record.flush_ns > 0)?;
    let step_ns = record.series.step_ns as f64;
    let window_ns = (record.elapsed_ns - record.flush_ns.min(record.elapsed_ns)) as f64;
    // Nothing arrives during the flush, so only the steps before it show the cache's rate.
    let taken = (window_ns / step_ns.max(1.0)) as usize;
    let taken = &record.series.bytes[..taken.min(record.series.bytes.len())];
    let together = taken.len().div_ceil(MOMENTS).max(1);
    let moment = |ns: f64, mbps: f64| Point::at(ns / 1e6, format::time_us(ns / 1e3), Interval::exact(mbps));
    let mean = |(at, steps): (usize, &[u64])| {
        let (from, length) = (at as f64 * together as f64, steps.len() as f64);
        let bytes: f64 = steps.iter().map(|bytes| *bytes as f64).sum();
        moment((from + length / 2.0) * step_ns, bytes * 1e3 / (length * step_ns))
    };
    let phase = taken.chunks(together).enumerate().map(mean).collect();
    let flush = vec![moment(window_ns, 0.0), moment(record.elapsed_ns as f64, 0.0)];
    let line = |name: &str, points| Line { name: name.to_string(), points };
    (!taken.is_empty()).then(|| Picture {
        title: "A buffered write of 64 KiB blocks over time".to_string(),
        kind: PictureKind::Lines,
        x: Axis::even("Time since the first request"),
        y: Axis::even("Taken from the application, MB/s"),
        lines: vec![line("the cache takes it", phase), line("the closing flush", flush)],
    })
}
