//! Finds whether requests complete in waves, and their rate between waves.
//!
//! A throttle that hands out slices of time (the kernel's control groups do, ten a second), or a drive that empties its
//! queue at once, completes many requests together and then none. A window that opens and closes at any time cuts such
//! waves: it is wrong by up to a wave at either end, and by what had been saved up for the first of them while nobody
//! asked. So the rate is counted from the end of a wave to the end of another one, between which each wave has its
//! whole time.

use halfpower_record::{Record, Series};

use crate::mean::{mean, some_mean};

/// Share of the steps that are empty, at least, where requests complete in waves.
const EMPTY: f64 = 1.0 / 3.0;
/// Requests that come together in one, at least, where waves come at any time, and where they come in time; fewer are
/// but a slow device.
const REQUESTS: f64 = 4.0;
const REQUESTS_REGULAR: f64 = 1.5;
/// Fewest whole waves that a rate is told from: so many where they come at any time, and where they come in time.
const FEWEST: usize = 9;
const FEWEST_REGULAR: usize = 4;
/// Fewest requests in them that a rate is told from: the whole window is known to one.
const FEWEST_REQUESTS: f64 = 24.0;
/// Fewest whole waves that are known to be some.
const FEWEST_SEEN: usize = 3;
/// Relative deviation of the time between waves up to which they come in time.
const REGULAR: f64 = 0.2;
/// Share of the window in which what was saved up before it may show.
const SAVED_UP: f64 = 0.1;
/// The gap that tells waves apart: half of the longest gaps, but for two of them, which may be stalls.
const STALLS: usize = 2;

/// Requests that complete together, again and again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waves {
    /// Time from one to the next, in nanoseconds.
    pub period_ns: u64,
    /// Bytes of one, on the average.
    pub bytes: f64,
    /// Whether they come in time, as where a limit hands out slices.
    pub regular: bool,
    /// The rate between the ends of the first and the last of them in MB/s; `None` where they are too few.
    pub mbps: Option<f64>,
    /// The time between these ends, in nanoseconds.
    pub lasts_ns: u64,
}

/// The waves that the requests of a run complete in; `None` where they come evenly, or too few waves are there to tell.
pub fn waves(record: &Record) -> Option<Waves> {
    waves_after(&record.series, 0, record.run.workload.bs.0)
}

/// Bytes of all steps; as a float, since what a file says may add up to more than an integer holds.
fn sum(steps: &[u64]) -> f64 {
    steps.iter().map(|bytes| *bytes as f64).sum()
}

/// The waves of requests of `block_bytes` after the first `cut` steps.
pub(crate) fn waves_after(series: &Series, cut: usize, block_bytes: u64) -> Option<Waves> {
    let steps = &series.bytes;
    let filled = steps.iter().filter(|bytes| **bytes > 0).count();
    let ends = ends(steps);
    let together = sum(steps) / ends.len().max(1) as f64 / block_bytes.max(1) as f64;
    if filled as f64 > (1.0 - EMPTY) * steps.len() as f64 {
        return None;
    }
    let opens = ((SAVED_UP * steps.len() as f64) as usize).max(cut);
    // The last wave may be one that the window's end has cut: nothing says that it was over.
    let (_, all_but_last) = ends.split_last()?;
    let whole: Vec<usize> = all_but_last.iter().copied().filter(|end| *end >= opens).collect();
    let (first, last) = (*whole.first()?, *whole.last()?);
    let regular = is_regular(&whole);
    let (waves, requests) = if regular { (FEWEST_SEEN, REQUESTS_REGULAR) } else { (FEWEST, REQUESTS) };
    if whole.len() < waves || together < requests {
        return None;
    }
    let moved = |end: usize| sum(&steps[first + 1..=end]);
    let points: Vec<(f64, f64)> = whole.iter().map(|end| (*end as f64, moved(*end))).collect();
    let bytes_per_step = slope(&points)?;
    let lasts_ns = ((last - first) as u64).saturating_mul(series.step_ns);
    let period_ns = lasts_ns / (whole.len() as u64 - 1);
    let many = whole.len() >= FEWEST_REGULAR && whole.len() as f64 * together >= FEWEST_REQUESTS;
    let mbps = many.then_some(bytes_per_step * 1e3 / series.step_ns as f64);
    let bytes = bytes_per_step * period_ns as f64 / series.step_ns as f64;
    Some(Waves { period_ns, bytes, regular, mbps, lasts_ns })
}

/// The last step of each wave: what follows it is a gap, and no hole within a wave.
fn ends(steps: &[u64]) -> Vec<usize> {
    let filled: Vec<usize> = (0..steps.len()).filter(|step| steps[*step] > 0).collect();
    let mut gaps: Vec<usize> = filled.windows(2).map(|pair| pair[1] - pair[0] - 1).filter(|gap| *gap > 0).collect();
    gaps.sort_unstable_by(|one, other| other.cmp(one));
    let longest = gaps.get(STALLS).or(gaps.last()).copied().unwrap_or(1);
    let least = longest.div_ceil(2);
    let is_end = |pair: &&[usize]| pair[1] - pair[0] > least;
    filled.windows(2).filter(is_end).map(|pair| pair[0]).chain(filled.last().copied()).collect()
}

/// Whether waves come as if by a clock.
fn is_regular(ends: &[usize]) -> bool {
    let times: Vec<f64> = ends.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let Some(usual) = some_mean(times.iter().copied()) else { return false };
    let square = mean(&times.iter().map(|time| (time - usual).powi(2)).collect::<Vec<_>>());
    square.sqrt() <= REGULAR * usual
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
    fn waves_of(phase: f64, saved_up: u64) -> Series {
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
            let series = waves_of(phase, saved_up);
            let plain = series.bytes.iter().sum::<u64>() as f64 / 3e6;
            let found = waves_after(&series, 0, 65_536).unwrap();
            let mbps = found.mbps.unwrap();
            assert!((mbps / truth - 1.0).abs() < 0.003, "{phase}, {saved_up}: {found:?}, plainly {plain}");
            assert!(found.regular && found.period_ns.abs_diff(100_000_000) < 2_000_000, "{found:?}");
        }
    }

    #[test]
    fn an_even_flow_and_a_slow_device_have_no_waves() {
        let even = Series { step_ns: STEP_NS, bytes: vec![WAVE; 100] };
        assert_eq!(waves_after(&even, 0, 65_536), None);
        assert_eq!(waves_after(&waves_of(0.0, 0), 0, WAVE), None, "single requests");
        assert_eq!(waves_after(&Series::default(), 0, 4096), None);
    }

    /// A window of so many nanoseconds in a hundred steps.
    fn short(window_ns: u64, phase_ns: u64, saved_up: u64) -> Series {
        let mut series = Series { step_ns: window_ns / 100, bytes: vec![0; 100] };
        for (number, at_ns) in (phase_ns..window_ns).step_by(100_000_000).enumerate() {
            series.bytes[(at_ns / series.step_ns) as usize] += WAVE * if number == 0 { 1 + saved_up } else { 1 };
        }
        series
    }

    #[test]
    fn seven_waves_tell_the_rate_and_four_that_there_are_waves() {
        let truth = WAVE as f64 * 10.0 / 1e6;
        for phase_ns in [0, 30_000_000, 90_000_000] {
            let series = short(700_000_000, phase_ns, 1);
            let found = waves_after(&series, 0, 65_536).unwrap();
            assert!((found.mbps.unwrap() / truth - 1.0).abs() < 0.02, "{phase_ns}: {found:?}");
        }
        let few = waves_after(&short(450_000_000, 40_000_000, 0), 0, 65_536).unwrap();
        assert!(few.regular && few.mbps.is_none(), "{few:?}");
        assert_eq!(waves_after(&short(200_000_000, 0, 0), 0, 65_536), None, "two waves may be anything");
    }

    #[test]
    fn a_hole_within_a_wave_ends_none() {
        let mut series = short(700_000_000, 0, 0);
        for step in (0..98).rev().filter(|step| series.bytes[*step] > 0).collect::<Vec<_>>() {
            series.bytes[step] /= 2;
            series.bytes[step + 2] += WAVE / 2;
        }
        let found = waves_after(&series, 0, 65_536).unwrap();
        assert!(found.regular && found.period_ns.abs_diff(100_000_000) < 2_000_000, "{found:?}");
    }
}
