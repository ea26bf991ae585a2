//! Says what `sustain` asks, what it found and what the papers saw; draws the rate against the bytes written.

use halfpower_analyse::Interval;
use halfpower_record::Record;
use halfpower_spec::format;

use super::analysis::{FastPart, Recovery, Rows, SustainAnswer, SustainVerdict, in_one_go, runs};
use super::cliff::EqualParts;
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::ratio::is_undecided;
use crate::words::{NOT_DECIDED, decided, each_sentence, sentence, with_interval};

pub(crate) const QUESTION: &str =
    "How much is written before the rate falls, what goes on after that, and what does a rest bring back?";
pub(crate) const PAPERS: &str = "Neither study wrote until something was full: the buffers of their disks held a few megabytes at most, and their \
    figures of writes are what the media took. What is the same: a rate that does not last is not the peak. What is \
    not: today's drives take gigabytes faster than they can keep them, and put them in their place while nobody \
    writes.";

/// What is said where too little was written.
const TOO_SHORT: &str = "Too little was written to tell: give a larger --sustain-bytes, or a larger --budget.";

pub(crate) fn answer(found: &SustainAnswer) -> Told {
    let (short, first) = match (found.verdict, &found.fast) {
        (SustainVerdict::Cliff, Some(fast)) => (short_of_cliff(found, fast), cliff(found, fast)),
        (SustainVerdict::NoCliff, _) | (SustainVerdict::Cliff, None) => (short_without_cliff(found), no_cliff(found)),
        (SustainVerdict::TooShort, _) => {
            return Told::of(Some(ShortAnswer::new(NOT_DECIDED, TOO_SHORT)), Vec::new(), TOO_SHORT);
        }
    };
    let changed =
        (!found.settled).then(|| "that rate had changed once more before, so it may change again".to_string());
    let recovery = (!found.recovery.is_empty()).then(|| recovered(found));
    Told::of(Some(short), each_sentence([Some(first), over(found), changed, recovery]), TOO_SHORT)
}

/// The rate after the cliff, and where it lies.
fn short_of_cliff(found: &SustainAnswer, fast: &FastPart) -> ShortAnswer {
    let [value, low, high] = [fast.bytes.value, fast.bytes.low, fast.bytes.high].map(format::precise_size);
    let size = if is_undecided(&fast.bytes) { format!("{low} to {high} ({NOT_DECIDED})") } else { value };
    let first = if is_undecided(&fast.mbps) {
        String::new()
    } else {
        format!(", which go at {}", format::mbps(fast.mbps.value))
    };
    let cliff = format!("writes go on at that after the first {size}{first}");
    let back = found.comes_back_mbps.filter(|back| !is_undecided(back));
    let back = back.map_or(String::new(), |back| format!("; in a rest they come back at {}", format::mbps(back.value)));
    let again = if found.settled { "" } else { "; the rate may change again" };
    ShortAnswer::new(with_interval(found.mbps, "MB/s"), sentence(&format!("{cliff}{back}{again}")))
}

fn short_without_cliff(found: &SustainAnswer) -> ShortAnswer {
    let bytes = format::precise_size(found.bytes as f64);
    let hidden = if over(found).is_some() { "; a cache may hide one, which a larger --size tells" } else { "" };
    let again = if found.settled { "" } else { "; the rate may change again" };
    let text = format!("Writes went on at that without a cliff up to {bytes}{hidden}{again}.");
    ShortAnswer::new(with_interval(found.mbps, "MB/s"), text)
}

fn cliff(found: &SustainAnswer, fast: &FastPart) -> String {
    let is_told = !is_undecided(&fast.mbps) && !is_undecided(&found.mbps);
    let share = format::percent(found.mbps.value / fast.mbps.value);
    let share = if is_told { format!(": {share} of it") } else { String::new() };
    format!(
        "The first {} are written at {}, then writes go on at {}{share}",
        bytes(fast.bytes),
        rate(fast.mbps),
        rate(found.mbps)
    )
}

fn no_cliff(found: &SustainAnswer) -> String {
    format!(
        "No cliff up to {}: after {} of rest writes went on at {}",
        format::precise_size(found.bytes as f64),
        seconds(found.rest_s),
        rate(found.mbps)
    )
}

/// What can hold the bytes in use would hide the medium.
fn over(found: &SustainAnswer) -> Option<String> {
    let is_doubtful = found.verdict == SustainVerdict::NoCliff && found.passes >= 2.0;
    is_doubtful.then(|| {
        format!(
            "they went {} times over the bytes in use, and a cache that holds these hides what lies behind it: a larger \
             --size tells",
            format::two_digits(found.passes)
        )
    })
}

fn recovered(found: &SustainAnswer) -> String {
    let one = |back: &Recovery| {
        let at_least = if back.at_least { "at least " } else { "" };
        let amount = match back.bytes {
            bytes if bytes.value <= 0.0 => "nothing that shows".to_string(),
            bytes if is_undecided(&bytes) => format!("{at_least}{}", decided(bytes, format::precise_size)),
            bytes => {
                let share = format::percent(back.of_fast.min(1.0));
                format!("{at_least}{} ({share})", format::precise_size(bytes.value))
            }
        };
        format!("{} {amount}", seconds(back.rest_s))
    };
    let each: Vec<String> = found.recovery.iter().map(one).collect();
    let pace = found.comes_back_mbps.map_or(String::new(), |mbps| format!(": it comes back at {}", rate(mbps)));
    format!("After a rest of so long so much is fast again: {}{pace}", each.join(", "))
}

fn rate(mbps: Interval) -> String {
    with_interval(mbps, "MB/s")
}

fn bytes(bytes: Interval) -> String {
    let [low, high] = [bytes.low, bytes.high].map(format::precise_size);
    let ends = if is_undecided(&bytes) { String::new() } else { format!(" ({low} to {high})") };
    decided(bytes, format::precise_size) + &ends
}

fn seconds(seconds: f64) -> String {
    format::time_us(seconds * 1e6)
}

/// Most points of a line.
const POINTS: usize = 60;

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let runs = runs(data);
    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    let line = |(runs, rest_s): (&[&Record], f64)| {
        let point =
            |(bytes, mbps): (f64, f64)| Point::at(gib(bytes), format::precise_size(bytes), Interval::exact(mbps));
        let points: Vec<Point> = EqualParts::of(runs, 1.0)?.points(POINTS).into_iter().map(point).collect();
        Some(Line { name: format!("after {} of rest", seconds(rest_s)), points })
    };
    let rests = rows.sustain.iter().map(|row| row.rest_s);
    let lines: Vec<Line> = in_one_go(&runs).zip(rests).filter_map(line).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    vec![Picture {
        title: "Throughput by bytes written".to_string(),
        kind: PictureKind::Lines,
        x: Axis::even("Written, GiB"),
        y: Axis::even("MB/s"),
        lines,
    }]
}
