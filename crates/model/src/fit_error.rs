//! Says how far a prediction by a fitted path may be from the truth.
//!
//! Two things are unknown: the constants, which other draws of the same cells would have fitted otherwise (B. Efron,
//! Bootstrap methods: another look at the jackknife, 1979), and what a model of so few constants leaves out. Both
//! errors are taken as independent, and as normal in the logarithm. Beyond the measured sizes and depths a limit may
//! stand that no cell could show; there the interval reaches as far as physics allows.

use halfpower_spec::Bytes;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use crate::SystemError;
use crate::path_constants::{PathConstants, is_zero, through};
use crate::variation;

/// Standard errors to each side of a 95% interval: quantiles of Student's t, within 1%.
fn errors(freedom: f64) -> f64 {
    // The series is much too small for so few.
    const FEW: [f64; 3] = [12.706, 4.303, 3.182];
    if freedom < 4.0 {
        return FEW[(freedom.max(1.0) as usize - 1).min(2)];
    }
    1.96 + 2.4 / freedom + 3.0 / freedom.powi(2)
}

/// Standard errors to each side of a 95% interval of a normal distribution.
const NORMAL: f64 = 1.96;

/// Relative error of constants that are kept with four digits and fitted in small steps.
const ROUNDING: f64 = 0.002;

/// What is known of the error of one path's constants.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitError {
    /// Smallest and largest measured block size in bytes.
    pub bs_bytes: [u64; 2],
    /// Smallest and largest measured depth, over all threads.
    pub depths: [u64; 2],
    /// Cells that it was fitted to.
    pub cells: u32,
    /// Of them, how many more there are than constants, at least 1.
    pub freedom: u32,
    /// Whether some cell waited for one of the requests in parallel; otherwise `side_by_side` is the deepest measured.
    pub side_by_side_seen: bool,
    /// Whether a limit of rate would have given the same: single requests already took all of the time between two, evenly,
    /// and depth and size changed nothing. It is taken as the device's own time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub may_be_limit: bool,
    /// Relative error of what the model leaves out, one standard deviation.
    pub misfit: f64,
    /// Relative error of a ceiling that was moved to what devices share, likewise; 0 without one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shared: f64,
    /// Constants that draws of the cells were fitted to: `fixed_us`, `us_per_kib`, `side_by_side`, `ceiling_mbps` and
    /// `ceiling_iops`; `inf` where a draw shows no limit.
    pub draws: Vec<[f64; 5]>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

/// Greatest factor that is told; whoever may be off by more knows nothing, and an infinite one could not be stored.
const MOST_ABOVE: f64 = 1e9;

/// Where the truth is, as factors of a predicted rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// At least this, with 97.5% certainty; at most 1.
    pub low: f64,
    /// At most this; at least 1.
    pub high: f64,
    /// Whether the size or the depth lies beyond what was measured, where a limit may stand that no cell could show.
    pub beyond: bool,
}

/// The constants that a draw may change, `inf` for a limit that is not there.
fn drawn(constants: &PathConstants) -> [f64; 5] {
    let PathConstants { fixed_us, us_per_kib, side_by_side, ceiling_mbps, ceiling_iops, .. } = *constants;
    let limit = |limit: Option<f64>| limit.unwrap_or(f64::INFINITY);
    [fixed_us, us_per_kib, limit(side_by_side), limit(ceiling_mbps), limit(ceiling_iops)]
}

impl FitError {
    /// The constants of a draw as this file keeps them.
    pub fn draw(constants: &PathConstants) -> [f64; 5] {
        drawn(constants)
    }

    /// Follows constants that somebody changed: a draw keeps its distance to them.
    pub(crate) fn follow(&mut self, before: &PathConstants, after: &PathConstants) {
        for ((before, after), place) in drawn(before).into_iter().zip(drawn(after)).zip(0..) {
            if before.total_cmp(&after).is_eq() {
                continue;
            }
            let moved = |value: f64| match before {
                before if before.is_finite() && before > 0.0 => value * after / before,
                _ => after,
            };
            self.draws.iter_mut().for_each(|draw| draw[place] = moved(draw[place]));
        }
    }

    /// Constants that are as likely as `constants`: those of a draw of the cells, and a misfit from `generator`. They are
    /// spread so that the range of 95% of many such constants is the interval of [`FitError::reach`].
    pub(crate) fn likely(
        &self,
        constants: &PathConstants,
        number: usize,
        generator: &mut Xoshiro256PlusPlus,
    ) -> PathConstants {
        let freedom = f64::from(self.freedom.max(1));
        let widened = errors(freedom) / NORMAL;
        let slower = variation::factor(self.misfit * widened, generator);
        let fitted = drawn(constants);
        let draw = if self.draws.is_empty() { fitted } else { self.draws[number % self.draws.len()] };
        let wider = widened * (f64::from(self.cells) / freedom).sqrt();
        // Both constants of the line move together, so that what one gains the other loses.
        let [fixed_us, us_per_kib] = [0, 1].map(|at| (fitted[at] + (draw[at] - fitted[at]) * wider).max(0.0));
        let has_time = fixed_us + us_per_kib > 0.0;
        let [fixed_us, us_per_kib] = if has_time { [fixed_us, us_per_kib] } else { [fitted[0], fitted[1]] };
        let [side_by_side, ceiling_mbps, ceiling_iops] = [2, 3, 4].map(|at| {
            let moved =
                if fitted[at].is_finite() { fitted[at] * (draw[at] / fitted[at]).powf(wider) } else { draw[at] };
            moved.is_finite().then_some(moved)
        });
        PathConstants {
            fixed_us: fixed_us * slower,
            us_per_kib: us_per_kib * slower,
            side_by_side,
            ceiling_mbps: ceiling_mbps.map(|mbps| mbps / slower),
            ceiling_iops: ceiling_iops.map(|iops| iops / slower),
            ..*constants
        }
    }

    /// Checks that the values are valid; an error names the value.
    pub(crate) fn check(&self) -> Result<(), SystemError> {
        let shares = [("misfit", self.misfit), ("shared", self.shared)];
        crate::system::constants(&shares, "0 or more", |value| value >= 0.0 && value.is_finite())?;
        let values: Vec<(&'static str, f64)> = self.draws.iter().flatten().map(|value| ("draws", *value)).collect();
        crate::system::constants(&values, "0 or more", |value| value >= 0.0)?;
        let limits: Vec<(&'static str, f64)> =
            self.draws.iter().flat_map(|draw| draw[2..].iter().map(|value| ("draws", *value))).collect();
        crate::system::constants(&limits, "above 0 for a limit", |value| value > 0.0)?;
        let times: Vec<(&'static str, f64)> = self.draws.iter().map(|draw| ("draws", draw[0] + draw[1])).collect();
        crate::system::constants(&times, "above 0, since a request takes some time", |value| {
            value > 0.0 && value.is_finite()
        })
    }

    /// Where the truth is for `devices` with `depth` requests of `bs` each, predicted from `constants` and behind a limit of
    /// `shared` MB/s.
    pub(crate) fn reach(
        &self,
        constants: &PathConstants,
        shared: Option<f64>,
        (bs, depth, devices): (Bytes, u32, u32),
    ) -> Reach {
        let rate = |constants: &PathConstants, bs: Bytes| through(constants, shared, bs, depth, devices).0;
        let predicted = rate(constants, bs);
        let of_draw = |draw: &[f64; 5]| {
            let limit = |value: f64| value.is_finite().then_some(value);
            let [fixed_us, us_per_kib, side_by_side, ceiling_mbps, ceiling_iops] = *draw;
            let [side_by_side, ceiling_mbps, ceiling_iops] = [side_by_side, ceiling_mbps, ceiling_iops].map(limit);
            let drawn = PathConstants { fixed_us, us_per_kib, side_by_side, ceiling_mbps, ceiling_iops, ..*constants };
            (rate(&drawn, bs) / predicted).ln().powi(2)
        };
        let spread = self.draws.iter().map(of_draw).sum::<f64>() / self.draws.len().max(1) as f64;
        // Draws of few cells spread too little: they have the freedom of the fit, and no more.
        let freedom = f64::from(self.freedom.max(1));
        let spread = spread * f64::from(self.cells) / freedom;
        let is_shared = predicted < through(constants, None, bs, depth, devices).0;
        let of_shared = if is_shared { self.shared } else { 0.0 };
        let error = (spread + self.misfit.powi(2) + of_shared.powi(2) + ROUNDING.powi(2)).sqrt();
        let [mut low, mut high] = [-1.0, 1.0].map(|side| (side * errors(freedom) * error).exp());
        let mut beyond = false;
        let [least_bs, most_bs] = self.bs_bytes.map(Bytes);
        if u64::from(depth) > self.depths[1] && !self.side_by_side_seen {
            let unlimited = PathConstants { side_by_side: None, ..*constants };
            high *= rate(&unlimited, bs) / predicted;
            beyond = true;
        }
        // Larger requests move at least the bytes of smaller ones in a second, and smaller ones are at least as many.
        if bs > most_bs && most_bs.0 > 0 && constants.ceiling_mbps.is_none() && !is_shared {
            low *= (rate(constants, most_bs) / predicted).min(1.0);
            beyond = true;
        }
        if bs < least_bs && constants.ceiling_iops.is_none() && !is_shared {
            low *= (rate(constants, least_bs) / least_bs.0 as f64 * bs.0 as f64 / predicted).min(1.0);
            beyond = true;
        }
        Reach { low: low.min(1.0), high: high.clamp(1.0, MOST_ABOVE), beyond }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: PathConstants = PathConstants {
        fixed_us: 100.0,
        us_per_kib: 1.0,
        side_by_side: Some(8.0),
        ceiling_mbps: None,
        ceiling_iops: None,
        slice_us: 0.0,
        charged_us: 0.0,
        charged_us_per_kib: 0.0,
        wait_us: 0.0,
        unseen_us: 0.0,
        unseen_us_per_kib: 0.0,
    };

    fn error(draws: &[f64]) -> FitError {
        let draw = |fixed_us: &f64| FitError::draw(&PathConstants { fixed_us: *fixed_us, ..MEASURED });
        FitError {
            bs_bytes: [4096, 32_768],
            depths: [1, 8],
            cells: 100,
            freedom: 100,
            side_by_side_seen: false,
            may_be_limit: false,
            misfit: 0.0,
            shared: 0.0,
            draws: draws.iter().map(draw).collect(),
        }
    }

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 0.006, "{found} instead of {expected}");
    }

    #[test]
    fn the_interval_holds_what_draws_and_misfit_say() {
        let exact = error(&[100.0, 100.0]).reach(&MEASURED, None, (Bytes(4096), 1, 1));
        assert!(exact.low > 0.995 && exact.high < 1.005 && !exact.beyond, "{exact:?}");
        // 104 us with 4 KiB: the draws are 10% to each side.
        let drawn = error(&[104.0 * 0.9 - 4.0, 104.0 / 0.9 - 4.0]).reach(&MEASURED, None, (Bytes(4096), 1, 1));
        near(drawn.low, 0.9_f64.powf(errors(100.0)));
        near(drawn.high, 0.9_f64.powf(-errors(100.0)));
        let misfit = FitError { misfit: 0.1, ..error(&[100.0]) }.reach(&MEASURED, None, (Bytes(4096), 1, 1));
        near(misfit.high, (0.1 * errors(100.0)).exp());
    }

    #[test]
    fn a_misfit_without_measure_still_has_a_finite_interval() {
        let reach = FitError { misfit: 400.0, ..error(&[100.0]) }.reach(&MEASURED, None, (Bytes(4096), 1, 1));
        assert_eq!((reach.low >= 0.0 && reach.low < 1e-9, reach.high), (true, MOST_ABOVE), "{reach:?}");
    }

    #[test]
    fn beyond_what_was_measured_it_reaches_as_far_as_physics_allows() {
        let error = error(&[100.0]);
        // 8 deep was the deepest, and nothing waited: 32 deep may be four times as fast.
        let deep = error.reach(&MEASURED, None, (Bytes(4096), 32, 1));
        assert!(deep.beyond);
        near(deep.low, 1.0);
        near(deep.high, 4.0);
        let seen = FitError { side_by_side_seen: true, ..error.clone() };
        assert!(!seen.reach(&MEASURED, None, (Bytes(4096), 32, 1)).beyond);
        // 132 us for 32 KiB and 4,196 us for 4 MiB: 32 KiB moves 0.248 times as many bytes a second.
        let large = error.reach(&MEASURED, None, (Bytes(4 << 20), 1, 1));
        assert!(large.beyond);
        near(large.low, 4196.0 / 132.0 / 128.0);
        near(large.high, 1.0);
        let limited = PathConstants { ceiling_mbps: Some(400.0), ..MEASURED };
        assert!(!error.reach(&limited, None, (Bytes(4 << 20), 1, 1)).beyond);
        let small = error.reach(&MEASURED, None, (Bytes(512), 1, 1));
        assert!(small.beyond);
        near(small.low, 100.5 / 104.0);
    }

    #[test]
    fn quantiles_are_those_of_student() {
        let few = [(1.0, 12.706), (2.0, 4.303), (3.0, 3.182), (4.0, 2.776), (5.0, 2.571)];
        for (freedom, quantile) in few.into_iter().chain([(10.0, 2.228), (20.0, 2.086), (60.0, 2.0)]) {
            assert!((errors(freedom) / quantile - 1.0_f64).abs() < 0.011, "{freedom}: {}", errors(freedom));
        }
    }

    #[test]
    fn likely_constants_spread_as_the_interval_says() {
        // Draws at quantiles of a normal distribution of 10%, and 5% of misfit.
        let quantiles = [-1.645, -1.036, -0.674, -0.385, -0.126, 0.126, 0.385, 0.674, 1.036, 1.645];
        let draws = quantiles.map(|quantile: f64| 100.0 * (0.1 * quantile).exp());
        let error = FitError { misfit: 0.05, ..error(&draws) };
        let reach = error.reach(&MEASURED, None, (Bytes(4096), 1, 1));
        let rate = |constants: &PathConstants| through(constants, None, Bytes(4096), 1, 1).0;
        let mut generator = variation::generator(1, 1);
        let mut ratios: Vec<f64> =
            (0..4000).map(|number| rate(&error.likely(&MEASURED, number, &mut generator)) / rate(&MEASURED)).collect();
        ratios.sort_by(f64::total_cmp);
        let within = ratios.iter().filter(|ratio| (reach.low..=reach.high).contains(*ratio)).count();
        assert!((0.92..=0.985).contains(&(within as f64 / 4000.0)), "{within} of 4000, {reach:?}");
        assert!((ratios[2000] - 1.0).abs() < 0.02, "the median is {}", ratios[2000]);
        let exact = FitError { misfit: 0.0, draws: Vec::new(), ..error };
        assert_eq!(exact.likely(&MEASURED, 3, &mut generator), MEASURED);
    }

    #[test]
    fn draws_follow_constants_that_somebody_changes() {
        let mut error = error(&[90.0, 110.0]);
        let faster = PathConstants { fixed_us: 50.0, ceiling_mbps: Some(300.0), ..MEASURED };
        error.follow(&MEASURED, &faster);
        let first: Vec<f64> = error.draws.iter().map(|draw| draw[0]).collect();
        assert_eq!(first, [45.0, 55.0]);
        assert!(error.draws.iter().all(|draw| draw[3] == 300.0 && draw[4] == f64::INFINITY && draw[2] == 8.0));
    }
}
