//! Finds the step at which the level of a series changed.
//!
//! The self-normalised change-point test of X. Shao and X. Zhang, Testing for change points in time series, 2010: it
//! compares the CUSUM at each place with the partial sums on both sides, so it needs neither the scatter nor the
//! correlation of the steps. Without a change it alarms in one of a thousand series of independent steps, and more
//! often if neighbouring steps are correlated: the test below counts the alarms.

/// Value of the statistic that one in a thousand series without a change exceeds (Shao and Zhang, table 1).
const ALARM: f64 = 121.9;
/// Share of the sum of a series that may be rounding error.
const ROUNDING: f64 = 1e-9;
/// Fewest steps on either side of a change.
const SIDE: usize = 5;

/// The step at which the level changed; `None` if no change is detected.
pub fn change_point(rates: &[f64]) -> Option<usize> {
    let sums = partial_sums(rates);
    let total = *sums.last()?;
    let count = rates.len() as f64;
    let mut most: Option<(f64, usize)> = None;
    for at in SIDE..=rates.len().saturating_sub(SIDE) {
        let distance = sums[at] - at as f64 / count * total;
        // A rounding error is not a distance. Two exact levels leave only rounding errors to normalise by.
        let rounding = ROUNDING * total.abs();
        if distance.abs() <= rounding {
            continue;
        }
        // Most places raise no alarm, and part of the normaliser is enough to show it.
        let enough = distance * distance * count / ALARM * (1.0 + ROUNDING);
        let Some(before) = bridge_squares(&sums[..=at], enough) else { continue };
        let Some(after) = bridge_squares(&sums[at..], enough) else { continue };
        let normaliser = before + after + rounding * rounding;
        let statistic = distance * distance * count / normaliser;
        if most.is_none_or(|(most, _)| statistic > most) {
            most = Some((statistic, at));
        }
    }
    most.filter(|(statistic, _)| *statistic > ALARM).map(|(_, at)| at)
}

/// Sums of the first 0, 1, 2, ... values.
fn partial_sums(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    std::iter::once(0.0)
        .chain(values.iter().map(|value| {
            sum += value;
            sum
        }))
        .collect()
}

/// Sums to square between two checks against `enough`.
const LOOK: usize = 8;

/// Sum of squared distances of a side's partial sums from the straight line between its ends; `None` as soon as it
/// reaches `enough`.
fn bridge_squares(sums: &[f64], enough: f64) -> Option<f64> {
    let first = sums[0];
    let last = sums[sums.len() - 1];
    let steps = (sums.len() - 1) as f64;
    let mut squares = 0.0;
    for (part, sums) in sums.chunks(LOOK).enumerate() {
        for (step, sum) in (part * LOOK..).zip(sums) {
            squares += (sum - first - step as f64 / steps * (last - first)).powi(2);
        }
        if squares > enough {
            return None;
        }
    }
    Some(squares)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::interval::tests::normal;

    fn correlated(correlation: f64, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
        let mut state = normal(random);
        let innovation = (1.0 - correlation * correlation).sqrt();
        let mut next = || {
            state = correlation * state + innovation * normal(random);
            100.0 + 10.0 * state
        };
        (0..100).map(|_| next()).collect()
    }

    /// 2,000 series each: the binomial margin at 95% is ±0.1% at 0.1%, ±0.5% at 1.5%.
    #[test]
    fn it_alarms_as_rarely_as_it_says() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        for (correlation, most) in [(0.0, 0.004), (0.5, 0.006), (0.8, 0.025)] {
            let trials = 2000;
            let alarms = (0..trials).filter(|_| change_point(&correlated(correlation, &mut random)).is_some()).count();
            let share = alarms as f64 / f64::from(trials);
            assert!(share <= most, "correlation {correlation}: {share}");
        }
    }

    #[test]
    fn it_finds_where_the_level_changed() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
        for correlation in [0.0, 0.5] {
            let found = (0..200).filter_map(|_| {
                let mut rates = correlated(correlation, &mut random);
                rates[60..].iter_mut().for_each(|rate| *rate /= 2.0);
                change_point(&rates)
            });
            let near = found.filter(|at| at.abs_diff(60) <= 3).count();
            assert!(near >= 190, "correlation {correlation}: {near} of 200");
        }
        assert_eq!(change_point(&[vec![2.0; 30], vec![1.0; 30]].concat()), Some(30));
        assert_eq!((change_point(&[1.0; 50]), change_point(&[])), (None, None));
    }
}
