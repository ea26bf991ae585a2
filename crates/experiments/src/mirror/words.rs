//! Says what `mirror` asks, what it found and what the papers saw; draws reads by requests outstanding, and writes.

use halfpower_analyse::Interval;
use halfpower_spec::format;
use halfpower_spec::{Direction, Pattern, VolumeLayout};

use super::analysis::{
    MirrorAnswer, MirrorRow, MirrorWrites, RandomReads, Rows, SecondCopyGain, SequentialReads, VerifiedCopies,
};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::ratio::RatioFinding;
use crate::words::{each_sentence, size, times};

pub(crate) const QUESTION: &str =
    "What do two copies give when they are read, and what do they take when they are written?";
pub(crate) const PAPERS: &str = "In 2000 a 3ware TwinStor mirror read one 8 KiB request at random with each arm: 119 a second two deep, \
    where a stripe gave 99 and one disk 66, since two requests to a stripe meet on one disk half of the time. \
    Sequential reads gained from 256 KiB outstanding on, and writes ran slightly below one disk (Figures 33 \
    and 34). This mirror follows the same rule; which copy is nearer it does not know.";

pub(crate) fn answer(found: &MirrorAnswer) -> Told {
    Told::of(short(found), details(found), "No copy could be read or written.")
}

/// How fast two copies are read at random, and what they bring to other requests.
fn short(found: &MirrorAnswer) -> Option<ShortAnswer> {
    if let Some(VerifiedCopies { wrong_blocks: wrong @ 1.. }) = found.verified {
        let text = "So many were read back from two copies with other data than was written: do not trust this mirror.";
        return Some(ShortAnswer::new(format!("{wrong} WRONG BLOCKS"), text));
    }
    let of_one = |ratio: &RatioFinding| format!("{} one member", times(ratio));
    let Some(random) = &found.random else {
        let sequential = found.sequential.as_ref().map(|reads| {
            let text = format!("Sequential reads of two copies run at that, {} deep.", reads.iodepth);
            ShortAnswer::new(of_one(&reads.mirror), text)
        });
        let written = found.writes.first().map(|writes| {
            ShortAnswer::new(of_one(&writes.mirror), format!("Writes to both copies run at that, {}.", writes.pattern))
        });
        return sequential.or(written);
    };
    let gain = found.sequential.as_ref().map(|reads| match (reads.gain, reads.from_outstanding_bytes) {
        (SecondCopyGain::FromThere, Some(bytes)) => {
            format!("; sequential ones gain from {} outstanding on", size(bytes))
        }
        (SecondCopyGain::OnlyThere, Some(bytes)) => {
            format!("; sequential ones gain with {} outstanding, and not with most", size(bytes))
        }
        _ => "; sequential ones gain nothing for sure".to_string(),
    });
    let decided = found.writes.first().map(|writes| writes.mirror).filter(|ratio| !ratio.is_undecided());
    let written = decided.map(|ratio| format!("; writes run at {} times", format::factor(ratio.interval.value)));
    let more = [gain, written].into_iter().flatten().collect::<String>();
    Some(ShortAnswer::new(of_one(&random.mirror), format!("Random reads of two copies, two deep, run at that{more}.")))
}

fn details(found: &MirrorAnswer) -> Vec<String> {
    let clauses = [
        found.sequential.as_ref().map(sequential),
        found.random.as_ref().map(random),
        writes(&found.writes),
        found.verified.as_ref().map(verified),
    ];
    each_sentence(clauses)
}

fn stripe(ratio: Option<&RatioFinding>) -> String {
    ratio.map_or(String::new(), |ratio| format!("; a stripe at {}", times(ratio)))
}

fn sequential(found: &SequentialReads) -> String {
    let outstanding = found.from_outstanding_bytes.map(size).unwrap_or_default();
    let gain = match found.gain {
        SecondCopyGain::FromThere => format!("gain from the second copy with {outstanding} outstanding and more"),
        SecondCopyGain::OnlyThere => {
            format!("gain from the second copy with {outstanding} outstanding, and not with most")
        }
        SecondCopyGain::Nowhere => "gain nothing that runs could tell from the second copy".to_string(),
    };
    let depth = found.iodepth;
    let times = times(&found.mirror);
    let stripe = stripe(found.stripe.as_ref());
    format!("Sequential reads {gain}; {depth} deep they run at {times} one member{stripe}.")
}

fn random(found: &RandomReads) -> String {
    let times = times(&found.mirror);
    let iops = format::iops(found.iops);
    let stripe = stripe(found.stripe.as_ref());
    format!("Random reads two deep run at {times} one member, {iops}{stripe}.")
}

fn writes(found: &[MirrorWrites]) -> Option<String> {
    let all: Vec<String> = found.iter().map(|one| format!("{}, {}", times(&one.mirror), one.pattern)).collect();
    (!all.is_empty()).then(|| format!("Writes to both copies run at so many times one member: {}.", all.join("; ")))
}

fn verified(found: &VerifiedCopies) -> String {
    match found.wrong_blocks {
        0 => "Both copies were read back after writing, and each block of them is right.".to_string(),
        wrong => format!("{wrong} BLOCKS WERE WRONG when both copies were read back: do not trust it."),
    }
}

pub(crate) fn pictures(_: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let rows = &rows.mirror;
    let pictures = [
        picture(rows, Pattern::Sequential, "MB/s", |row| interval(row, 1.0)),
        picture(rows, Pattern::Random, "Requests a second", |row| interval(row, row.iops / row.mbps)),
        written(rows),
    ];
    pictures.into_iter().flatten().collect()
}

fn interval(row: &MirrorRow, scale: f64) -> Interval {
    Interval { value: row.mbps * scale, low: row.low * scale, high: row.high * scale }
}

/// The rows of one pattern, direction and layout, sorted by depth.
fn of(rows: &[MirrorRow], pattern: Pattern, rw: Direction, volume_layout: VolumeLayout) -> Vec<&MirrorRow> {
    rows.iter().filter(|row| (row.pattern, row.rw, row.volume_layout) == (pattern, rw, volume_layout)).collect()
}

/// The name of a layout.
fn name(volume_layout: VolumeLayout) -> &'static str {
    match volume_layout {
        VolumeLayout::Each => "one member",
        VolumeLayout::Stripe => "stripe of two",
        VolumeLayout::Mirror => "mirror of two",
    }
}

fn picture(rows: &[MirrorRow], pattern: Pattern, unit: &str, of_row: fn(&MirrorRow) -> Interval) -> Option<Picture> {
    let line = |volume_layout: &VolumeLayout| {
        let point = |row: &MirrorRow| Point::at(f64::from(row.iodepth), row.iodepth.to_string(), of_row(row));
        let points: Vec<Point> = of(rows, pattern, Direction::Read, *volume_layout).into_iter().map(point).collect();
        (!points.is_empty()).then(|| Line { name: name(*volume_layout).to_string(), points })
    };
    let lines: Vec<Line> = VolumeLayout::ALL.iter().filter_map(line).collect();
    let bs = of(rows, pattern, Direction::Read, VolumeLayout::Mirror).first()?.bs_bytes;
    Some(Picture {
        title: format!("{pattern} reads of {} by requests outstanding", format::size(bs as f64)),
        kind: PictureKind::Lines,
        x: Axis::log("Requests outstanding"),
        y: Axis::even(unit),
        lines,
    })
}

fn written(rows: &[MirrorRow]) -> Option<Picture> {
    let line = |volume_layout: &VolumeLayout| {
        let point = |pattern: &Pattern| {
            let row = of(rows, *pattern, Direction::Write, *volume_layout).pop()?;
            Some(Point::named(format!("{pattern}, {}", format::size(row.bs_bytes as f64)), interval(row, 1.0)))
        };
        let points: Vec<Point> = Pattern::ALL.iter().filter_map(point).collect();
        (!points.is_empty()).then(|| Line { name: name(*volume_layout).to_string(), points })
    };
    let lines: Vec<Line> = VolumeLayout::ALL.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| Picture {
        title: "Writes".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Requests"),
        y: Axis::even("MB/s"),
        lines,
    })
}
