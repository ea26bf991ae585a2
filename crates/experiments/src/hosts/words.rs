//! Says what `hosts` asks, what it found and what the papers saw; draws throughput by number of hosts, and each host
//! alone.

use halfpower_analyse::{Access, Interval};
use halfpower_spec::format;
use halfpower_spec::{Direction, Pattern};

use super::analysis::{HostAloneRow, HostsAnswer, HostsRow, HostsScaling, HostsVerdict, Rows, SharedPart, TakenOver};
use crate::answer::{ShortAnswer, Told};
use crate::at_once::{kinds, picture, point};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::words::{NOT_DECIDED, sentence};

pub(crate) const QUESTION: &str = "What does each further host bring, and where does a path that they share take over?";
pub(crate) const PAPERS: &str = "The studies of 1998 and 2000 measured one client. In 2000 a gigabit wire carried up to 40 MB/s of a \
    file server's reads to it, and the processors of both ends were what stopped it.";

pub(crate) fn answer(found: &HostsAnswer) -> Told {
    let otherwise = "No hosts were measured both alone and together.";
    if found.hosts == 0 {
        return Told::unknown(otherwise);
    }
    Told::of(short(found), found.kinds.iter().map(|kind| sentence(&scaling(kind))).collect(), otherwise)
}

/// How many hosts bring what they have, by the requests that meet a shared path first.
fn short(found: &HostsAnswer) -> Option<ShortAnswer> {
    let of = |verdict: HostsVerdict| found.kinds.iter().find(move |kind| kind.verdict == verdict);
    let kind = of(HostsVerdict::Stopped).or_else(|| of(HostsVerdict::Unclear)).or(found.kinds.first())?;
    let HostsScaling { access: Access { pattern, rw }, verdict, one_mbps, n, mbps, taken_over } = kind;
    let [one, all] = [*one_mbps, *mbps].map(format::mbps);
    let (figure, text) = match (taken_over, verdict) {
        (Some(over), _) => {
            let [before, ceiling] = [over.before_mbps, over.ceiling_mbps].map(format::mbps);
            let so_many = format!("in {pattern} {rw}s so many bring what they have, {before}");
            let text = format!("{so_many}; {} lets {ceiling} through", shared(&over.by));
            (format!("{} of {n} hosts", over.before_n), text)
        }
        (None, HostsVerdict::Scale) => {
            let so_many = format!("in {pattern} {rw}s they bring what they have, {one} each and {all} together");
            (format!("all {n} hosts"), format!("{so_many}: no shared path stops them"))
        }
        (None, _) => {
            let so_many = format!("in {pattern} {rw}s one host gets {one}, and {n} get {all}");
            (NOT_DECIDED.to_string(), format!("{so_many}: more runs tell whether they share a path"))
        }
    };
    Some(ShortAnswer::new(figure, sentence(&text)))
}

/// The part that hosts share, as the subject of a sentence.
fn shared(by: &SharedPart) -> String {
    match by {
        SharedPart::FarDisk { disk, .. } => format!("the far end's disk {disk}"),
        SharedPart::FarDiskLimit { disk, .. } => format!("the limit of the far end's disk {disk}"),
        SharedPart::FarProcessors { .. } => "the far end, whose processors are full,".to_string(),
        SharedPart::FarWire => "the far end's wire or server".to_string(),
        SharedPart::OwnComputer => "this one computer's path".to_string(),
        SharedPart::Unknown => "a path that they share (--far-end tells which)".to_string(),
    }
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
            "whether that is the wire, the server or its disk, --far-end tells with a witness on the server that sees its disk"
                .to_string()
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
