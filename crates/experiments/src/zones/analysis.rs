//! `zones`: is the target as fast at its end as at its beginning?

use super::bands::bands;
use super::rows::{Rows, ZoneRow};
use crate::data::ExperimentData;
use crate::ratio::Scale;
use crate::section::{Axis, Line, Picture, PictureKind, Point, Told};
use halfpower_analyse::ExperimentCell;
use halfpower_analyse::Interval;
use halfpower_analyse::mean;
use halfpower_text::format;

/// Bands that differ by less are told from noise by their number alone, and nobody has to care.
const ALIKE: f64 = 0.9;

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows) -> Told {
    let mut places: Vec<(u64, &ExperimentCell)> =
        evidence.sound().filter_map(|cell| Some((cell.workload.options.region?.from.0, cell))).collect();
    places.sort_by_key(|(from, _)| *from);
    let Some((_, last)) = places.last() else {
        return Told { answer: "No part of the target could be read.".to_string(), pictures: Vec::new() };
    };
    let span = last.records.first().map_or(0, |record| record.span_bytes);
    let (levels, noise) = levels(&places);
    for band in bands(&levels, noise) {
        // A band lasts until the next begins.
        let to = places.get(band.end).map_or(span, |(from, _)| *from);
        let means: Vec<f64> = places[band.clone()].iter().map(|(_, cell)| cell.finding.mbps.value).collect();
        let Interval { value, low, high } = Interval::of_means(&means);
        rows.zones.push(ZoneRow { from_bytes: places[band.start].0, to_bytes: to, mbps: value, low, high });
    }
    Told { answer: answer(&rows.zones), pictures: vec![picture(&places, &rows.zones)] }
}

/// The rate of each place in MB/s without what its rounds had in common, and the standard error of one, from the
/// scatter of all together: few runs of one place say little.
fn levels(places: &[(u64, &ExperimentCell)]) -> (Vec<f64>, f64) {
    let scale = Scale::of(places.iter().map(|(_, cell)| *cell));
    let levels: Vec<f64> = places.iter().map(|(_, cell)| scale.mbps(cell)).collect();
    let runs: usize = places.iter().map(|(_, cell)| cell.finding.run_mbps.len()).sum();
    let runs_a_place = runs as f64 / places.len() as f64;
    let noise = match scale.deviation() {
        Some(share) => share * mean(&levels) / runs_a_place.sqrt(),
        None => unlike_neighbours(&levels),
    };
    (levels, noise)
}

/// Where no place was read twice: how much neighbours differ, by the median, so that the edges of bands do not count.
fn unlike_neighbours(levels: &[f64]) -> f64 {
    let mut steps: Vec<f64> = levels.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_by(f64::total_cmp);
    // The median of the absolute difference of two normal values is 0.954 of their standard deviation.
    steps.get(steps.len() / 2).map_or(0.0, |step| step / 0.954)
}

fn answer(zones: &[ZoneRow]) -> String {
    let (first, last) = (zones[0], zones[zones.len() - 1]);
    let rates = || zones.iter().map(|zone| zone.mbps);
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    match zones.len() {
        2.. if least > ALIKE * most => {
            format!("Nearly: from {} to {}, whatever the place.", format::mbps(least), format::mbps(most))
        }
        1 => format!("Yes: {} everywhere.", format::mbps(first.mbps)),
        count => format!(
            "No: it falls into {count} bands, from {} at the beginning to {} at the end ({} of it).",
            format::mbps(first.mbps),
            format::mbps(last.mbps),
            format::percent(last.mbps / first.mbps),
        ),
    }
}

fn picture(places: &[(u64, &ExperimentCell)], zones: &[ZoneRow]) -> Picture {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let place =
        |(from, cell): &(u64, &ExperimentCell)| Point::at(gib(*from), format::size(*from as f64), cell.finding.mbps);
    let ends = |zone: &ZoneRow| {
        [zone.from_bytes, zone.to_bytes]
            .map(|at| Point::at(gib(at), format::size(at as f64), Interval::exact(zone.mbps)))
    };
    Picture {
        title: "Throughput by place".to_string(),
        kind: PictureKind::Lines,
        x: Axis::even("Place, GiB"),
        y: Axis::even("MB/s"),
        lines: vec![
            Line { name: "measured".to_string(), points: places.iter().map(place).collect() },
            Line { name: "bands".to_string(), points: zones.iter().flat_map(ends).collect() },
        ],
    }
}
