//! Divides the target into bands of equal speed.

use halfpower_analyse::{ExperimentCell, Interval, mean};

use super::answer::ZonesAnswer;
use super::bands::bands;
use super::rows::{Rows, ZoneRow};
use crate::data::ExperimentData;
use crate::ratio::Scale;

/// Ratio of the slowest band to the fastest from which their difference does not matter, even if it is beyond noise.
const ALIKE: f64 = 0.9;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, ZonesAnswer) {
    let places = places(data);
    let Some((_, last)) = places.last() else { return (Rows::default(), ZonesAnswer::Unread) };
    let span = last.records.first().map_or(0, |record| record.span_bytes);
    let (levels, noise) = levels(&places);
    let mut zones = Vec::new();
    for band in bands(&levels, noise) {
        // A band ends where the next begins.
        let to = places.get(band.end).map_or(span, |(from, _)| *from);
        let means: Vec<f64> = places[band.clone()].iter().map(|(_, cell)| cell.finding.mbps.value).collect();
        let Interval { value, low, high } = Interval::of_means(&means);
        zones.push(ZoneRow { from_bytes: places[band.start].0, to_bytes: to, mbps: value, low, high });
    }
    let answer = answer(&zones);
    (Rows { zones }, answer)
}

/// The cells, sorted by the first byte of their part.
pub(super) fn places<'a>(data: &'a ExperimentData) -> Vec<(u64, &'a ExperimentCell<'a>)> {
    let mut places: Vec<(u64, &ExperimentCell)> =
        data.sound().filter_map(|cell| Some((cell.workload.options.region?.from.0, cell))).collect();
    places.sort_by_key(|(from, _)| *from);
    places
}

/// Rate of each place in MB/s after removing what its rounds have in common, and the standard error of one rate, pooled
/// over all places because each has few runs.
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

/// Noise if no place was read twice: the median difference between neighbours, so that the edges of bands do not count.
fn unlike_neighbours(levels: &[f64]) -> f64 {
    let mut steps: Vec<f64> = levels.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_by(f64::total_cmp);
    // The median of the absolute difference of two normal values is 0.954 of their standard deviation.
    steps.get(steps.len() / 2).map_or(0.0, |step| step / 0.954)
}

fn answer(zones: &[ZoneRow]) -> ZonesAnswer {
    let (first, last) = (zones[0], zones[zones.len() - 1]);
    let rates = || zones.iter().map(|zone| zone.mbps);
    let (least_mbps, most_mbps) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    match zones.len() {
        2.. if least_mbps > ALIKE * most_mbps => ZonesAnswer::Nearly { least_mbps, most_mbps },
        1 => ZonesAnswer::Even { mbps: first.mbps },
        bands => ZonesAnswer::Bands { bands, first_mbps: first.mbps, last_mbps: last.mbps },
    }
}
