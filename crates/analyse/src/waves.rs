//! Finds whether requests complete in waves, and their rate between waves.
//!
//! A throttle that hands out slices of time (the kernel's control groups do, ten a second), or a drive that empties its
//! queue at once, completes many requests together and then none. A window that opens and closes at any time cuts such
//! waves: it is wrong by up to a wave at either end, and by what had been saved up for the first of them while nobody
//! asked. So the rate is counted from the end of a wave to the end of another one, between which each wave has its
//! whole time.

use halfpower_record::Series;

use crate::mean::some_mean;

/// Share of the steps that are empty, at least, where requests complete in waves.
const EMPTY: f64 = 1.0 / 3.0;
/// Requests that come together in one, at least; fewer are but a slow device.
const REQUESTS: f64 = 4.0;
/// Fewest waves that a rate is told from.
const FEWEST: usize = 10;
/// Share of the window in which what was saved up before it may show.
const SAVED_UP: f64 = 0.1;

/// The part of a series between the ends of two waves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BetweenWaves {
    /// Rate within it in MB/s.
    pub mbps: f64,
    /// Its time, in nanoseconds.
    pub lasts_ns: u64,
}

/// Bytes of all steps; as a float, since what a file says may add up to more than an integer holds.
fn sum(steps: &[u64]) -> f64 {
    steps.iter().map(|bytes| *bytes as f64).sum()
}

/// The rate between waves of requests of `block_bytes`; `None` where they do not come in waves.
pub(crate) fn between_waves(series: &Series, block_bytes: u64) -> Option<BetweenWaves> {
    let steps = &series.bytes;
    let filled = steps.iter().filter(|bytes| **bytes > 0).count();
    let is_end = |step: &usize| steps[*step] > 0 && steps.get(step + 1).is_none_or(|next| *next == 0);
    let ends: Vec<usize> = (0..steps.len()).filter(is_end).collect();
    let together = sum(steps) / ends.len().max(1) as f64 / block_bytes.max(1) as f64;
    if filled as f64 > (1.0 - EMPTY) * steps.len() as f64 || ends.len() < FEWEST || together < REQUESTS {
        return None;
    }
    let opens = (SAVED_UP * steps.len() as f64) as usize;
    // The last wave may be one that the window's end has cut: nothing says that it was over.
    let whole: Vec<usize> = ends[..ends.len() - 1].iter().copied().filter(|end| *end >= opens).collect();
    let (first, last) = (*whole.first()?, *whole.last()?);
    let moved = |end: usize| sum(&steps[first + 1..=end]);
    let bytes_per_step = slope(&whole.iter().map(|end| (*end as f64, moved(*end))).collect::<Vec<_>>())?;
    let lasts_ns = ((last - first) as u64).saturating_mul(series.step_ns);
    Some(BetweenWaves { mbps: bytes_per_step * 1e3 / series.step_ns as f64, lasts_ns })
}

/// The slope of the line of least squares through points; `None` where they do not span any.
///
/// All ends of waves count, not the first and last alone: each is known to a step, and so many are off by less.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let (x_mean, y_mean) =
        (some_mean(points.iter().map(|point| point.0))?, some_mean(points.iter().map(|point| point.1))?);
    let square: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    let product: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    (square > 0.0 && product > 0.0).then(|| product / square)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP_NS: u64 = 30_000_000;
    const WAVE: u64 = 4_194_304;

    /// Three seconds of waves, a tenth of a second apart, the first of them after `phase` seconds and with so many
    /// saved up.
    fn waves(phase: f64, saved_up: u64) -> Series {
        let mut bytes = vec![0; 100];
        for wave in 0..30 {
            let step = ((phase + 0.1 * f64::from(wave)) * 1e9 / STEP_NS as f64) as usize;
            if let Some(bytes) = bytes.get_mut(step) {
                *bytes += WAVE * if wave == 0 { 1 + saved_up } else { 1 };
            }
        }
        Series { step_ns: STEP_NS, bytes }
    }

    #[test]
    fn neither_the_edges_of_the_window_nor_what_was_saved_up_count() {
        let truth = WAVE as f64 * 10.0 / 1e6;
        for (phase, saved_up) in [(0.0, 0), (0.0, 1), (0.005, 2), (0.05, 0), (0.099, 1)] {
            let series = waves(phase, saved_up);
            let plain = series.bytes.iter().sum::<u64>() as f64 / 3e6;
            let found = between_waves(&series, 65_536).unwrap();
            assert!((found.mbps / truth - 1.0).abs() < 0.003, "{phase}, {saved_up}: {found:?}, plainly {plain}");
        }
    }

    #[test]
    fn an_even_flow_and_a_slow_device_have_no_waves() {
        let even = Series { step_ns: STEP_NS, bytes: vec![WAVE; 100] };
        assert_eq!(between_waves(&even, 65_536), None);
        assert_eq!(between_waves(&waves(0.0, 0), WAVE), None, "single requests");
        assert_eq!(between_waves(&Series::default(), 4096), None);
    }
}
