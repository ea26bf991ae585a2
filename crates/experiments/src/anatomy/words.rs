//! Says what `anatomy` asks, what it found and what the papers saw; draws the shares and the times of the phases.

use halfpower_analyse::Interval;
use halfpower_record::Phase;
use halfpower_spec::format;

use super::analysis::{
    AnatomyAnswer, AnatomyRow, Column, CutRequests, OUTSIDE, RequestTime, ReturnedRequests, Rows, Untraced, columns,
};
use crate::answer::{NOT_KNOWN, ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::words::{sentence, size};

pub(crate) const QUESTION: &str =
    "Where does the time of a request go, on its way from the application to the device and back?";
pub(crate) const PAPERS: &str = "In 1998 a bus analyzer saw small requests waste the SCSI bus: at 8 KB half of its busy time went into \
    setting up transfers and 45% into data, at 64 KB 90% into data. A second disk doubled the throughput and \
    raised the bus's load by 125%: the extra quarter was handshaking. No analyzer hangs on today's link; the \
    kernel's tracepoints divide the way at the host's end of it instead, and what lies beyond the driver is \
    one phase.";

pub(crate) fn answer(found: &AnatomyAnswer) -> Told {
    if let Some(untraced) = &found.untraced {
        let why = why(untraced);
        let sentences = vec![format!("That is not known: {why}.")];
        return Told { short: ShortAnswer::new(NOT_KNOWN, sentence(why)), sentences };
    }
    let by_depth = found.requests.chunk_by(|one, other| one.iodepth == other.iodepth);
    let sentences = by_depth.map(requests).chain(found.cut.iter().map(cut)).chain(found.full.iter().map(full));
    Told::of(found.requests.first().map(short), sentences.collect(), "No request was traced.")
}

/// The device's share of a small request's time, and where the most of the rest goes.
fn short(one: &RequestTime) -> ShortAnswer {
    let figure = format!("{} in the device", format::percent(one.device_share));
    let next =
        one.next.map_or(String::new(), |next| format!(", {} of it {}", format::percent(next.share), place(next.phase)));
    let what = format!("a request of {} takes {}", size(one.bs_bytes), format::time_ns(one.latency_ns_mean));
    ShortAnswer::new(figure, format!("{}, {what}{next}.", deep(one.iodepth)))
}

fn why(untraced: &Untraced) -> &str {
    match untraced {
        Untraced::NoRun => "no traced run was finished",
        Untraced::NoWholeRequest => "no request was seen on its whole way",
        Untraced::Failed { why } => why,
    }
}

/// The kind of a request, such as `4 KiB, 16 deep`.
pub(super) fn request(bs_bytes: u64, iodepth: u32) -> String {
    format!("{}, {iodepth} deep", size(bs_bytes))
}

/// Describes all requests of one depth.
fn requests(of_depth: &[RequestTime]) -> String {
    let reported: Vec<String> = of_depth.iter().map(|one| format!("a request of {}", time(one))).collect();
    format!("{}, {}.", deep(of_depth[0].iodepth), reported.join(", and "))
}

fn deep(iodepth: u32) -> String {
    if iodepth == 1 { "One at a time".to_string() } else { format!("{iodepth} deep") }
}

/// Describes one request, such as `4 KiB takes 41 µs (72% in the device, 12% in completion)`.
fn time(one: &RequestTime) -> String {
    let next =
        one.next.map_or(String::new(), |next| format!(", {} {}", format::percent(next.share), place(next.phase)));
    let time = format::time_ns(one.latency_ns_mean);
    let device = format::percent(one.device_share);
    format!("{} takes {time} ({device} in the device{next})", size(one.bs_bytes))
}

/// The place of a phase, in words.
fn place(phase: &str) -> &'static str {
    match phase {
        "submit" => "on the way to the block layer",
        "queue" => "waiting for a tag",
        "plug" => "in the plug",
        "scheduler" => "with the scheduler",
        "device" => "in the device",
        "interrupt" => "in the interrupt",
        "completion" => "from the driver's report to the answer",
        _ => "outside of the tracepoints",
    }
}

fn cut(one: &CutRequests) -> String {
    // A request in four parts was cut three times.
    let cuts = if one.share > 1.0 {
        format!("a request is cut {} times on the average", format::two_digits(one.share))
    } else {
        format!("{} are cut", format::percent(one.share))
    };
    format!("The device takes less than {} at once: {cuts}.", size(one.bs_bytes))
}

fn full(one: &ReturnedRequests) -> String {
    let label = request(one.bs_bytes, one.iodepth);
    let count = format::two_digits(one.times);
    format!("At {label}, the driver is full: a request is handed back {count} times on the average.")
}

pub(crate) fn pictures(data: &ExperimentData, _: &Rows) -> Vec<Picture> {
    let columns = columns(data);
    let several = columns.iter().any(|column| column.n != columns[0].n);
    if columns.is_empty() { Vec::new() } else { vec![shares(&columns, several), times(&columns, several)] }
}

/// The label of a column, such as `4 KiB, 16 deep, 2 devices`.
fn label(column: &Column, several: bool) -> String {
    let devices = if column.n == 1 { "device" } else { "devices" };
    let on = if several { format!(", {} {devices}", column.n) } else { String::new() };
    request(column.cell.workload.bs.0, column.cell.workload.iodepth) + &on
}

/// All phases that occur in any column, in the order in which a request passes them.
fn phases(columns: &[Column]) -> Vec<&'static str> {
    let known = Phase::ALL.iter().map(|phase| phase.word()).chain([OUTSIDE]);
    known.filter(|phase| columns.iter().any(|column| column.rows.iter().any(|row| row.phase == *phase))).collect()
}

fn shares(columns: &[Column], several: bool) -> Picture {
    let line = |phase: &'static str| Line {
        name: phase.to_string(),
        points: columns
            .iter()
            .map(|column| Point::named(label(column, several), Interval::exact(column.share(phase) * 100.0)))
            .collect(),
    };
    Picture {
        title: "Where a request's time goes".to_string(),
        kind: PictureKind::Stack,
        x: Axis::even("Request"),
        y: Axis::even("Share of its latency, %"),
        lines: phases(columns).into_iter().map(line).collect(),
    }
}

fn times(columns: &[Column], several: bool) -> Picture {
    let point = |row: &AnatomyRow| {
        Point::named(row.phase, Interval { value: row.ns / 1e3, low: row.low / 1e3, high: row.high / 1e3 })
    };
    let line = |column: &Column| Line {
        name: label(column, several),
        points: column.rows.iter().filter(|row| row.ns > 0.0).map(point).collect(),
    };
    Picture {
        title: "Time in each phase".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Phase"),
        y: Axis::log("Time, µs"),
        lines: columns.iter().map(line).collect(),
    }
}
