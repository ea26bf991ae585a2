//! Divides the target into bands of equal speed.

use halfpower_analyse::{ExperimentCell, Interval, mean};
use halfpower_spec::{InOrder, JsonSchema};
use serde::Serialize;

use super::bands::bands;
use crate::data::ExperimentData;
use crate::ratio::Scale;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Parts of the target that are equally fast, from its first byte to its last.
    pub zones: Vec<ZoneRow>,
}

/// A part of the target in which throughput is the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ZoneRow {
    /// Its first byte.
    pub from_bytes: u64,
    /// The byte after its last.
    pub to_bytes: u64,
    /// Mean throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// How evenly fast the target is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum ZonesAnswer {
    /// No part could be read.
    Unread,
    /// All parts are equally fast.
    Even {
        /// Throughput in MB/s.
        mbps: f64,
        /// Lower end of its 95% interval.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// The target has bands whose rates differ little.
    Nearly {
        /// Lowest throughput of a band in MB/s.
        least_mbps: f64,
        /// Highest throughput of a band in MB/s.
        most_mbps: f64,
    },
    /// The target has bands with different rates.
    Bands {
        /// Number of bands.
        bands: usize,
        /// Throughput at the beginning in MB/s.
        first_mbps: f64,
        /// Throughput at the end in MB/s.
        last_mbps: f64,
    },
}

/// Ratio of the slowest band to the fastest from which their difference does not matter, even if it is beyond noise.
pub(super) const ALIKE: f64 = 0.9;

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
    places.order_by_key(|(from, _)| *from);
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
    let first = zones[0];
    let last = zones[zones.len() - 1];
    let rates = || zones.iter().map(|zone| zone.mbps);
    let least_mbps = rates().fold(f64::INFINITY, f64::min);
    let most_mbps = rates().fold(0.0, f64::max);
    match zones.len() {
        2.. if least_mbps > ALIKE * most_mbps => ZonesAnswer::Nearly { least_mbps, most_mbps },
        1 => ZonesAnswer::Even { mbps: first.mbps, low: first.low, high: first.high },
        bands => ZonesAnswer::Bands { bands, first_mbps: first.mbps, last_mbps: last.mbps },
    }
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Bytes, Cache, Experiment, Region, Rw, Workload, WorkloadOptions};

    use crate::built_study::{answer, told_in_rounds};

    #[test]
    fn bands_are_found_although_others_had_the_disk_for_a_round() {
        let places = (0..32u64).map(|place| {
            let region = Region { from: Bytes(place << 30), bytes: Bytes(1 << 30) };
            let options = WorkloadOptions { region: Some(region), ..WorkloadOptions::default() };
            let rw = Rw::Read;
            let cache = Cache::Device;
            let bs = Bytes(1 << 20);
            let mbps = [24.0, 21.0, 18.5, 15.0][place as usize / 8];
            (Workload { rw, cache, bs, iodepth: 4, options, ..Workload::default() }, mbps)
        });
        let places: Vec<(Workload, f64)> = places.collect();
        for rounds in [[1.0; 3], [1.0, 0.5, 0.9]] {
            let findings = told_in_rounds(Experiment::Zones, &places, 0.02, rounds);
            let begin: Vec<u64> = findings.rows.zones.zones.iter().map(|zone| zone.from_bytes >> 30).collect();
            assert_eq!(begin, [0, 8, 16, 24], "{}", answer(&findings));
            assert!(answer(&findings).contains("it falls into 4 bands"), "{}", answer(&findings));
        }
    }
}
