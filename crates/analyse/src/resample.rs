//! Computes the 95% interval of a value derived from the runs of many cells.
//!
//! A bootstrap over runs (B. Efron, Bootstrap methods: another look at the jackknife, 1979). Cells have few runs, so
//! each cell draws one run fewer than it has, which gives its mean the right variance (J. N. K. Rao, C. F. J. Wu,
//! Resampling inference with complex survey data, 1988); the interval uses the quantiles of the normal distribution
//! that correspond to Student's t (T. Hesterberg, What teachers should know about the bootstrap, 2015).

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::interval::t95;

/// Fewest runs of each cell: fewer give too few different draws.
pub(crate) const FEWEST_RUNS: usize = 5;
/// Number of draws.
const DRAWS: usize = 2000;
/// Seed of the draws: the same records always give the same interval.
const SEED: u64 = 1998;

/// The 95% interval of `value(means)`, where `means` are the means of `cells`, given by their runs.
///
/// `None` if a cell has fewer than five runs, or if more than one draw in twenty gives no value.
pub(crate) fn interval(cells: &[&[f64]], value: impl Fn(&[f64]) -> Option<f64>) -> Option<(f64, f64)> {
    let fewest = cells.iter().map(|runs| runs.len()).min().filter(|fewest| *fewest >= FEWEST_RUNS)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut means = vec![0.0; cells.len()];
    let mut values = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        for (mean, runs) in means.iter_mut().zip(cells) {
            let drawn = runs.len() - 1;
            *mean = (0..drawn).map(|_| runs[random.random_range(0..runs.len())]).sum::<f64>() / drawn as f64;
        }
        values.extend(value(&means).filter(|value| value.is_finite()));
    }
    if values.len() < DRAWS - DRAWS / 20 {
        return None;
    }
    values.sort_by(f64::total_cmp);
    // The value depends on some cells more than on others: use half of all degrees of freedom, but at least those of
    // one cell.
    let freedom = (fewest - 1).max((fewest - 1) * cells.len() / 2);
    let tail = Normal::standard().cdf(-t95(freedom));
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    Some((at(tail), at(1.0 - tail)))
}
