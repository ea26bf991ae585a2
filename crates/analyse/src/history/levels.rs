//! Describes the levels of a figure: the median with its interval, and two speeds.

use super::found::{FigureLevel, FigurePoint, TwoSpeeds};
use crate::mean::median;
use crate::order::{ranks, two_groups};

/// Fewest studies of which two speeds are told.
const FEWEST_OF_TWO: usize = 8;

/// The level of these points, at least one, in order of time.
pub(crate) fn level(points: &[FigurePoint]) -> FigureLevel {
    let mut values: Vec<f64> = points.iter().map(|point| point.value).collect();
    values.sort_by(f64::total_cmp);
    let ranks = ranks(values.len());
    FigureLevel {
        first: points.first().map_or(0, |point| point.study),
        last: points.last().map_or(0, |point| point.study),
        studies: points.len(),
        low: ranks.map(|(rank, _)| values[rank - 1]),
        high: ranks.map(|(rank, _)| values[values.len() - rank]),
        coverage: ranks.map(|(_, coverage)| coverage),
        median: median(values),
    }
}

/// The two speeds of these points, if they have two: a gap that is wider than either group, and no small one.
pub(crate) fn two_speeds(points: &[FigurePoint]) -> Option<TwoSpeeds> {
    if points.len() < FEWEST_OF_TWO {
        return None;
    }
    let mut values: Vec<f64> = points.iter().map(|point| point.value).collect();
    values.sort_by(f64::total_cmp);
    let (lower, higher) = two_groups(&values)?;
    Some(TwoSpeeds {
        lower: median(lower.to_vec()),
        lower_studies: lower.len(),
        higher: median(higher.to_vec()),
        higher_studies: higher.len(),
    })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::interval::tests::normal;

    fn points(values: impl IntoIterator<Item = f64>) -> Vec<FigurePoint> {
        let point = |(study, value)| FigurePoint { study, value, low: None, high: None };
        values.into_iter().enumerate().map(point).collect()
    }

    #[test]
    fn the_median_has_an_interval_from_six_studies_on() {
        let (rank, coverage) = ranks(6).unwrap();
        assert!(rank == 1 && (coverage - 0.96875).abs() < 1e-9, "{rank}, {coverage}");
        assert_eq!(ranks(5), None);
        assert_eq!(ranks(0), None);
        let (rank, coverage) = ranks(100).unwrap();
        assert!(rank == 40 && (0.95..0.97).contains(&coverage), "{rank}, {coverage}");
        assert!(ranks(5000).is_some());
        let of_six = level(&points([3.0, 1.0, 2.0, 6.0, 5.0, 4.0]));
        assert_eq!((of_six.median, of_six.low, of_six.high), (3.5, Some(1.0), Some(6.0)));
        assert_eq!(level(&points([1.0, 2.0, 3.0])).low, None);
    }

    #[test]
    fn two_speeds_are_told_apart_from_one() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let mut speed = |at: usize| {
            let level = if at % 5 < 3 { 174_463.0 } else { 92_044.0 };
            level * (0.02 * normal(&mut random)).exp()
        };
        let of_two: Vec<f64> = (0..12).map(&mut speed).collect();
        let found = two_speeds(&points(of_two)).unwrap();
        assert_eq!((found.lower_studies, found.higher_studies), (4, 8));
        assert!((found.lower / 92_044.0 - 1.0).abs() < 0.05 && (found.higher / 174_463.0 - 1.0).abs() < 0.05);
        let mistaken = (0..400).filter(|_| {
            let count = random.random_range(8..30);
            two_speeds(&points((0..count).map(|_| (0.1 * normal(&mut random)).exp()))).is_some()
        });
        let mistaken = mistaken.count();
        assert!(mistaken <= 8, "{mistaken} of 400 with one speed");
    }
}
