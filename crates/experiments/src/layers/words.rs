//! Says what `layers` asks, what it found and what the papers saw; draws times, rates and both bounds of the cost by layer.

use halfpower_analyse::Interval;
use halfpower_spec::format;

use super::analysis::{Addition, LayerRow, LayerStep, LayersAnswer, Rows};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::words::{NOT_DECIDED, sentence, share, size};

pub(crate) const QUESTION: &str =
    "What does each layer of the block stack add to a read: time, processor time, a share of the rate?";
pub(crate) const PAPERS: &str = "In 2000 a volume manager added 8 µs of processor time to the 50 µs of a read, up to 25% more for small \
    requests, and took up to 10% of the rate at 2 KB; larger requests kept their rate. What is the same: a layer costs \
    each request alike, so that small ones pay most. What is new: layers that cost each byte, as encryption does, in \
    threads of the kernel that no process is charged for.";

pub(crate) fn answer(found: &LayersAnswer) -> Told {
    Told::of(short(found), details(found), "No layer could be set against the one beneath it.")
}

/// What the layer that adds most adds to a small read.
fn short(found: &LayersAnswer) -> Option<ShortAnswer> {
    let read = found.read_us.filter(|_| !found.steps.is_empty())?;
    let reads = format!("a random direct read of {}", size(found.bs_bytes));
    let known = found.steps.iter().filter(|step| step.added_us.is_some());
    let of = |addition: Addition| known.clone().filter(move |step| found.addition(step) == addition);
    let added = |step: &&LayerStep| step.added_us.map_or(0.0, |added| added.value);
    let most = of(Addition::Sure).max_by(|one, other| added(one).total_cmp(&added(other)));
    let unclear = of(Addition::Unclear).max_by(|one, other| added(one).total_cmp(&added(other)));
    match (most, unclear) {
        (Some(step), unclear) => {
            let others = match unclear {
                Some(_) => "; of others these runs cannot tell",
                None if found.steps.len() > 1 => "; no other layer adds more",
                None => "",
            };
            let what = format!("is what {} adds to {reads} of {}{others}", step.name, time(read.value));
            let text = sentence(&format!("That {what}"));
            Some(ShortAnswer::new(step.added_us.map_or(String::new(), interval), text))
        }
        (None, Some(step)) => {
            let Interval { low, high, .. } = step.added_us?;
            let figure = format!("{NOT_DECIDED}, {} to {} more", time(low.max(0.0)), time(high.max(0.0)));
            let text =
                format!("These runs cannot tell what {} adds to {reads}: give the study a larger budget.", step.name);
            Some(ShortAnswer::new(figure, text))
        }
        (None, None) => {
            let text = format!("No layer adds more than a tenth to {reads}, which takes {}.", time(read.value));
            known.clone().next().map(|_| ShortAnswer::new("nothing added", text))
        }
    }
}

fn details(found: &LayersAnswer) -> Vec<String> {
    found.steps.iter().map(|step| sentence(&told(found, step))).collect()
}

fn told(found: &LayersAnswer, step: &LayerStep) -> String {
    let over =
        if step.side_by_side > 1 { format!("{}, one of {}", step.over, step.side_by_side) } else { step.over.clone() };
    let mut clauses = Vec::new();
    match (found.addition(step), step.added_us) {
        (Addition::Sure, Some(added)) => {
            clauses.push(format!("adds {} to a read of {}", interval(added), size(found.bs_bytes)))
        }
        (Addition::Little, Some(_)) => {
            clauses.push(format!("adds less than a tenth to a read of {}", size(found.bs_bytes)))
        }
        _ => clauses.push(format!("adds what these runs cannot tell to a read of {}", size(found.bs_bytes))),
    }
    let signed = |value: f64, unit: &str| format!("{} {unit}", format::number(value.max(0.0)));
    if let Some(charged) = step.charged_us {
        let by_soaker =
            step.soaker_us.map_or(String::new(), |soaker| format!(", {} by the soaker", signed(soaker, "µs")));
        clauses.push(format!("costs the processor {} more a request as charged{by_soaker}", signed(charged, "µs")));
    }
    if let Some(each) = step.soaker_ns_per_kib {
        clauses.push(format!("and {} a KiB of large reads", signed(each, "ns")));
    }
    let kept = [(&step.kept, "small reads"), (&step.kept_large, "large reads")];
    let kept: Vec<String> =
        kept.iter().filter_map(|(kept, of)| Some(format!("{} of the rate of {of}", share(kept.as_ref()?)))).collect();
    if !kept.is_empty() {
        clauses.push(format!("keeps {}", kept.join(" and ")));
    }
    format!("over {over}, {} {}", step.name, clauses.join(", "))
}

/// A time given in microseconds.
fn time(us: f64) -> String {
    format!("{} µs", format::number(us))
}

fn interval(us: Interval) -> String {
    let [value, low, high] = [us.value, us.low, us.high].map(format::number);
    if low == high { format!("{value} µs") } else { format!("{value} µs ({low} to {high})") }
}

pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let rows = &rows.layers;
    let rate = |row: &LayerRow| Some(row.figures.rate());
    let median = |row: &LayerRow| row.figures.latency_ns_p50.map(|ns| Interval::exact(ns as f64 / 1e3));
    let soaker = |row: &LayerRow| row.soaker_us.map(Interval::exact);
    let alone = |row: &&LayerRow| row.iodepth == 1;
    let pictures = [
        bars("Time of a read by layer, one at a time", "µs, median", rows.iter().filter(alone), &median),
        bars("Rate of reads by layer", "MB/s", rows.iter().filter(|row| !alone(row)), &rate),
        bars("Processor time a request by layer, by the soaker", "µs", rows.iter(), &soaker),
    ];
    pictures.into_iter().flatten().collect()
}

/// Bars by layer, one colour for each kind of read.
fn bars<'a>(
    title: &str,
    unit: &str,
    rows: impl Iterator<Item = &'a LayerRow> + Clone,
    value: &dyn Fn(&LayerRow) -> Option<Interval>,
) -> Option<Picture> {
    let kind = |row: &LayerRow| (row.bs_bytes, row.iodepth);
    let mut kinds: Vec<(u64, u32)> = rows.clone().filter(|row| value(row).is_some()).map(kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let line = |of: &(u64, u32)| Line {
        name: format!("reads of {}, {} deep", size(of.0), of.1),
        points: rows
            .clone()
            .filter(|row| kind(row) == *of)
            .filter_map(|row| Some(Point::named(row.name.clone(), value(row)?)))
            .collect(),
    };
    let lines: Vec<Line> = kinds.iter().map(line).collect();
    (!lines.is_empty()).then(|| Picture {
        title: title.to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Layer, from the target down"),
        y: Axis::even(unit),
        lines,
    })
}
