//! Says what `credit` asks, what it found and what the papers saw; draws the rate over time.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::Direction;
use halfpower_spec::format;

use super::analysis::{CreditAnswer, CreditSpent, LimitCounts, LimitFinding, Rows};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::ratio::is_undecided;
use crate::words::{NOT_DECIDED, decided, each_sentence, sentence, with_interval};

pub(crate) const QUESTION: &str =
    "What does a limit let through at once after a rest, for how long, and what does it sustain?";
pub(crate) const PAPERS: &str = "Neither study met a limit that somebody had set: their disks gave what they had. The nearest thing was a disk's \
    buffer, which took writes at the speed of the bus until it was full. What is the same: a rate that does not \
    last is not the peak. What is not: today's limits save up while nobody asks, so a short measurement after a \
    rest shows the credit and not the limit.";

pub(crate) fn answer(found: &CreditAnswer) -> Told {
    let sentences = each_sentence(found.limits.iter().map(|limit| Some(of_direction(limit))));
    Told::of(short(found), sentences, "Nothing could be measured.")
}

/// What the first limit sustains, and how long a credit before it lasts; the rate where no limit shows.
fn short(found: &CreditAnswer) -> Option<ShortAnswer> {
    let is_limited = |limit: &&LimitFinding| !matches!(limit.counts, LimitCounts::Nothing | LimitCounts::Unknown);
    let limit = found.limits.iter().find(is_limited).or(found.limits.first())?;
    let ways = ways(limit);
    let went = format::time_us(limit.seconds * 1e6);
    let credit = limit.credit.map_or(String::new(), |credit| {
        let most = if credit.at_least { "at least " } else { "" };
        let [lasts, rate] = [format::time_us(credit.lasts_s * 1e6), format::mbps(credit.mbps)];
        format!(", after a credit that lasts {most}{lasts} at {rate}")
    });
    let rate = with_interval(limit.mbps, "MB/s");
    let (figure, text) = match limit.counts {
        LimitCounts::Nothing => (rate, format!("{ways} went at one pace for {went}, and no limit shows")),
        LimitCounts::Unknown => {
            let why = "did not come to rest, or went on above a limit that is known: give the study a larger budget";
            (NOT_DECIDED.to_string(), format!("{ways} {why}"))
        }
        LimitCounts::Bytes => (rate, format!("a limit on bytes sustains {ways} at that rate{credit}")),
        LimitCounts::Requests => {
            let rate = with_interval(limit.iops, &format!("{ways} a second"));
            (rate, format!("a limit on requests sustains that{credit}"))
        }
        LimitCounts::Both => {
            let iops = match is_undecided(&limit.iops) {
                true => decided(limit.iops, requests),
                false => requests(limit.sustained_iops),
            };
            (
                rate,
                format!("limits on bytes and on requests sustain {ways} at that rate and at {iops} a second{credit}"),
            )
        }
    };
    Some(ShortAnswer::new(figure, sentence(&text)))
}

fn ways(limit: &LimitFinding) -> &'static str {
    if limit.rw == Direction::Read { "reads" } else { "writes" }
}

fn of_direction(limit: &LimitFinding) -> String {
    let ways = ways(limit);
    let told = |interval: Interval, sustained: String, words: fn(f64) -> String| {
        if is_undecided(&interval) { decided(interval, words) } else { sustained }
    };
    let rate = told(limit.mbps, format::mbps(limit.sustained_mbps), format::mbps);
    let iops = told(limit.iops, requests(limit.sustained_iops), requests);
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
    match number {
        number if number >= 1e9 => format!("{:.2} GB", number / 1e9),
        number if number >= 999_500.0 => format!("{:.1} MB", number / 1e6),
        number => format!("{:.0} kB", number / 1e3),
    }
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

#[cfg(test)]
mod tests {
    use super::super::analysis::LimitSlices;
    use super::*;

    fn limit(counts: LimitCounts, mbps: Interval) -> LimitFinding {
        LimitFinding {
            rw: Direction::Read,
            counts,
            sustained_mbps: mbps.value,
            sustained_iops: 3_000.0,
            mbps,
            iops: Interval { value: 3_000.0, low: 2_950.0, high: 3_050.0 },
            credit: Some(CreditSpent { mbps: 400.0, lasts_s: 5.0, bytes: 1e9, ios: 4e3, at_least: false }),
            slices: None,
            seconds: 30.0,
            bytes: 6_000_000_000,
        }
    }

    #[test]
    fn the_short_answer_holds_what_is_sustained_and_decides_nothing_from_a_factor_of_four_on() {
        let told = |counts, mbps| short(&CreditAnswer { limits: vec![limit(counts, mbps)] }).unwrap();
        let known = Interval { value: 200.0, low: 199.0, high: 201.0 };
        let bytes = told(LimitCounts::Bytes, known);
        assert_eq!(bytes.figure, "200 MB/s (199 to 201)");
        assert_eq!(
            bytes.sentence,
            "A limit on bytes sustains reads at that rate, after a credit that lasts 5.0 s at 400 MB/s."
        );
        assert_eq!(told(LimitCounts::Requests, known).figure, "3,000 reads a second (2,950 to 3,050)");
        assert_eq!(told(LimitCounts::Unknown, known).figure, NOT_DECIDED);
        let wide = told(LimitCounts::Bytes, Interval { value: 200.0, low: 80.0, high: 320.0 });
        assert_eq!(wide.figure, "not decided, 80.0 to 320 MB/s");
        let wide = of_direction(&limit(LimitCounts::Bytes, Interval { value: 200.0, low: 80.0, high: 320.0 }));
        assert!(wide.starts_with("a limit on bytes sustains reads of not decided, 80.0 MB/s to 320 MB/s"), "{wide}");
    }

    /// A limit of 1 MB/s grants 20 kB in slices of 20 ms.
    #[test]
    fn the_slices_of_a_low_limit_are_told_in_kilobytes() {
        let slices = |bytes| {
            let slices = Some(LimitSlices { every_ms: 20.0, bytes });
            let limit = LimitFinding { slices, ..limit(LimitCounts::Bytes, Interval::exact(bytes * 50.0 / 1e6)) };
            of_direction(&limit)
        };
        assert!(slices(20_000.0).contains("in slices of 20 kB every 20 ms"), "{}", slices(20_000.0));
        assert!(slices(999_600.0).contains("in slices of 1.0 MB every 20 ms"), "{}", slices(999_600.0));
    }
}
