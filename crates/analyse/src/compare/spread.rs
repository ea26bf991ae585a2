//! Tests differences between few runs, using the common spread of all cells, and corrects for many tests.
//!
//! Three runs of a cell say little about that cell's spread, but a hundred cells together say much. Each cell's
//! variance is shrunk towards the common one, as far as the cells agree (G. K. Smyth, Linear models and empirical Bayes
//! methods for assessing differential expression in microarray experiments, 2004).

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::gamma::digamma;

use crate::mean::median;
use crate::weather::Weather;
use halfpower_spec::InOrder;

/// Degrees of freedom from which Student's t counts as normal.
const NORMAL_FROM: f64 = 1e6;
/// Share of the median below which a variance counts as a rounding error of the clock.
const LEAST_SHARE: f64 = 1e-5;
/// Share of the estimated weight given to the common spread. With the full weight, up to 8% of comparisons have a false
/// alarm if half of the cells are five times as noisy as the others (simulated); with half the weight, at most 5%.
const CAUTION: f64 = 0.5;

/// What a variance of few runs is shrunk towards: a variance and its weight in degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    variance: f64,
    freedom: f64,
    /// The mean variance over all known ones, and the sum of their degrees of freedom.
    pooled: (f64, f64),
}

/// A difference of logarithms with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// ln(B / A).
    pub log_ratio: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of the error; infinite if nothing varies.
    pub freedom: f64,
}

impl Prior {
    /// The common prior of these variances, each with its degrees of freedom; `None` if there are none.
    pub fn of(variances: &[(f64, usize)]) -> Option<Self> {
        let known: Vec<(f64, f64)> = variances.iter().filter(|v| v.1 > 0).map(|v| (v.0, v.1 as f64)).collect();
        let total: f64 = known.iter().map(|(_, freedom)| freedom).sum();
        if total == 0.0 {
            return None;
        }
        let pooled = known.iter().map(|(variance, freedom)| variance * freedom).sum::<f64>() / total;
        let least = LEAST_SHARE * median(known.iter().map(|(variance, _)| *variance).collect());
        let logs: Vec<f64> =
            known.iter().map(|(variance, d)| variance.max(least).ln() - digamma(d / 2.0) + (d / 2.0).ln()).collect();
        if known.len() < 2 || logs.iter().any(|log| !log.is_finite()) {
            // One cell, or mostly cells without any variation: each cell keeps its own variance.
            return Some(Self { variance: pooled, freedom: 0.0, pooled: (pooled, total) });
        }
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let spread = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let by_chance = known.iter().map(|(_, freedom)| trigamma(freedom / 2.0)).sum::<f64>() / count;
        if spread <= by_chance {
            return Some(Self { variance: pooled, freedom: f64::INFINITY, pooled: (pooled, total) });
        }
        let freedom = 2.0 * inverse_trigamma(spread - by_chance);
        let variance = (mean + digamma(freedom / 2.0) - (freedom / 2.0).ln()).exp();
        Some(Self { variance, freedom: CAUTION * freedom, pooled: (pooled, total) })
    }

    /// The variance of a run without any estimate for its own cell, and its degrees of freedom.
    pub fn pooled(&self) -> (f64, f64) {
        self.pooled
    }

    /// A cell's variance shrunk towards the prior, and the degrees of freedom of the result.
    pub fn moderated(&self, variance: f64, freedom: usize) -> (f64, f64) {
        if self.freedom.is_infinite() || (self.freedom == 0.0 && freedom == 0) {
            return self.pooled;
        }
        let freedom = freedom as f64;
        let total = self.freedom + freedom;
        ((self.freedom * self.variance + freedom * variance) / total, total)
    }
}

impl Estimate {
    /// The estimate with this half width of its 95% interval.
    pub fn of_reach(log_ratio: f64, reach: f64, freedom: f64) -> Self {
        Self { log_ratio, error: reach / quantile(freedom), freedom }
    }

    /// The same with so much of the variance from occasion to occasion of its path, if that wanders. Degrees of freedom as in
    /// [`Estimate::mean`].
    pub(crate) fn in_weather(self, weather: Option<Weather>, share: f64) -> Self {
        let Some((variance, freedom)) = weather.map(Weather::variance).filter(|_| share > 0.0) else { return self };
        let of_weather = variance * share;
        let of_runs = self.error * self.error;
        let shares = of_runs * of_runs / self.freedom + of_weather * of_weather / freedom;
        let total = of_runs + of_weather;
        Self { error: total.sqrt(), freedom: total * total / shares, ..self }
    }

    /// Half the width of its 95% interval.
    pub fn reach(&self) -> f64 {
        quantile(self.freedom) * self.error
    }

    /// The probability of at least this difference, in either direction, if there is none.
    pub fn chance(&self) -> f64 {
        if self.log_ratio == 0.0 {
            return 1.0;
        }
        if self.error == 0.0 {
            return 0.0;
        }
        if !self.error.is_finite() {
            return 1.0;
        }
        let size = (self.log_ratio / self.error).abs();
        let beyond = if self.freedom >= NORMAL_FROM {
            Normal::standard().sf(size)
        } else {
            StudentsT::new(0.0, 1.0, self.freedom).map_or(0.5, |t| t.sf(size))
        };
        (2.0 * beyond).min(1.0)
    }

    /// The mean of estimates: each of `own` has a separate variance, those of `pooled` share one.
    ///
    /// Degrees of freedom by F. E. Satterthwaite, An approximate distribution of estimates of variance components,
    /// 1946.
    pub fn mean(own: &[Self], pooled: &[Self]) -> Self {
        let count = (own.len() + pooled.len()) as f64;
        let variance_of = |one: &Self| one.error * one.error;
        let of_pooled: f64 = pooled.iter().map(variance_of).sum();
        let freedom_of_pooled = pooled.first().map_or(f64::INFINITY, |one| one.freedom);
        let of_own = own.iter().map(|one| (variance_of(one), one.freedom));
        let parts: Vec<(f64, f64)> = of_own.chain([(of_pooled, freedom_of_pooled)]).collect();
        let variance: f64 = parts.iter().map(|(variance, _)| variance).sum();
        let shares: f64 = parts.iter().map(|(variance, freedom)| variance * variance / freedom).sum();
        Self {
            log_ratio: own.iter().chain(pooled).map(|one| one.log_ratio).sum::<f64>() / count,
            error: variance.sqrt() / count,
            freedom: if shares > 0.0 { variance * variance / shares } else { f64::INFINITY },
        }
    }
}

/// The 97.5% quantile of Student's t.
fn quantile(freedom: f64) -> f64 {
    if freedom >= NORMAL_FROM {
        Normal::standard().inverse_cdf(0.975)
    } else {
        StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975))
    }
}

/// Holm's correction: raises the p-values of tests made together so that, at 0.05, the whole family errs once in twenty
/// studies. S. Holm, A simple sequentially rejective multiple test procedure, 1979.
pub(crate) fn holm(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.order_by(|one, other| chances[*one].total_cmp(&chances[*other]));
    let mut adjusted = vec![1.0; chances.len()];
    let mut least: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max((chances[at] * (chances.len() - rank) as f64).min(1.0));
        adjusted[at] = least;
    }
    adjusted
}

/// The derivative of digamma, by its recurrence and its asymptotic series (Abramowitz and Stegun 6.4.6, 6.4.12).
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 12.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    sum + 1.0 / x + y / 2.0 + y / x * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y / 30.0)))
}

/// The x at which trigamma is `value`, by bisection: trigamma falls from infinity to 0.
fn inverse_trigamma(value: f64) -> f64 {
    let mut low = -20.0f64;
    let mut high = 20.0f64;
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if trigamma(middle.exp()) > value { low = middle } else { high = middle }
    }
    low.exp()
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
        (0..12).map(|_| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0
    }

    /// Differences of `cells` cells with two groups of three runs, with a spread between the two given.
    fn differences(cells: usize, spreads: (f64, f64), random: &mut Xoshiro256PlusPlus) -> Vec<Estimate> {
        let sums: Vec<(f64, f64)> = (0..cells)
            .map(|cell| {
                let spread = if cell % 2 == 0 { spreads.0 } else { spreads.1 };
                let groups = [0, 1].map(|_| [0, 1, 2].map(|_| spread * normal(random)));
                let means = groups.map(|group| group.iter().sum::<f64>() / 3.0);
                let squares: f64 =
                    groups.iter().zip(means).flat_map(|(g, m)| g.iter().map(move |x| (x - m).powi(2))).sum();
                (means[1] - means[0], squares / 4.0)
            })
            .collect();
        let prior = Prior::of(&sums.iter().map(|(_, variance)| (*variance, 4)).collect::<Vec<_>>()).unwrap();
        let estimate = |(log_ratio, variance): &(f64, f64)| {
            let (variance, freedom) = prior.moderated(*variance, 4);
            Estimate { log_ratio: *log_ratio, error: (variance * 2.0 / 3.0).sqrt(), freedom }
        };
        sums.iter().map(estimate).collect()
    }

    #[test]
    fn trigamma_is_that_of_the_tables() {
        for (x, value) in
            [(1.0, 1.644_934_066_8), (0.5, 4.934_802_200_5), (2.0, 0.644_934_066_8), (10.0, 0.105_166_335_7)]
        {
            assert!((trigamma(x) - value).abs() < 1e-9, "{x}: {}", trigamma(x));
            assert!((inverse_trigamma(value) / x - 1.0).abs() < 1e-9, "{x}: {}", inverse_trigamma(value));
        }
    }

    #[test]
    fn holm_multiplies_by_what_is_left_and_never_falls() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    /// 400 comparisons of 60 cells: the binomial margin of a family error of 5% is ±2.2%, of the coverage ±0.3%.
    #[test]
    fn equal_systems_are_called_different_as_often_as_said_whether_the_spread_is_shared_or_not() {
        for spreads in [(0.03, 0.03), (0.01, 0.05)] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
            let mut families = 0;
            let mut covered = 0;
            for _ in 0..400 {
                let all = differences(60, spreads, &mut random);
                families += usize::from(
                    holm(&all.iter().map(Estimate::chance).collect::<Vec<_>>())[..].iter().any(|p| *p < 0.05),
                );
                covered += all.iter().filter(|one| one.log_ratio.abs() <= one.reach()).count();
            }
            assert!(families <= 29, "{spreads:?}: {families} of 400 families err");
            let share = covered as f64 / 24_000.0;
            assert!((0.94..=0.965).contains(&share), "{spreads:?}: intervals cover {share}");
        }
    }

    #[test]
    fn the_mean_of_estimates_covers_as_they_do() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(12);
        let inside = (0..1000).filter(|_| {
            let mean = Estimate::mean(&differences(6, (0.01, 0.05), &mut random), &[]);
            mean.log_ratio.abs() <= mean.reach()
        });
        let count = inside.count();
        assert!((930..=975).contains(&count), "{count} of 1000");
    }

    #[test]
    fn what_never_varies_has_no_width() {
        let prior = Prior::of(&[(0.0, 4), (0.0, 4), (0.0, 4)]).unwrap();
        let (variance, freedom) = prior.moderated(0.0, 4);
        let same = Estimate { log_ratio: 0.0, error: variance.sqrt(), freedom };
        assert_eq!((same.reach(), same.chance()), (0.0, 1.0));
        assert_eq!(Estimate { log_ratio: 0.1, ..same }.chance(), 0.0);
        assert!(Prior::of(&[(0.0, 0)]).is_none());
    }
}
