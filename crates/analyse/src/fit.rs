//! Fits a line with non-negative coefficients to pairs, with its errors.
//!
//! Weighted least squares in relative error: each point counts by its error in percent, so a request of 4 KiB weighs as
//! much as one of 1 MiB. Both coefficients are times, so neither is below zero. Source: ordinary normal equations of
//! weighted linear regression; E. C. Fieller, Some problems in interval estimation, 1954, for the interval of a ratio.

use crate::Interval;
use crate::interval::t95;

/// Rounds of reweighting by the previous line; the weights settle in two.
const ROUNDS: usize = 3;

/// A line `intercept + slope x`, fitted in relative error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineFit {
    /// Value at x = 0, not below 0.
    pub intercept: f64,
    /// Gain for each unit of x, not below 0.
    pub slope: f64,
    /// Points behind it.
    pub points: usize,
    /// Root mean square of the relative residuals, over the degrees of freedom; 0 without degrees of freedom.
    pub scatter: f64,
    /// The estimate before either coefficient was held at 0; intervals are drawn around it.
    free: Free,
}

/// The unconstrained estimate and its covariance, in units of the squared relative error of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Free {
    intercept: f64,
    slope: f64,
    /// Squared relative error of a point: from the residuals, or a value that other data support too.
    variance: f64,
    intercept_variance: f64,
    slope_variance: f64,
    covariance: f64,
    freedom: usize,
}

/// Fits `y = intercept + slope x` over `(x, y)`, weighing every point by `1 / y²` of the line itself.
///
/// `None` unless two points with different x and y above 0 remain after dropping those that are not finite.
pub fn fit_line(points: &[(f64, f64)]) -> Option<LineFit> {
    let sound = |(x, y): &&(f64, f64)| x.is_finite() && *x >= 0.0 && y.is_finite() && *y > 0.0;
    let points: Vec<(f64, f64)> = points.iter().filter(sound).copied().collect();
    let first = points.first()?.0;
    if points.iter().all(|(x, _)| *x == first) {
        return None;
    }
    let mut expected: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
    let mut fit = weighted(&points, &expected);
    for _ in 1..ROUNDS {
        expected = points.iter().map(|(x, _)| fit.at(*x)).collect();
        // A line through the origin gives a point at the origin no weight.
        if expected.iter().any(|y| *y <= 0.0) {
            break;
        }
        fit = weighted(&points, &expected);
    }
    Some(fit)
}

/// Fits a line through points that may lie below 0, each with an error in proportion to its `scale`, above 0.
///
/// `None` unless two points differ in x.
pub(crate) fn fit_line_to_scale(points: &[(f64, f64)], scale: &[f64]) -> Option<LineFit> {
    let first = points.first()?.0;
    let sound = points.iter().zip(scale).all(|((_, y), scale)| y.is_finite() && scale.is_finite() && *scale > 0.0);
    (sound && points.iter().any(|(x, _)| *x != first)).then(|| weighted(points, scale))
}

fn weighted(points: &[(f64, f64)], expected: &[f64]) -> LineFit {
    let weights: Vec<f64> = expected.iter().map(|y| 1.0 / (y * y)).collect();
    let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().zip(&weights).map(|((x, y), weight)| weight * term(*x, *y)).sum()
    };
    let total = sum(&|_, _| 1.0);
    let mean_x = sum(&|x, _| x) / total;
    let mean_y = sum(&|_, y| y) / total;
    let spread = sum(&|x, _| (x - mean_x).powi(2));
    let slope = sum(&|x, y| (x - mean_x) * (y - mean_y)) / spread;
    let intercept = mean_y - slope * mean_x;
    let freedom = points.len() - 2;
    let variance = match freedom {
        0 => 0.0,
        _ => sum(&|x, y| (y - intercept - slope * x).powi(2)) / freedom as f64,
    };
    let free = Free {
        intercept,
        slope,
        variance,
        intercept_variance: 1.0 / total + mean_x * mean_x / spread,
        slope_variance: 1.0 / spread,
        covariance: -mean_x / spread,
        freedom,
    };
    let (intercept, slope) = if intercept < 0.0 {
        (0.0, (sum(&|x, y| x * y) / sum(&|x, _| x * x)).max(0.0))
    } else if slope < 0.0 {
        (mean_y.max(0.0), 0.0)
    } else {
        (intercept, slope)
    };
    let residual = sum(&|x, y| (y - intercept - slope * x).powi(2));
    let scatter = if freedom == 0 { 0.0 } else { (residual / freedom as f64).sqrt() };
    LineFit { intercept, slope, points: points.len(), scatter, free }
}

impl LineFit {
    /// The line at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// Whether there were more points than coefficients, so that intervals have a width.
    pub fn has_error(&self) -> bool {
        self.free.freedom > 0
    }

    /// The intercept with its 95% t interval, cut at 0.
    pub fn intercept_interval(&self) -> Interval {
        self.interval(self.intercept, self.free.intercept, self.free.variance * self.free.intercept_variance)
    }

    /// The slope before any coefficient was held at 0, and its standard error; without degrees of freedom that is 0.
    pub(crate) fn free_slope(&self) -> (f64, f64) {
        (self.free.slope, (self.free.variance * self.free.slope_variance).sqrt())
    }

    /// The slope with its 95% t interval, cut at 0.
    pub fn slope_interval(&self) -> Interval {
        self.interval(self.slope, self.free.slope, self.free.variance * self.free.slope_variance)
    }

    fn interval(&self, value: f64, centre: f64, variance: f64) -> Interval {
        if !self.has_error() {
            return Interval::exact(value);
        }
        let reach = t95(self.free.freedom) * variance.sqrt();
        // Holding one coefficient at 0 can move the other out of its own interval.
        let low = (centre - reach).max(0.0).min(value);
        Interval { value, low, high: (centre + reach).max(value) }
    }

    /// Sum of the squared relative residuals of the free line, and their degrees of freedom.
    pub(crate) fn residuals(&self) -> (f64, usize) {
        (self.free.variance * self.free.freedom as f64, self.free.freedom)
    }

    /// The same line, with a point's squared relative error estimated from more than its own points.
    pub(crate) fn with_error(self, variance: f64, freedom: usize) -> Self {
        Self { free: Free { variance, freedom, ..self.free }, ..self }
    }

    /// The sum of two lines fitted to independent points: its intercept and its slope, with intervals by Welch's
    /// degrees of freedom.
    pub(crate) fn sum(&self, other: &Self) -> [Interval; 2] {
        let with = |value: f64, of: fn(&Free) -> (f64, f64)| {
            let ((one, one_variance), (two, two_variance)) = (of(&self.free), of(&other.free));
            let variance = one_variance + two_variance;
            let each = |variance: f64, freedom: usize| variance.powi(2) / freedom.max(1) as f64;
            let doubt = each(one_variance, self.free.freedom) + each(two_variance, other.free.freedom);
            let unknown = self.free.freedom == 0 || other.free.freedom == 0;
            let freedom = if doubt > 0.0 { (variance.powi(2) / doubt).max(1.0) as usize } else { 1 };
            let reach = if unknown { 0.0 } else { t95(freedom) * variance.sqrt() };
            let (low, high) = if unknown { (value, value) } else { (one + two - reach, one + two + reach) };
            Interval { value, low: low.max(0.0).min(value), high: high.max(value) }
        };
        [
            with(self.intercept + other.intercept, |free| (free.intercept, free.variance * free.intercept_variance)),
            with(self.slope + other.slope, |free| (free.slope, free.variance * free.slope_variance)),
        ]
    }

    /// `intercept / slope`, the x at which both parts are equal; `None` if the slope is 0.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.intercept / self.slope).filter(|ratio| self.slope > 0.0 && ratio.is_finite())
    }

    /// The 95% interval of [`Self::ratio`] by Fieller's theorem, cut at 0.
    ///
    /// `None` if the slope may be 0, so that the ratio has no upper end, or if there is no error estimate.
    pub fn ratio_interval(&self) -> Option<(f64, f64)> {
        let ratio = self.ratio()?;
        if !self.has_error() {
            return None;
        }
        let Free { intercept: a, slope: b, intercept_variance, slope_variance, covariance, freedom, variance } =
            self.free;
        let t2 = t95(freedom).powi(2) * variance;
        let square = b * b - t2 * slope_variance;
        if square <= 0.0 {
            return None;
        }
        let middle = a * b - t2 * covariance;
        let root = (middle * middle - square * (a * a - t2 * intercept_variance)).max(0.0).sqrt();
        let low = (middle - root) / square;
        let high = (middle + root) / square;
        Some((low.max(0.0).min(ratio), high.max(ratio))).filter(|(_, high)| high.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const SIZES_KIB: [f64; 9] = [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0];

    #[test]
    fn a_line_without_noise_comes_back() {
        let points: Vec<_> = SIZES_KIB.iter().map(|x| (*x, 80.0 + 2.048 * x)).collect();
        let fit = fit_line(&points).unwrap();
        assert!((fit.intercept / 80.0 - 1.0).abs() < 1e-9 && (fit.slope / 2.048 - 1.0).abs() < 1e-9, "{fit:?}");
        assert!((fit.ratio().unwrap() - 80.0 / 2.048).abs() < 1e-6);
        let (low, high) = fit.ratio_interval().unwrap();
        assert!(low <= high && high - low < 1e-3);
    }

    #[test]
    fn coefficients_stay_physical() {
        let falling = fit_line(&[(1.0, 10.0), (2.0, 9.0), (4.0, 8.0)]).unwrap();
        assert!(falling.slope == 0.0 && falling.intercept > 8.0 && falling.ratio().is_none());
        let below = fit_line(&[(1.0, 0.5), (2.0, 2.0), (4.0, 5.0)]).unwrap();
        assert!(below.intercept == 0.0 && below.slope > 0.0);
        assert!(below.intercept_interval().low == 0.0 && below.slope_interval().low <= below.slope);
    }

    #[test]
    fn what_makes_no_line_is_none() {
        assert!(fit_line(&[]).is_none() && fit_line(&[(4.0, 1.0)]).is_none());
        assert!(fit_line(&[(4.0, 1.0), (4.0, 2.0)]).is_none());
        assert!(fit_line(&[(4.0, 1.0), (8.0, f64::NAN), (16.0, 0.0)]).is_none());
    }

    #[test]
    fn two_points_have_no_interval() {
        let fit = fit_line(&[(4.0, 10.0), (8.0, 14.0)]).unwrap();
        assert_eq!(fit.intercept_interval(), Interval::exact(fit.intercept));
        assert!(fit.ratio_interval().is_none());
    }

    /// 2,000 trials, 3% of noise a point: the binomial margin at 95% is ±1%.
    #[test]
    fn intervals_of_coefficients_and_ratio_cover_the_truth() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let mut normal = || (0..12).map(|_| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0;
        let trials = 2000;
        let mut covered = [0; 3];
        for _ in 0..trials {
            let points: Vec<_> = SIZES_KIB.iter().map(|x| (*x, (80.0 + 2.0 * x) * (1.0 + 0.03 * normal()))).collect();
            let fit = fit_line(&points).unwrap();
            let intercept = fit.intercept_interval();
            let slope = fit.slope_interval();
            let (low, high) = fit.ratio_interval().unwrap();
            for (count, (low, truth, high)) in covered.iter_mut().zip([
                (intercept.low, 80.0, intercept.high),
                (slope.low, 2.0, slope.high),
                (low, 40.0, high),
            ]) {
                *count += i32::from(low <= truth && truth <= high);
            }
        }
        for count in covered {
            let share = f64::from(count) / f64::from(trials);
            assert!((0.93..=0.97).contains(&share), "{covered:?} of {trials}");
        }
    }
}
