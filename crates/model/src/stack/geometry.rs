//! Computes the position of a byte on a rotating disk, and the time until the heads reach it.
//!
//! All tracks form one spiral: a byte has a position in turns from the outermost track, and the fraction is its angle.
//! Head and cylinder switches are part of the sustained rate, because the skew between tracks hides them. Bands of
//! constant angular velocity lower the rate step by step towards the middle. A seek over the share d of all turns takes
//! a + b x sqrt(d), the usual shape of an arm that accelerates and brakes (Ruemmler and Wilkes, An introduction to disk
//! drive modeling, 1994); between random places the mean of sqrt(d) is 8/15.

use crate::Moment;
use crate::system::Disk;

const PS_PER_S: f64 = 1e12;
const PS_PER_MS: f64 = 1e9;
const MEAN_SQRT_DISTANCE: f64 = 8.0 / 15.0;

/// One band: its start and the bytes of a turn.
#[derive(Debug, Clone, Copy)]
struct Band {
    first_byte: f64,
    first_turn: f64,
    bytes_per_turn: f64,
}

/// The geometry of one kind of disk.
#[derive(Debug, Clone)]
pub struct Geometry {
    bands: Vec<Band>,
    turn_ps: f64,
    turns: f64,
    near_turns: f64,
    seek_least_ps: f64,
    seek_slope_ps: f64,
}

impl Geometry {
    pub fn new(disk: &Disk) -> Self {
        let turns_per_s = disk.rpm / 60.0;
        let count = disk.bands.max(1);
        let rate = |band: u32| {
            let inward = if count == 1 { 0.0 } else { f64::from(band) / f64::from(count - 1) };
            (disk.outer_mbps + (disk.inner_mbps - disk.outer_mbps) * inward) * 1e6
        };
        let all_rates: f64 = (0..count).map(rate).sum();
        // Bands are equally wide, so each holds bytes in proportion to its rate.
        let turns_per_band = disk.capacity_gb * 1e9 / all_rates * turns_per_s;
        let mut bands = Vec::with_capacity(count as usize);
        let mut first_byte = 0.0;
        for band in 0..count {
            let bytes_per_turn = rate(band) / turns_per_s;
            bands.push(Band { first_byte, first_turn: f64::from(band) * turns_per_band, bytes_per_turn });
            first_byte += turns_per_band * bytes_per_turn;
        }
        Self {
            bands,
            turn_ps: PS_PER_S / turns_per_s,
            turns: turns_per_band * f64::from(count),
            near_turns: f64::from(disk.heads),
            seek_least_ps: (disk.track_to_track_ms + disk.settle_ms) * PS_PER_MS,
            seek_slope_ps: (disk.average_seek_ms - disk.track_to_track_ms) / MEAN_SQRT_DISTANCE * PS_PER_MS,
        }
    }

    /// Time of one turn.
    pub fn turn_ps(&self) -> f64 {
        self.turn_ps
    }

    /// The position of a byte, in turns from the outermost track.
    pub fn place(&self, offset: u64) -> f64 {
        let offset = offset as f64;
        let band = match self.bands.as_slice() {
            [only] => only,
            bands => &bands[bands.partition_point(|band| band.first_byte <= offset).max(1) - 1],
        };
        band.first_turn + (offset - band.first_byte) / band.bytes_per_turn
    }

    /// Picoseconds that the medium needs for a byte at `offset`, and the offset up to which that holds.
    pub fn pace(&self, offset: u64) -> (f64, u64) {
        let next = self.bands.partition_point(|band| band.first_byte <= offset as f64).max(1);
        let end = self.bands.get(next).map_or(u64::MAX, |band| band.first_byte as u64 + 1);
        (self.turn_ps / self.bands[next - 1].bytes_per_turn, end)
    }

    /// Time to move the arm from one place to another, in picoseconds; 0 within the tracks under the heads.
    pub fn seek_ps(&self, from: f64, to: f64) -> f64 {
        let distance = (from - to).abs();
        if distance <= self.near_turns {
            return 0.0;
        }
        self.seek_least_ps + self.seek_slope_ps * (distance / self.turns).sqrt()
    }

    /// How far the disk has turned past the angle of `place` at the moment `at`, as a share of a turn.
    pub fn past(&self, place: f64, at: f64) -> f64 {
        (at / self.turn_ps - place).rem_euclid(1.0)
    }

    /// The first moment, no earlier than `at`, at which `place` is under a head that is on its track.
    pub fn under_head(&self, place: f64, at: f64) -> f64 {
        let past = self.past(place, at);
        // A rounding error must not cost a turn: a place that has just passed counts as still there.
        if past < 1e-9 { at } else { at + (1.0 - past) * self.turn_ps }
    }
}

/// A moment in the geometry's unit.
pub fn ps(moment: Moment) -> f64 {
    moment.ps() as f64
}

/// A moment from the geometry's unit, rounded up so that nothing is early.
pub fn moment(ps: f64) -> Moment {
    Moment::from_ps(ps.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::System;

    fn atlas() -> (Disk, Geometry) {
        let text = crate::systems().iter().find(|system| system.name == "win2k-atlas10k").unwrap().text;
        let disk = System::from_toml(text).unwrap().disk;
        let geometry = Geometry::new(&disk);
        (disk, geometry)
    }

    #[test]
    fn the_spiral_holds_the_capacity_and_passes_at_the_rates_of_its_ends() {
        let (disk, geometry) = atlas();
        let capacity = disk.capacity_gb * 1e9;
        let rate = |from: f64, bytes: f64| {
            let turns = geometry.place((from + bytes) as u64) - geometry.place(from as u64);
            bytes / (turns * geometry.turn_ps) * 1e6
        };
        assert!((geometry.place(capacity as u64) - geometry.turns).abs() < 1.0);
        assert!((rate(0.0, 1e6) / disk.outer_mbps - 1.0).abs() < 1e-3);
        assert!((rate(capacity - 2e6, 1e6) / disk.inner_mbps - 1.0).abs() < 1e-3);
    }

    #[test]
    fn random_seeks_take_the_average_seek() {
        let (disk, geometry) = atlas();
        let mut total = 0.0;
        for from in 0..300 {
            for to in 0..300 {
                total +=
                    geometry.seek_ps(f64::from(from) / 300.0 * geometry.turns, f64::from(to) / 300.0 * geometry.turns);
            }
        }
        let mean_ms = total / 90_000.0 / PS_PER_MS;
        assert!((mean_ms - disk.average_seek_ms - disk.settle_ms).abs() < 0.05, "{mean_ms}");
    }

    #[test]
    fn a_place_is_under_the_head_once_a_turn() {
        let (_, geometry) = atlas();
        let first = geometry.under_head(0.25, 0.0);
        assert!((first / geometry.turn_ps - 0.25).abs() < 1e-9);
        let next = geometry.under_head(0.25, first + 1000.0);
        assert!((next - first - geometry.turn_ps).abs() < 2.0);
        assert_eq!(geometry.under_head(0.25, first), first);
    }
}
