//! `engines`: which way of issuing requests is fastest, and which is cheapest?

use std::ops::Deref;

use halfpower_spec::EngineName;

use super::rows::{EngineRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::Scale;
use crate::section::{Axis, Line, Picture, PictureKind, Point, Told};
use halfpower_analyse::ExperimentCell;
use halfpower_analyse::Interval;
use halfpower_text::format;

/// What differs by less nobody has to choose by.
const ALIKE: f64 = 0.05;

/// Work at which engines are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Work {
    is_buffered: bool,
    iodepth: u32,
    bs_bytes: u64,
}

fn work(row: &EngineRow) -> Work {
    Work { is_buffered: !row.cache.direct(), iodepth: row.iodepth, bs_bytes: row.bs_bytes }
}

/// A row and the cell that it tells of.
#[derive(Clone, Copy)]
struct Measured<'a> {
    row: EngineRow,
    cell: &'a ExperimentCell<'a>,
}

impl Deref for Measured<'_> {
    type Target = EngineRow;

    fn deref(&self) -> &EngineRow {
        &self.row
    }
}

/// All engines at the same work.
type Group<'a> = (Work, Vec<Measured<'a>>);

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows) -> Told {
    let mut found: Vec<Measured> = evidence.sound().map(|cell| Measured { row: row(cell), cell }).collect();
    found.sort_by_key(|measured| (work(measured), measured.engine));
    rows.engines.extend(found.iter().map(|measured| measured.row));
    let mut works: Vec<Work> = found.iter().map(|measured| work(measured)).collect();
    works.dedup();
    let at = |wanted: Work| (wanted, found.iter().copied().filter(|measured| work(measured) == wanted).collect());
    let groups: Vec<Group> = works.into_iter().map(at).collect();
    Told { answer: answer(&groups, &Scale::of(evidence.sound())), pictures: pictures(&groups) }
}

fn row(cell: &ExperimentCell) -> EngineRow {
    let finding = &cell.finding;
    let Interval { value: mbps, low, high } = finding.mbps;
    EngineRow {
        // What `auto` becomes and what a simulated disk carries all with is the cell's; what differs is asked.
        engine: cell.workload.engine,
        pattern: cell.workload.rw.pattern(),
        cache: cell.workload.cache,
        bs_bytes: cell.workload.bs.0,
        iodepth: cell.workload.iodepth,
        mbps,
        low,
        high,
        iops: finding.iops,
        p50_us: finding.latency_ns.p50 as f64 / 1e3,
        p99_us: finding.latency_ns.p99 as f64 / 1e3,
        charged_us: finding.charged_us,
        soaker_us: finding.soaker_us,
    }
}

fn answer(groups: &[Group], scale: &Scale) -> String {
    let mut sentences = Vec::new();
    // The busiest direct work decides on throughput and cost, the idlest on latency.
    let is_direct = |(work, rows): &&Group| !work.is_buffered && rows.len() > 1;
    let smallest = groups.iter().filter(is_direct).map(|(work, _)| work.bs_bytes).min();
    let of_size = || groups.iter().filter(is_direct).filter(|(work, _)| Some(work.bs_bytes) == smallest);
    if let Some((work, rows)) = of_size().max_by_key(|(work, _)| work.iodepth).filter(|(work, _)| work.iodepth > 1) {
        sentences.push(busy(work, rows, scale));
        sentences.extend(polling(rows));
    }
    if let Some((_, rows)) = of_size().find(|(work, _)| work.iodepth == 1) {
        let soonest = Winners::of(rows, |row| -row.p50_us, |_, _| false);
        let time = format::time_us(soonest.best.p50_us);
        sentences.push(format!("One at a time, {} soonest: {time} in the median.", soonest.verb("answer")));
    }
    let is_buffered = |(work, rows): &&Group| work.is_buffered && rows.len() > 1;
    if let Some((work, rows)) = groups.iter().find(is_buffered) {
        let told = |row: &Measured| format!("{} {} at {}", row.engine, format::mbps(row.mbps), bounds(row));
        let parts: Vec<String> = rows.iter().map(told).collect();
        let size = format::size(work.bs_bytes as f64);
        sentences.push(format!("In order through the page cache, {size} at a time: {}.", parts.join(", ")));
    }
    match groups.iter().find_map(|(_, rows)| rows.first()) {
        None => "No engine moved any bytes.".to_string(),
        Some(only) if sentences.is_empty() => {
            format!("Only {} could be measured: {}.", only.engine, format::mbps(only.mbps))
        }
        Some(_) => sentences.join(" "),
    }
}

fn busy(work: &Work, rows: &[Measured], scale: &Scale) -> String {
    let what = format!("{} requests of {} at a time", work.iodepth, format::size(work.bs_bytes as f64));
    // Nobody beats whom the runs do not say to be slower.
    let ties =
        |row: &Measured, best: &Measured| scale.times(&[best.cell], &[row.cell]).is_none_or(|times| !times.is_more());
    let fastest = Winners::of(rows, |row| row.iops, ties);
    let cheapest = Winners::of(rows, |row| -cost_us(row), |_, _| false);
    let rate = format::iops(fastest.best.iops);
    let slowest = rows.iter().map(|row| row.iops).fold(f64::INFINITY, f64::min);
    let speed = match fastest.names.len() == rows.len() {
        true if slowest >= fastest.best.iops * (1.0 - ALIKE) => {
            format!("With {what} all engines are equally fast ({rate})")
        }
        true => format!("With {what} no engine is surely faster than another ({} to {rate})", format::iops(slowest)),
        false => format!("With {what} {} fastest ({rate})", fastest.be()),
    };
    format!("{speed}; {} least, {} of a processor a request.", cheapest.verb("cost"), bounds(cheapest.best))
}

/// What a polling engine costs against the one that waits for interrupts.
fn polling(rows: &[Measured]) -> Option<String> {
    let usual = rows.iter().find(|row| row.engine == EngineName::IoUring).filter(|row| cost_us(row) > 0.0)?;
    let is_polled = |row: &&Measured| matches!(row.engine, EngineName::Sqpoll | EngineName::Iopoll);
    let told = |row: &Measured| format!("{} {} times", row.engine, format::two_digits(cost_us(row) / cost_us(usual)));
    let parts: Vec<String> = rows.iter().filter(is_polled).map(told).collect();
    (!parts.is_empty()).then(|| format!("Polling costs, beside io_uring's interrupts: {}.", parts.join(", ")))
}

/// The engines that are as good as the best by some measure.
struct Winners<'a> {
    names: Vec<&'static str>,
    best: &'a EngineRow,
    /// Whether nobody lost.
    is_everybody: bool,
}

impl<'a> Winners<'a> {
    /// The best by `measure`, all within a share of it, and those that `ties` with it.
    fn of(
        rows: &'a [Measured],
        measure: impl Fn(&EngineRow) -> f64,
        ties: impl Fn(&Measured, &Measured) -> bool,
    ) -> Self {
        let best = rows.iter().max_by(|one, other| measure(one).total_cmp(&measure(other))).expect("there is a row");
        let limit = measure(best) - measure(best).abs() * ALIKE;
        let wins = |row: &&Measured| measure(row) >= limit || ties(row, best);
        let names: Vec<_> = rows.iter().filter(wins).map(|row| row.engine.word()).collect();
        Self { is_everybody: names.len() == rows.len() && rows.len() > 2, names, best }
    }

    fn words(&self) -> String {
        match self.names.split_last() {
            _ if self.is_everybody => "all engines".to_string(),
            Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
            _ => self.best.engine.word().to_string(),
        }
    }

    fn verb(&self, verb: &str) -> String {
        let ending = if self.names.len() > 1 { "" } else { "s" };
        format!("{} {verb}{ending}", self.words())
    }

    fn be(&self) -> String {
        format!("{} {}", self.words(), if self.names.len() > 1 { "are" } else { "is" })
    }
}

/// The upper bound where there is one: what the machine spent, whoever was charged.
fn cost_us(row: &EngineRow) -> f64 {
    row.soaker_us.map_or(row.charged_us, |soaker_us| soaker_us.max(row.charged_us))
}

fn bounds(row: &EngineRow) -> String {
    match row.soaker_us {
        Some(soaker_us) if soaker_us > row.charged_us => {
            format!("{} to {}", format::time_us(row.charged_us), format::time_us(soaker_us))
        }
        _ => format::time_us(row.charged_us),
    }
}

fn pictures(groups: &[Group]) -> Vec<Picture> {
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
            .map(|(work, rows)| Line {
                name: name(work),
                points: rows.iter().filter_map(|row| Some(Point::named(row.engine.word(), value(row)?))).collect(),
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
        bars("Median latency", "µs", &|row| Some(Interval::exact(row.p50_us))),
        bars("Processor time a request, charged", "µs", &|row| Some(Interval::exact(row.charged_us))),
        bars("Processor time a request, by the soaker", "µs", &|row| row.soaker_us.map(Interval::exact)),
    ]
}
