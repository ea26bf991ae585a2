//! Estimates how much a rate varies from step to step: the long-run variance of a series.
//!
//! The variance of a mean of L correlated steps is noise / L, with noise = variance x (1 + r) / (1 - r) for steps of
//! lag-1 correlation r (an AR(1) series). Both are computed within fifths of the window, around the mean of each, so
//! that a change of level or a slope does not count as scatter; the fifth that varies most is left out.

use crate::mean::mean;

/// Parts into which the series is divided.
const PARTS: usize = 5;
/// Largest correlation that is accepted: beyond it, too few independent steps remain.
const MOST_CORRELATED: f64 = 0.9;

/// The scatter of a series.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scatter {
    /// Long-run variance: that of a mean over L steps, times L.
    pub noise: f64,
    /// Largest rate of which all steps are multiples: one request in a step, or a wave of them.
    grain: f64,
}

impl Scatter {
    pub fn of(rates: &[f64]) -> Self {
        let length = (rates.len() / PARTS).max(2);
        let mut parts: Vec<Part> = rates.chunks_exact(length).map(Part::of).collect();
        parts.sort_by(|one, other| one.squares.total_cmp(&other.squares));
        parts.truncate(parts.len().saturating_sub(1).max(1));
        let all = parts.iter().fold(Part::default(), |sum, part| Part {
            squares: sum.squares + part.squares,
            products: sum.products + part.products,
            bridge_squares: sum.bridge_squares + part.bridge_squares,
        });
        Self { noise: all.noise(parts.len() as f64, length as f64), grain: grain(rates) }
    }

    /// Standard error of the difference of two means over this many steps.
    pub fn error_of_difference(&self, one: usize, other: usize) -> f64 {
        (self.noise / one.max(1) as f64 + self.noise / other.max(1) as f64).sqrt()
    }

    /// Possible error of the difference of two means over this many steps because requests complete whole: one request
    /// at either end of each.
    pub fn margin(&self, steps: usize) -> f64 {
        2.0 * self.grain / steps.max(1) as f64
    }
}

/// The greatest common divisor, to a millionth of the largest rate; 0 if all are 0.
fn grain(rates: &[f64]) -> f64 {
    let rounding = rates.iter().copied().fold(0.0, f64::max) * 1e-6;
    let divisor = |mut one: f64, mut other: f64| {
        while other > rounding {
            (one, other) = (other, one % other);
        }
        one
    };
    rates.iter().copied().fold(0.0, |grain, rate| divisor(rate, grain))
}

/// A part of the window around its own mean: squares, products of neighbours, squares of the partial sums.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    squares: f64,
    products: f64,
    bridge_squares: f64,
}

impl Part {
    fn of(rates: &[f64]) -> Self {
        let level = mean(rates);
        let mut sum = 0.0;
        let mut before = 0.0;
        let mut part = Self::default();
        for rate in rates {
            let off = rate - level;
            sum += off;
            part.squares += off * off;
            part.products += off * before;
            part.bridge_squares += sum * sum;
            before = off;
        }
        part
    }

    /// The long-run variance from the sums over `parts` parts of `length` steps.
    ///
    /// The squared partial sums of L steps around their mean average noise x L / 6, whatever the correlation, but they
    /// miss a correlation that reaches over much of the part. If neighbours are correlated, the AR(1) form is used too,
    /// corrected for what L steps around their own mean hide: the correlation appears (1 + 4 r) / L too small (M. G.
    /// Kendall, Note on bias in the estimation of autocorrelation, 1954), the variance too small by that of the mean.
    /// The correlation is also raised by one standard error.
    fn noise(&self, parts: f64, length: f64) -> f64 {
        if self.squares <= 0.0 {
            return 0.0;
        }
        let of_sums = 6.0 * self.bridge_squares / (parts * length * length);
        let seen = self.products / self.squares;
        if seen <= 0.0 {
            return of_sums;
        }
        let unbiased = (seen + 1.0 / length) / (1.0 - 4.0 / length).max(0.2);
        let correlation = (unbiased + 1.0 / (parts * length).sqrt()).clamp(0.0, MOST_CORRELATED);
        let inflation = (1.0 + correlation) / (1.0 - correlation);
        let hidden = (inflation / length).min(0.7);
        of_sums.max(self.squares / (parts * length) / (1.0 - hidden) * inflation)
    }
}
