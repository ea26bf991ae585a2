//! Draws seeded factors of mean 1 that vary a speed or a time.
//!
//! Both kinds are log-normal, because a speed and a time stay above 0 with any spread. With a relative standard
//! deviation c, the logarithm has variance ln(1 + c^2) and mean -ln(1 + c^2)/2 (Johnson, Kotz and Balakrishnan,
//! Continuous Univariate Distributions 1, chapter 14).

use halfpower_spec::SimulatedDisk;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// The generator of one run on one disk: other disks and other runs get independent streams.
pub fn generator(disk_seed: u64, run_seed: u64) -> Xoshiro256PlusPlus {
    let disk: u64 = SplitMix64::seed_from_u64(disk_seed).random();
    Xoshiro256PlusPlus::seed_from_u64(disk ^ run_seed)
}

/// One factor with mean 1 and relative standard deviation `deviation`.
pub fn factor(deviation: f64, generator: &mut Xoshiro256PlusPlus) -> f64 {
    // Drawn even if unused, so that the following stream is the same for every deviation.
    let normal: f64 = generator.sample(StandardNormal);
    let sigma = deviation.powi(2).ln_1p().sqrt();
    (sigma * normal - sigma * sigma / 2.0).exp()
}

/// Seed of likely factors.
const LIKELY_SEED: u64 = 2000;

/// A likely factor between what was measured, with this relative standard deviation, and the truth: the `number`th of a fixed
/// sequence.
pub fn likely_factor(deviation: f64, number: u32) -> f64 {
    factor(deviation, &mut generator(LIKELY_SEED, u64::from(number)))
}

/// Speed of a simulated disk in one run, as a multiple of its mean.
pub fn speed_of_run(disk: &SimulatedDisk, run_seed: u64) -> f64 {
    factor(disk.noise, &mut generator(disk.seed, run_seed))
}

/// A sequence of factors with mean 1, a relative standard deviation, and a lag-1 autocorrelation.
#[derive(Debug, Clone)]
pub struct Jitter {
    /// Standard deviation of the factor's logarithm; 0 without jitter.
    sigma: f64,
    /// Correlation of the logarithms that gives the factors the requested one.
    persistence: f64,
    /// Weight of each new draw, which keeps the variance of `state` at 1.
    innovation: f64,
    /// The logarithm before it is scaled: AR(1) with mean 0 and variance 1.
    state: f64,
    generator: Xoshiro256PlusPlus,
}

impl Jitter {
    /// Factors with relative standard deviation `deviation` and lag-1 autocorrelation `correlation` (0 to below 1).
    ///
    /// Factors with logarithms of correlation r have the correlation (exp(s^2 r) - 1) / (exp(s^2) - 1), with s^2 the
    /// variance of the logarithm; `persistence` is that, solved for r.
    pub fn new(deviation: f64, correlation: f64, mut generator: Xoshiro256PlusPlus) -> Self {
        let variance = deviation.powi(2).ln_1p();
        let persistence = if variance > 0.0 { (correlation * deviation.powi(2)).ln_1p() / variance } else { 0.0 };
        let state = generator.sample(StandardNormal);
        Self {
            sigma: variance.sqrt(),
            persistence,
            innovation: (1.0 - persistence * persistence).sqrt(),
            state,
            generator,
        }
    }

    /// The next factor.
    pub fn next_factor(&mut self) -> f64 {
        if self.sigma == 0.0 {
            return 1.0;
        }
        let normal: f64 = self.generator.sample(StandardNormal);
        self.state = self.persistence * self.state + self.innovation * normal;
        (self.sigma * self.state - self.sigma * self.sigma / 2.0).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean, relative standard deviation and lag-1 autocorrelation.
    fn moments(values: &[f64]) -> (f64, f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        let lagged = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / count;
        (mean, variance.sqrt() / mean, lagged / variance)
    }

    #[test]
    fn jitter_has_the_mean_the_spread_and_the_correlation_asked_for() {
        for (deviation, correlation) in [(0.05, 0.0), (0.1, 0.5), (0.3, 0.8), (1.0, 0.5), (0.2, 0.95)] {
            let mut jitter = Jitter::new(deviation, correlation, generator(1, 2));
            let factors: Vec<f64> = (0..1_000_000).map(|_| jitter.next_factor()).collect();
            let (mean, spread, lagged) = moments(&factors);
            let margin = 4.0 * deviation * ((1.0 + correlation) / (1.0 - correlation) / 1e6).sqrt();
            assert!((mean - 1.0).abs() < margin, "{deviation}, {correlation}: mean {mean}");
            assert!((spread / deviation - 1.0).abs() < 0.03, "{deviation}, {correlation}: spread {spread}");
            assert!((lagged - correlation).abs() < 0.01, "{deviation}, {correlation}: correlation {lagged}");
        }
    }

    #[test]
    fn one_factor_has_the_mean_and_the_spread_asked_for() {
        let factors: Vec<f64> = (0..100_000).map(|run| factor(0.5, &mut generator(1, run))).collect();
        let (mean, spread, lagged) = moments(&factors);
        assert!((mean - 1.0).abs() < 0.007 && (spread - 0.5).abs() < 0.015, "mean {mean}, spread {spread}");
        assert!(lagged.abs() < 0.013, "runs with neighbouring seeds are alike: {lagged}");
    }

    #[test]
    fn no_deviation_is_exactly_one() {
        assert_eq!(factor(0.0, &mut generator(1, 1)), 1.0);
        assert_eq!(Jitter::new(0.0, 0.9, generator(1, 1)).next_factor(), 1.0);
    }

    #[test]
    fn runs_and_disks_draw_apart() {
        let draw = |disk, run| factor(0.1, &mut generator(disk, run));
        let drawn = [draw(1, 1), draw(1, 2), draw(2, 1), draw(2, 2)];
        for (place, value) in drawn.iter().enumerate() {
            assert!(!drawn[..place].contains(value), "{drawn:?}");
        }
        assert_eq!(draw(1, 1), drawn[0]);
    }
}
