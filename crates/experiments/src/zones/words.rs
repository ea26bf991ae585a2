//! Says what `zones` asks, what it found and what the papers saw; draws throughput by place, and the bands.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::format;

use super::analysis::{ALIKE, Rows, ZoneRow, ZonesAnswer, places};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::ratio::is_undecided;
use crate::words::{decided, with_interval};

pub(crate) const QUESTION: &str =
    "Is every part of the target as fast as every other, from its first byte to its last?";
pub(crate) const PAPERS: &str = "In 2000 the inner band of a Quantum Atlas 10K gave 35% less than its outer one (17 against 24 MB/s), and \
    that of a Quantum Fireball 40% less. A drive without tracks has no such bands: where it shows some, they \
    speak of caches, of what was written when, or of several devices behind one name.";

pub(crate) fn answer(found: &ZonesAnswer) -> Told {
    Told::of(short(found), details(found).into_iter().collect(), "No part of the target could be read.")
}

/// The rate of all parts, or how many bands there are.
fn short(found: &ZonesAnswer) -> Option<ShortAnswer> {
    Some(match *found {
        ZonesAnswer::Unread => return None,
        ZonesAnswer::Even { mbps: value, low, high } => {
            let rate = Interval { value, low, high };
            let text = match is_undecided(&rate) {
                true => "The runs differ too much to tell whether parts of the target do: give it a larger budget.",
                false => "Every part of the target is as fast as every other: where data lies does not matter.",
            };
            ShortAnswer::new(with_interval(rate, "MB/s"), text)
        }
        ZonesAnswer::Nearly { least_mbps, most_mbps } => {
            let [least, most] = [least_mbps, most_mbps].map(format::number);
            let text = "The parts of the target differ by so little that where data lies hardly matters.";
            ShortAnswer::new(format!("{least} to {most} MB/s"), text)
        }
        ZonesAnswer::Bands { bands, first_mbps, last_mbps } => {
            let [first, last] = [first_mbps, last_mbps].map(format::mbps);
            // Where the middle alone differs, the ends may be as fast as each other.
            let is_slower = last_mbps < ALIKE * first_mbps;
            let advice = if is_slower { ": what must be fast belongs to the beginning" } else { "" };
            let text = format!("The target gives {first} at the beginning and {last} at the end{advice}.");
            ShortAnswer::new(format!("{bands} bands"), text)
        }
    })
}

/// `None` if nothing could be read.
fn details(found: &ZonesAnswer) -> Option<String> {
    Some(match *found {
        ZonesAnswer::Unread => return None,
        ZonesAnswer::Even { mbps: value, low, high } => {
            let rate = Interval { value, low, high };
            let shown = decided(rate, format::mbps);
            match is_undecided(&rate) {
                true => format!("The runs differ too much to tell: {shown}."),
                false => format!("Yes: {shown} everywhere."),
            }
        }
        ZonesAnswer::Nearly { least_mbps, most_mbps } => {
            format!("Nearly: from {} to {}, whatever the place.", format::mbps(least_mbps), format::mbps(most_mbps))
        }
        ZonesAnswer::Bands { bands, first_mbps, last_mbps } => format!(
            "No: it falls into {bands} bands, from {} at the beginning to {} at the end ({} of it).",
            format::mbps(first_mbps),
            format::mbps(last_mbps),
            format::percent(last_mbps / first_mbps),
        ),
    })
}

pub(crate) fn pictures(data: &ExperimentData, rows: &Rows) -> Vec<Picture> {
    let places = places(data);
    let zones = &rows.zones;
    if places.is_empty() {
        return Vec::new();
    }
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let place =
        |(from, cell): &(u64, &ExperimentCell)| Point::at(gib(*from), format::size(*from as f64), cell.finding.mbps);
    let ends = |zone: &ZoneRow| {
        [zone.from_bytes, zone.to_bytes]
            .map(|at| Point::at(gib(at), format::size(at as f64), Interval::exact(zone.mbps)))
    };
    vec![Picture {
        title: "Throughput by place".to_string(),
        kind: PictureKind::Lines,
        x: Axis::even("Place, GiB"),
        y: Axis::even("MB/s"),
        lines: vec![
            Line { name: "measured".to_string(), points: places.iter().map(place).collect() },
            Line { name: "bands".to_string(), points: zones.iter().flat_map(ends).collect() },
        ],
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_all_parts_is_not_decided_if_its_interval_spans_a_factor_of_four() {
        let of = |low: f64, high: f64| short(&ZonesAnswer::Even { mbps: 500.0, low, high }).unwrap();
        assert_eq!(of(490.0, 510.0).figure, "500 MB/s (490 to 510)");
        let wide = of(200.0, 800.0);
        assert_eq!(wide.figure, "not decided, 200 to 800 MB/s");
        assert!(wide.sentence.contains("differ too much"), "{wide:?}");
        let told = |low: f64, high: f64| details(&ZonesAnswer::Even { mbps: 500.0, low, high }).unwrap();
        assert_eq!(told(490.0, 510.0), "Yes: 500 MB/s everywhere.");
        let wide = "The runs differ too much to tell: not decided, 200 MB/s to 800 MB/s.";
        assert_eq!(told(200.0, 800.0), wide);
        assert_eq!(
            short(&ZonesAnswer::Bands { bands: 4, first_mbps: 24.0, last_mbps: 12.0 }).unwrap().figure,
            "4 bands"
        );
    }

    #[test]
    fn the_beginning_is_recommended_only_where_the_end_is_clearly_slower() {
        let of = |last_mbps| short(&ZonesAnswer::Bands { bands: 3, first_mbps: 100.0, last_mbps }).unwrap().sentence;
        assert!(of(60.0).ends_with("at the end: what must be fast belongs to the beginning."), "{}", of(60.0));
        assert!(of(99.0).ends_with("at the end."), "{}", of(99.0));
    }
}
