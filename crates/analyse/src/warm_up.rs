//! Finds the step from which a run had settled.
//!
//! MSER-5: of all starts that could be cut off, it chooses the one that leaves the mean of the rest best known (K. P.
//! White, An effective truncation heuristic for bias reduction in simulation output, 1997; in batches of five, K. P.
//! White, M. J. Cobb, S. C. Spratt, A comparison of five steady-state truncation heuristics for simulation, 2000). At
//! most half of the run is cut off: a run that has not settled by then counts as not settled.

use crate::mean::mean;

/// Steps in a batch.
const BATCH: usize = 5;

/// The step at which the series had settled: 0 if its start is like the rest, `None` if it had not settled by half of
/// its length.
pub(crate) fn settled_at(rates: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = rates.chunks_exact(BATCH).map(mean).collect();
    let last = batches.len() / 2;
    let errors = (0..=last).map(|cut| (cut, squared_error(&batches[cut..])));
    let least = errors.reduce(|least, next| if next.1 < least.1 { next } else { least });
    least.map(|(cut, _)| cut).filter(|cut| *cut == 0 || *cut < last).map(|cut| cut * BATCH)
}

/// Squared standard error of the mean, as MSER takes it: squares over count squared.
fn squared_error(batches: &[f64]) -> f64 {
    let level = mean(batches);
    batches.iter().map(|batch| (batch - level).powi(2)).sum::<f64>() / (batches.len() as f64).powi(2).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_cut_where_it_ends() {
        let wave = |step: usize| 100.0 + [3.0, -2.0, 0.0, 1.0, -2.0, 2.0, -1.0][step % 7];
        let slow_start: Vec<f64> = (0..100).map(|step| if step < 20 { 10.0 } else { wave(step) }).collect();
        assert_eq!(settled_at(&slow_start), Some(20));
        let exponential: Vec<f64> = (0..100).map(|step| wave(step) - 80.0 * (-(step as f64) / 8.0).exp()).collect();
        assert!(settled_at(&exponential).is_some_and(|at| (20..=45).contains(&at)), "{:?}", settled_at(&exponential));
    }

    #[test]
    fn what_has_not_settled_by_half_has_not_settled() {
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(settled_at(&ramp), None);
        assert_eq!((settled_at(&[]), settled_at(&[1.0; 100])), (Some(0), Some(0)));
    }
}
