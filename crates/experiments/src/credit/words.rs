//! Says what `credit` asks, what it found and what the papers saw; draws the rate over time.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::Direction;
use halfpower_spec::format;

use super::analysis::{CreditAnswer, CreditSpent, LimitCounts, LimitFinding, Rows};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::words::sentences;

pub(crate) const QUESTION: &str =
    "What does a limit let through at once after a rest, for how long, and what does it sustain?";
pub(crate) const PAPERS: &str = "Neither study met a limit that somebody had set: their disks gave what they had. The nearest thing was a disk's \
    buffer, which took writes at the speed of the bus until it was full. What is the same: a rate that does not \
    last is not the peak. What is not: today's limits save up while nobody asks, so a short measurement after a \
    rest shows the credit and not the limit.";

pub(crate) fn answer(found: &CreditAnswer) -> String {
    sentences(found.limits.iter().map(|limit| Some(of_direction(limit))), "Nothing could be measured.")
}

fn of_direction(limit: &LimitFinding) -> String {
    let ways = if limit.rw == Direction::Read { "reads" } else { "writes" };
    let [rate, iops] = [format::mbps(limit.sustained_mbps), requests(limit.sustained_iops)];
    let goes_on = match limit.counts {
        LimitCounts::Nothing => {
            return format!(
                "{ways} went at one pace for {}, {}: no credit ended and no regular slices show, so whether a limit holds them cannot be told from that alone",
                format::time_us(limit.seconds * 1e6),
                bytes(limit.bytes as f64)
            );
        }
        LimitCounts::Unknown => {
            return format!(
                "{ways} did not come to rest within {}, or went on above a limit that is known: what they sustain cannot be told; give the study a larger budget",
                format::time_us(limit.seconds * 1e6)
            );
        }
        LimitCounts::Bytes => format!("a limit on bytes sustains {ways} of {rate}"),
        LimitCounts::Requests => format!("a limit on requests sustains {iops} {ways} a second"),
        LimitCounts::Both => format!("limits on bytes and on requests sustain {ways} of {rate}, and {iops} a second"),
    };
    let slices =
        limit.slices.map(|slices| format!("in slices of {} every {:.0} ms", bytes(slices.bytes), slices.every_ms));
    let credit = limit.credit.map(|credit| lasts(&credit, limit));
    let parts: Vec<String> = [Some(goes_on), slices, credit].into_iter().flatten().collect();
    parts.join(", ")
}

fn lasts(credit: &CreditSpent, limit: &LimitFinding) -> String {
    let most = if credit.at_least { "at least " } else { "" };
    let (size, fills_s) = match limit.counts {
        LimitCounts::Requests => (format!("{} requests", requests(credit.ios)), credit.ios / limit.sustained_iops),
        _ => (bytes(credit.bytes), credit.bytes / 1e6 / limit.sustained_mbps),
    };
    format!(
        "after a credit of {most}{size}, which lasts {} at {} and fills again in {} of rest",
        format::time_us(credit.lasts_s * 1e6),
        format::mbps(credit.mbps),
        format::time_us(fills_s * 1e6)
    )
}

fn requests(number: f64) -> String {
    format::thousands(number)
}

/// Bytes in decimal units, as limits are sold.
fn bytes(number: f64) -> String {
    if number >= 1e9 { format!("{:.2} GB", number / 1e9) } else { format!("{:.1} MB", number / 1e6) }
}

/// Approximate number of points in a line.
const POINTS: usize = 40;

pub(crate) fn pictures(data: &ExperimentData, _: &Rows) -> Vec<Picture> {
    let lines: Vec<Line> = data.sound().filter_map(line).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    vec![Picture {
        title: "Throughput as it goes on".to_string(),
        kind: PictureKind::Lines,
        x: Axis::even("Time, s"),
        y: Axis::even("MB/s"),
        lines,
    }]
}

/// The first run of a cell; the later runs follow without a rest.
fn line(cell: &ExperimentCell) -> Option<Line> {
    let series = &cell.records.iter().find(|record| record.bytes > 0)?.series;
    let group = series.bytes.len().div_ceil(POINTS).max(1);
    let seconds = group as f64 * series.step_ns as f64 / 1e9;
    let point = |(place, steps): (usize, &[u64])| {
        let at_s = (place as f64 + 0.5) * seconds;
        let mbps = steps.iter().map(|bytes| *bytes as f64).sum::<f64>() / seconds / 1e6;
        Point::at(at_s, format!("{at_s:.2} s"), Interval::exact(mbps))
    };
    let name = format!("{} {}", cell.finding.rw, format::size(cell.finding.bs_bytes as f64));
    Some(Line { name, points: series.bytes.chunks_exact(group).enumerate().map(point).collect() })
}
