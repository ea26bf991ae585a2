//! Finds where the level of a series changes, with a bound on false alarms over the whole series.
//!
//! The strongest contrast of two neighbouring stretches is looked for at every place, in windows of all sizes (seeded
//! intervals: S. Kovács, P. Bühlmann, H. Li, A. Munk, Seeded binary segmentation, 2023). Shuffling the values says how strong
//! a contrast of the same values is by chance: nothing is assumed of their distribution, only that without a change each
//! order is as likely. Where a change is found, both sides are searched in the same way, each with the share of the allowed
//! error that its length is of the whole (N. Meinshausen, Hierarchical testing of variable importance, 2008): a series
//! without changes has a false alarm at most as often as allowed, and so have all its stretches without changes together.
//!
//! Where the allowed error is smaller than shuffling can show, Gumbel's distribution of extremes, fitted to the shuffled
//! contrasts, continues their tail.

use std::f64::consts::PI;
use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::mean::{mean, median};
use halfpower_spec::InOrder;

/// Fewest values of a level: a single odd value is none.
pub(crate) const LEAST: usize = 3;
/// Smallest change of a logarithm that is told: 1%.
const SMALLEST: f64 = 0.01;
/// Values farther than this many standard deviations from the median count as that far.
const CLIP: f64 = 6.0;
/// Standard deviation of a normal distribution over its median absolute deviation.
const MAD: f64 = 1.4826;
/// Values from which the tail of the shuffled contrasts is that of extremes.
const LONG: usize = 30;
/// Shuffles of a long stretch, and the least and the most of a short one.
const SHUFFLES: usize = 199;
const MOST_SHUFFLES: usize = 9999;
/// Euler's constant, for the mean of Gumbel's distribution.
const EULER: f64 = 0.577_215_664_9;
/// Loss of twice the logarithm of the likelihood within which a place may be that of the change: 2 ln 20, for 95%.
const LIKELY: f64 = 5.99;

/// A change of the level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChangePoint {
    /// Index of the first value of the new level.
    pub at: usize,
    /// The places where it may be: indices of the first value of the new level.
    pub likely: Range<usize>,
    /// Probability of so strong a contrast by chance in this stretch, times the whole length over that of the stretch.
    pub chance: f64,
}

/// The changes in these values (logarithms, in order of time); without any change, one is found with a probability of
/// `error` at most.
pub(crate) fn change_points(values: &[f64], error: f64) -> Vec<ChangePoint> {
    // The same values always give the same changes.
    let mut random = Xoshiro256PlusPlus::seed_from_u64(values.len() as u64);
    let mut found: Vec<(usize, f64)> = Vec::new();
    let mut open: Vec<Range<usize>> = std::iter::once(0..values.len()).collect();
    while let Some(stretch) = open.pop() {
        if stretch.len() < 2 * LEAST {
            continue;
        }
        let share = stretch.len() as f64 / values.len() as f64;
        let Some((at, chance)) = strongest_change(&values[stretch.clone()], error * share, &mut random) else {
            continue;
        };
        let at = stretch.start + at;
        found.push((at, (chance / share).min(1.0)));
        open.push(stretch.start..at);
        open.push(at..stretch.end);
    }
    found.order_by_key(|(at, _)| *at);
    placed(values, &found)
}

/// The place of the strongest change in a stretch, and its chance, if that is at most `error`.
fn strongest_change(values: &[f64], error: f64, random: &mut Xoshiro256PlusPlus) -> Option<(usize, f64)> {
    let values = clipped(values);
    let mut windows = Windows::over(values.len());
    let strongest = windows.strongest(&values);
    if strongest.size() < SMALLEST {
        return None;
    }
    let chance = chance(&values, strongest.contrast, error, &mut windows, random);
    (chance <= error).then_some((strongest.at, chance))
}

/// The values without outliers, which would hide a change. What is clipped does not depend on the order.
fn clipped(values: &[f64]) -> Vec<f64> {
    let middle = median(values.to_vec());
    let reach = CLIP * MAD * median(values.iter().map(|value| (value - middle).abs()).collect());
    if reach == 0.0 {
        return values.to_vec();
    }
    values.iter().map(|value| value.clamp(middle - reach, middle + reach)).collect()
}

/// The contrast of the values before and after a place in a window.
#[derive(Debug, Clone, Copy)]
struct Contrast {
    /// Difference of the means times the root of the harmonic mean of both counts over 2: its noise is that of a value.
    contrast: f64,
    /// Index of the first value after the place.
    at: usize,
    /// Contrast of a difference of 1.
    of_one: f64,
}

impl Contrast {
    /// Difference of the means.
    fn size(&self) -> f64 {
        if self.of_one > 0.0 { self.contrast / self.of_one } else { 0.0 }
    }
}

/// Windows of all sizes over a stretch, each half as long as the size before.
struct Windows {
    sizes: Vec<WindowSize>,
    /// Sums of the values before each index.
    sums: Vec<f64>,
}

/// All windows of one length.
struct WindowSize {
    length: usize,
    starts: Vec<usize>,
    /// For each count of values before a place: the factor from the sum's excess to the contrast.
    factors: Vec<f64>,
}

impl Windows {
    fn over(length: usize) -> Self {
        let mut sizes = Vec::new();
        let mut size = length;
        while size >= 2 * LEAST {
            sizes.push(WindowSize::of(size, length));
            size /= 2;
        }
        Self { sizes, sums: vec![0.0; length + 1] }
    }

    /// The strongest contrast in any window.
    fn strongest(&mut self, values: &[f64]) -> Contrast {
        let center = mean(values);
        let mut sum = 0.0;
        for (of_sum, value) in self.sums[1..].iter_mut().zip(values) {
            sum += value - center;
            *of_sum = sum;
        }
        let mut strongest = Contrast { contrast: 0.0, at: 0, of_one: 0.0 };
        for size in &self.sizes {
            for start in &size.starts {
                size.look(*start, &self.sums, &mut strongest);
            }
        }
        strongest
    }
}

impl WindowSize {
    fn of(size: usize, length: usize) -> Self {
        let step = (size / 2).max(1);
        let mut starts: Vec<usize> = (0..=length - size).step_by(step).collect();
        if starts.last() != Some(&(length - size)) {
            starts.push(length - size);
        }
        let factor = |before: usize| (size as f64 / (before as f64 * (size - before) as f64)).sqrt();
        Self {
            length: size,
            starts,
            factors: (0..size).map(|before| if before == 0 { 0.0 } else { factor(before) }).collect(),
        }
    }

    /// Looks for a stronger contrast in the window from `start` on.
    fn look(&self, start: usize, sums: &[f64], strongest: &mut Contrast) {
        let window = &sums[start..=start + self.length];
        let first = window[0];
        let slope = (window[self.length] - first) / self.length as f64;
        let sums_and_factors = window[LEAST..].iter().zip(&self.factors[LEAST..]);
        for ((sum, factor), before) in sums_and_factors.zip(LEAST..=self.length - LEAST) {
            let contrast = (sum - first - slope * before as f64).abs() * factor;
            if contrast > strongest.contrast {
                *strongest = Contrast { contrast, at: start + before, of_one: 1.0 / factor };
            }
        }
    }
}

/// The probability of a contrast as strong as `observed` if the order of the values means nothing. Shuffling ends as soon as
/// it cannot be `error` or less any more.
fn chance(values: &[f64], observed: f64, error: f64, windows: &mut Windows, random: &mut Xoshiro256PlusPlus) -> f64 {
    let is_long = values.len() >= LONG;
    let needed = (2.0 / error).ceil().min(MOST_SHUFFLES as f64) as usize;
    let most = if is_long { SHUFFLES } else { needed.max(SHUFFLES) };
    let mut shuffled = values.to_vec();
    let mut by_chance = Vec::with_capacity(most);
    let mut beyond = 0;
    // Sums of the same values in another order differ in their last digits.
    let as_strong = observed * (1.0 - 1e-9);
    for _ in 0..most {
        shuffle(&mut shuffled, random);
        let contrast = windows.strongest(&shuffled).contrast;
        beyond += usize::from(contrast >= as_strong);
        let least = (beyond + 1) as f64 / (most + 1) as f64;
        if beyond > 0 && least > error {
            return least;
        }
        by_chance.push(contrast);
    }
    let counted = (beyond + 1) as f64 / (most + 1) as f64;
    if beyond > 0 || !is_long { counted } else { counted.min(tail(&by_chance, observed)) }
}

/// The probability of an extreme of at least `observed`, by Gumbel's distribution with mean and variance of these extremes.
fn tail(extremes: &[f64], observed: f64) -> f64 {
    let center = mean(extremes);
    let squares: f64 = extremes.iter().map(|extreme| (extreme - center).powi(2)).sum();
    let scale = (squares / (extremes.len() - 1) as f64).sqrt() * 6f64.sqrt() / PI;
    if scale == 0.0 {
        return 0.0;
    }
    let place = (observed - (center - EULER * scale)) / scale;
    -(-(-place).exp()).exp_m1()
}

/// Fisher and Yates' shuffle.
fn shuffle(values: &mut [f64], random: &mut Xoshiro256PlusPlus) {
    for last in (1..values.len()).rev() {
        values.swap(last, random.random_range(0..=last));
    }
}

/// The changes, each at its likeliest place between its neighbours, with all places that are nearly as likely.
fn placed(values: &[f64], found: &[(usize, f64)]) -> Vec<ChangePoint> {
    let mut places: Vec<usize> = found.iter().map(|(at, _)| *at).collect();
    let mut likely: Vec<Range<usize>> = Vec::new();
    for index in 0..places.len() {
        let from = if index == 0 { 0 } else { places[index - 1] };
        let to = places.get(index + 1).copied().unwrap_or(values.len());
        let (best, range) = place(&clipped(&values[from..to]), places[index] - from);
        places[index] = from + best;
        likely.push(from + range.start..from + range.end);
    }
    let chances = found.iter().map(|(_, chance)| *chance);
    let all = places.into_iter().zip(likely).zip(chances);
    all.map(|((at, likely), chance)| ChangePoint { at, likely, chance }).collect()
}

/// The likeliest place of a single change in these values, and the range of those that are nearly as likely; `known` if no
/// place is possible.
fn place(values: &[f64], known: usize) -> (usize, Range<usize>) {
    let count = values.len();
    let center = mean(values);
    let mut sum = 0.0;
    let mut gains: Vec<(usize, f64)> = Vec::new();
    for (at, value) in (1..).zip(values) {
        sum += value - center;
        if (LEAST..=count.saturating_sub(LEAST)).contains(&at) {
            let gain = sum * sum * count as f64 / (at as f64 * (count - at) as f64);
            gains.push((at, gain));
        }
    }
    let Some((best, most)) = gains.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1)) else {
        return (known, known..known + 1);
    };
    let squares: f64 = values.iter().map(|value| (value - center).powi(2)).sum();
    let left = (squares - most).max(0.0);
    // n ln of the residual squares is twice the loss of the logarithm of the likelihood.
    let is_likely = |gain: f64| {
        let other = (squares - gain).max(0.0);
        other <= left || (left > 0.0 && count as f64 * (other / left).ln() <= LIKELY)
    };
    let places: Vec<usize> = gains.iter().filter(|(_, gain)| is_likely(*gain)).map(|(at, _)| *at).collect();
    let first = places.first().copied().unwrap_or(best);
    let last = places.last().copied().unwrap_or(best);
    (best, first..last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::tests::normal;

    fn noise(count: usize, spread: f64, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
        (0..count).map(|_| spread * normal(random)).collect()
    }

    /// Kinds of noise without a change: normal, with outliers, with two speeds.
    const KINDS: [fn(usize, &mut Xoshiro256PlusPlus) -> Vec<f64>; 3] = [
        |count, random| noise(count, 0.03, random),
        |count, random| {
            noise(count, 0.03, random)
                .into_iter()
                .map(|value| if random.random_range(0..20) == 0 { 10.0 * value } else { value })
                .collect()
        },
        |count, random| {
            noise(count, 0.02, random)
                .into_iter()
                .map(|value| value + if random.random_range(0..2) == 0 { 0.6 } else { 0.0 })
                .collect()
        },
    ];

    /// Of 400, 5% are 20, and three standard deviations more are 33.
    #[test]
    fn series_without_a_change_give_an_alarm_as_often_as_said() {
        for (kind, draw) in KINDS.iter().enumerate() {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(35 + kind as u64);
            for count in [12, 40] {
                let alarms = (0..400).filter(|_| !change_points(&draw(count, &mut random), 0.05).is_empty()).count();
                assert!(alarms <= 33, "kind {kind}, {count} values: {alarms} of 400");
            }
        }
    }

    /// The allowed error of a whole history is divided by several figures, which shuffling alone cannot show.
    #[test]
    fn the_tail_of_the_shuffles_holds_small_errors() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let alarms = (0..400).filter(|_| !change_points(&noise(40, 0.03, &mut random), 0.002).is_empty()).count();
        assert!(alarms <= 4, "{alarms} of 400, and 0.8 are expected");
    }

    #[test]
    fn a_plain_change_is_found_at_its_place() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut values = noise(30, 0.01, &mut random);
        values[18..].iter_mut().for_each(|value| *value -= 0.1);
        let found = change_points(&values, 0.05);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].at == 18 && found[0].likely == (18..19) && found[0].chance <= 0.05, "{found:?}");
    }

    #[test]
    fn values_without_noise_have_their_place_too() {
        let steps: Vec<f64> = (0..20).map(|at| if at < 12 { 1.0 } else { 2.0 }).collect();
        let found = change_points(&steps, 0.05);
        assert_eq!(found.iter().map(|change| change.at).collect::<Vec<_>>(), [12]);
        assert!(change_points(&[1.0; 20], 0.05).is_empty());
        assert!(change_points(&[], 0.05).is_empty() && change_points(&[1.0, 9.0], 0.05).is_empty());
        let tiny: Vec<f64> = (0..20).map(|at| if at < 12 { 1.0 } else { 1.001 }).collect();
        assert!(change_points(&tiny, 0.05).is_empty(), "a tenth of a percent is nothing to tell");
    }

    #[test]
    fn a_level_that_lasts_a_short_time_is_found_on_both_sides() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut values = noise(120, 0.02, &mut random);
        values[60..68].iter_mut().for_each(|value| *value -= 0.15);
        let places: Vec<usize> = change_points(&values, 0.05).iter().map(|change| change.at).collect();
        assert_eq!(places, [60, 68]);
    }
}
