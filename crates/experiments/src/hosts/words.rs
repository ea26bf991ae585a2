//! Says what `hosts` asks, what it found and what the papers saw; draws throughput by number of hosts, and each host
//! alone.

use halfpower_analyse::{Access, Interval};
use halfpower_spec::format;
use halfpower_spec::{Direction, Pattern};

use super::analysis::{HostAloneRow, HostsAnswer, HostsRow, HostsScaling, HostsVerdict, Rows, SharedPart, TakenOver};
use crate::at_once::{kinds, picture, point};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::words::sentence;

pub(crate) const QUESTION: &str = "What does each further host bring, and where does a path that they share take over?";
pub(crate) const PAPERS: &str = "The studies of 1998 and 2000 measured one client. In 2000 a gigabit wire carried up to 40 MB/s of a \
    file server's reads to it, and the processors of both ends were what stopped it.";

pub(crate) fn answer(found: &HostsAnswer) -> String {
    if found.hosts == 0 {
        return "No hosts were measured both alone and together.".to_string();
    }
    found.kinds.iter().map(|kind| sentence(&scaling(kind))).collect::<Vec<_>>().join(" ")
}

fn scaling(found: &HostsScaling) -> String {
    let HostsScaling { access: Access { pattern, rw }, verdict, one_mbps, n, mbps, taken_over } = found;
    let [one, all] = [*one_mbps, *mbps].map(format::mbps);
    match (taken_over, verdict) {
        (Some(over), _) => format!("{pattern} {rw}s: {}", taken(over, *n, &one, &all)),
        (None, HostsVerdict::Scale) => {
            format!("{pattern} {rw}s: all {n} hosts bring what they have, {one} each and {all} together")
        }
        (None, _) => {
            format!(
                "{pattern} {rw}s: {n} hosts reach {all} together and {one} each alone; these runs cannot tell whether they share a path"
            )
        }
    }
}

fn taken(over: &TakenOver, n: u32, one: &str, all: &str) -> String {
    let TakenOver { n: at, mbps, before_n, before_mbps, ceiling_mbps, by } = over;
    let further = if n > *at { format!(", all {n} {all}") } else { String::new() };
    let [mbps, before_mbps, ceiling] = [*mbps, *before_mbps, *ceiling_mbps].map(format::mbps);
    let before = if *before_n > 1 { format!(", {before_n} hosts reach {before_mbps}") } else { String::new() };
    format!(
        "one host gives {one}{before}, and from host {at} on a shared path takes over at {mbps}{further}; \
         it lets {ceiling} through. {}",
        sentence(&which(by))
    )
}

fn which(by: &SharedPart) -> String {
    match by {
        SharedPart::FarDisk { disk, share } => {
            format!("it is the far end's disk {disk}, with requests in flight {} of the time", format::percent(*share))
        }
        SharedPart::FarDiskLimit { disk, mbps } => {
            format!("it is the far end's disk {disk}, of which a control group lets {} through", format::mbps(*mbps))
        }
        SharedPart::FarProcessors { share } => {
            format!("it is the far end's processors, {} busy", format::percent(*share))
        }
        SharedPart::FarWire => {
            "it is the wire of the far end, or its server: disk and processors there have time left".to_string()
        }
        SharedPart::OwnComputer => {
            "all processes are on one computer: it is that computer's path to the target, or the target".to_string()
        }
        SharedPart::Unknown => {
            "whether that is the wire, the server or its disk, --far-end tells with a witness on the server".to_string()
        }
    }
}

pub(crate) fn pictures(_data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    kinds().filter_map(|(pattern, rw)| together(&rows.hosts, pattern, rw)).chain(alone(&rows.hosts_alone)).collect()
}

fn together(rows: &[HostsRow], pattern: Pattern, rw: Direction) -> Option<Picture> {
    let rows: Vec<&HostsRow> = rows.iter().filter(|row| (row.pattern, row.rw) == (pattern, rw)).collect();
    rows.first()?;
    let measured = |row: &&HostsRow| point(row.n, Interval { value: row.mbps, low: row.low, high: row.high });
    let one_by_one = |row: &&HostsRow| point(row.n, Interval::exact(row.mbps / row.of_alone));
    let lines = vec![
        Line { name: "together".to_string(), points: rows.iter().map(measured).collect() },
        Line { name: "the same one by one".to_string(), points: rows.iter().map(one_by_one).collect() },
    ];
    Some(picture("hosts", "Hosts", pattern, rw, lines))
}

fn alone(rows: &[HostAloneRow]) -> Option<Picture> {
    let of = |rw: Direction| {
        let rows = rows.iter().filter(|row| (row.pattern, row.rw) == (Pattern::Sequential, rw));
        let point = |row: &HostAloneRow| {
            Point::named(row.rank.to_string(), Interval { value: row.mbps, low: row.low, high: row.high })
        };
        Line { name: format!("{rw}s"), points: rows.map(point).collect() }
    };
    let lines: Vec<Line> = Direction::ALL.iter().copied().map(of).filter(|line| line.points.len() > 1).collect();
    (!lines.is_empty()).then(|| Picture {
        title: "Each host alone".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Rank"),
        y: Axis::even("MB/s"),
        lines,
    })
}
