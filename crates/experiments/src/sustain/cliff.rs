//! Finds where the rate of writes fell, in bytes written, with its interval, and the rates on both sides.
//!
//! Input: the time series of one run, or of runs one after the other. The steps are cut into parts of equal bytes, so
//! that a fast part has as many of them as it has bytes, however soon it is over. Whether the rate changed is the
//! change-point test of the analysis, on the logarithms of the parts' rates; where it changed is the least-squares fit
//! of two levels. A fast part that is too small for that shows in a finer cut of the beginning.
//!
//! The interval of the place holds all places whose squared error exceeds the least one by at most 7.35 times the
//! variance (the 95% region of B. E. Hansen, Sample splitting and threshold estimation, 2000), and one part and one step
//! beyond them on either side, within which a place cannot be told. Neighbouring parts may be alike, so the variance is
//! multiplied by (1 + r) / (1 - r) for a lag-1 correlation of r.

use halfpower_analyse::{Interval, change_point, mean};
use halfpower_record::Record;

/// Most parts of a series, and the fewest that tell anything.
const PARTS: usize = 200;
const FEWEST: usize = 25;
/// Fewest blocks of a part: a part of fewer shows single blocks.
const BLOCKS: f64 = 4.0;
/// Shares of the bytes that are cut into parts, from the beginning.
const SCALES: [f64; 3] = [1.0, 1.0 / 8.0, 1.0 / 64.0];
/// Fewest parts on either side of a fall.
const SIDE: usize = 5;
/// Smallest ratio of two rates that counts as a change.
const CHANGE: f64 = 1.1;
/// Critical value of the region of places.
const CRITICAL: f64 = 7.35;
/// Largest correlation that is believed.
const MOST_CORRELATION: f64 = 0.9;
/// Parts of a rate whose means make its interval.
const BATCHES: usize = 10;
/// Most further changes of the rate after a fall.
const FURTHER: usize = 3;

/// What writes showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WriteRates {
    /// The faster beginning; `None` if the rate did not fall.
    pub fast: Option<FastSeen>,
    /// The rate after it, or of all, at the end.
    pub mbps: Interval,
    /// Whether that rate went on without further changes.
    pub settled: bool,
}

/// A faster beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FastSeen {
    /// Bytes until the rate fell.
    pub bytes: Interval,
    /// Rate until then, in MB/s.
    pub mbps: Interval,
    /// Time until then, in seconds.
    pub lasts_s: f64,
}

/// Where the rate of a run fell at the latest, in bytes; `None` if it did not.
pub fn cliff_bytes(record: &Record) -> Option<f64> {
    write_rates(&[record])?.fast.map(|fast| fast.bytes.high)
}

/// What these runs showed, one after the other; `None` if they moved too little to tell.
pub(super) fn write_rates(runs: &[&Record]) -> Option<WriteRates> {
    let whole = EqualParts::of(runs, 1.0)?;
    let without = || {
        let (mbps, settled) = whole.last_rate(0);
        Some(WriteRates { fast: None, mbps, settled })
    };
    let Some((fall, parts)) = first_fall(runs) else { return without() };
    let bytes = parts.place(&fall);
    let mbps = parts.rate(&parts.ns[..fall.low.saturating_sub(1).max(1)]);
    let lasts_s = parts.ns[..fall.at].iter().sum::<f64>() / 1e9;
    let beyond = (bytes.high / whole.bytes).ceil() as usize;
    let (last_mbps, settled) = whole.last_rate(beyond.min(whole.ns.len() - 1));
    // A rate that comes back by itself did not fall because something was full.
    if mbps.value < CHANGE * last_mbps.value {
        return without();
    }
    Some(WriteRates { fast: Some(FastSeen { bytes, mbps, lasts_s }), mbps: last_mbps, settled })
}

/// The fall, and the cut that shows it best: one in the first parts of a cut is looked for in a finer one.
fn first_fall(runs: &[&Record]) -> Option<(Fall, EqualParts)> {
    let mut found: Option<(Fall, EqualParts)> = None;
    for share in SCALES {
        let Some(parts) = EqualParts::of(runs, share) else { break };
        match parts.fall() {
            Some(fall) if fall.low > 2 * SIDE => return Some((fall, parts)),
            Some(fall) => found = Some((fall, parts)),
            None if found.is_some() => break,
            None => {}
        }
    }
    found
}

/// Writes in parts of equal bytes.
#[derive(Debug, Clone)]
pub(super) struct EqualParts {
    /// Bytes of a part.
    bytes: f64,
    /// Bytes of the fullest step: what happens within a step cannot be told.
    step_bytes: f64,
    /// Time that each part took, in nanoseconds.
    ns: Vec<f64>,
}

/// A fall of the rate: after `at` parts, from `low` to `high` of them.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fall {
    low: usize,
    at: usize,
    high: usize,
}

impl EqualParts {
    /// The first `share` of the bytes of these runs; `None` if there are too few parts.
    pub fn of(runs: &[&Record], share: f64) -> Option<Self> {
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for run in runs {
            let step_ns = run.series.step_ns as f64;
            steps.extend(run.series.bytes.iter().map(|bytes| (*bytes as f64, step_ns)));
        }
        let total = share * steps.iter().map(|(bytes, _)| bytes).sum::<f64>();
        let mut moved = 0.0;
        let is_last = |(bytes, _): &(f64, f64)| {
            moved += bytes;
            moved >= total
        };
        let within = steps.iter().position(is_last).map_or(steps.len(), |at| at + 1);
        steps.truncate(within);
        let block = runs.iter().map(|run| run.run.workload.bs.0).max()?.max(1) as f64;
        let moving = steps.iter().filter(|(bytes, _)| *bytes > 0.0).count();
        let count = PARTS.min(moving).min((total / block / BLOCKS) as usize);
        let step_bytes = steps.iter().map(|(bytes, _)| *bytes).fold(0.0, f64::max);
        let bytes = total / count.max(1) as f64;
        (count >= FEWEST).then(|| Self { bytes, step_bytes, ns: times(&steps, bytes, count) })
    }

    /// The largest fall of the rate; `None` if it did not change, or rose.
    fn fall(&self) -> Option<Fall> {
        let logs = self.logs();
        change_point(&logs)?;
        let errors = errors_of_two_levels(&logs);
        let (best, least) = errors.iter().copied().enumerate().min_by(|one, other| one.1.total_cmp(&other.1))?;
        let at = SIDE + best;
        let (before, after) = logs.split_at(at);
        let fast = mean(before);
        let slow = mean(after);
        if fast - slow < CHANGE.ln() {
            return None;
        }
        let left: Vec<f64> = before.iter().map(|log| log - fast).chain(after.iter().map(|log| log - slow)).collect();
        let variance = least / (logs.len() - 2) as f64 * inflation(&left);
        let may_be_it = |error: &f64| error - least <= CRITICAL * variance;
        let low = SIDE + errors.iter().position(may_be_it)?;
        let high = SIDE + errors.iter().rposition(may_be_it)?;
        Some(Fall { low, at, high })
    }

    /// Logarithms of the parts' rates. In bytes a second they are far from 0, by which the test of a change scales
    /// rounding errors.
    fn logs(&self) -> Vec<f64> {
        self.ns.iter().map(|ns| (self.bytes * 1e9 / ns).ln()).collect()
    }

    /// The bytes at which the rate fell.
    fn place(&self, fall: &Fall) -> Interval {
        let within = self.bytes + self.step_bytes;
        let count = self.ns.len();
        // No fall is looked for nearer to the ends than in these parts.
        let low = if fall.low <= SIDE { 0.0 } else { fall.low as f64 * self.bytes - within };
        let high =
            if fall.high + SIDE >= count { count as f64 * self.bytes } else { fall.high as f64 * self.bytes + within };
        Interval { value: fall.at as f64 * self.bytes, low: low.max(0.0), high }
    }

    /// The rate of these parts in MB/s, with the t interval over ten batches of them.
    fn rate(&self, parts: &[f64]) -> Interval {
        let batch = parts.len().div_ceil(BATCHES).max(1);
        let ns = Interval::of_means(&parts.chunks_exact(batch).map(mean).collect::<Vec<_>>());
        let mbps = |ns: f64| self.bytes * 1e3 / ns;
        let least_ns = parts.iter().copied().fold(f64::INFINITY, f64::min);
        let value = mbps(mean(parts));
        Interval { value, low: mbps(ns.high).min(value), high: mbps(ns.low.max(least_ns)).max(value) }
    }

    /// The rate from part `from` on, after its last change, and whether there was none.
    fn last_rate(&self, from: usize) -> (Interval, bool) {
        let mut rest = &self.ns[from..];
        let mut settled = true;
        for _ in 0..FURTHER {
            let logs: Vec<f64> = rest.iter().map(|ns| ns.ln()).collect();
            let Some(at) = change_point(&logs) else { break };
            if (mean(&logs[..at]) - mean(&logs[at..])).abs() < CHANGE.ln() {
                break;
            }
            rest = &rest[at..];
            settled = false;
        }
        (self.rate(rest), settled)
    }

    /// At most `most` points: bytes written, and the rate in MB/s around them.
    pub fn points(&self, most: usize) -> Vec<(f64, f64)> {
        let group = self.ns.len().div_ceil(most).max(1);
        let point = |(place, ns): (usize, &[f64])| {
            let bytes = (place as f64 + 0.5) * group as f64 * self.bytes;
            (bytes, self.bytes * 1e3 / mean(ns))
        };
        self.ns.chunks_exact(group).enumerate().map(point).collect()
    }
}

/// Time of each of `count` parts of `part` bytes, in nanoseconds; within a step the bytes come evenly.
fn times(steps: &[(f64, f64)], part: f64, count: usize) -> Vec<f64> {
    let mut times = Vec::with_capacity(count);
    let mut filled = 0.0;
    let mut spent_ns = 0.0;
    for (bytes, step_ns) in steps {
        let mut left = *bytes;
        let mut left_ns = *step_ns;
        while left > 0.0 && filled + left >= part && times.len() < count {
            let taken_ns = left_ns * (part - filled) / left;
            times.push(spent_ns + taken_ns);
            left -= part - filled;
            left_ns -= taken_ns;
            filled = 0.0;
            spent_ns = 0.0;
        }
        filled += left.max(0.0);
        spent_ns += left_ns.max(0.0);
    }
    // Rounding may have left the last part a little short.
    if times.len() < count {
        times.push(spent_ns);
    }
    times.into_iter().map(|ns| ns.max(1.0)).collect()
}

/// The squared error of two levels that change after 5, 6, ... values, until 5 are left.
fn errors_of_two_levels(values: &[f64]) -> Vec<f64> {
    let level = mean(values);
    let squares: f64 = values.iter().map(|value| (value - level).powi(2)).sum();
    let mut sum = values[..SIDE].iter().map(|value| value - level).sum::<f64>();
    let mut errors = Vec::with_capacity(values.len());
    for at in SIDE..=values.len() - SIDE {
        let before = at as f64;
        let after = (values.len() - at) as f64;
        // All values around their mean sum up to 0, so both sides have the same sum but for its sign.
        errors.push((squares - sum * sum * (1.0 / before + 1.0 / after)).max(0.0));
        sum += values[at] - level;
    }
    errors
}

/// Factor by which neighbours that are alike raise the variance of a sum.
fn inflation(left: &[f64]) -> f64 {
    let products: f64 = left.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let squares: f64 = left.iter().map(|value| value * value).sum();
    let correlation = if squares > 0.0 { (products / squares).clamp(0.0, MOST_CORRELATION) } else { 0.0 };
    (1.0 + correlation) / (1.0 - correlation)
}

#[cfg(test)]
mod tests {
    use halfpower_record::Series;
    use halfpower_spec::{Cache, Rw};

    use super::*;
    use crate::built::{disk, run, workload};

    /// Writes of 1 MiB, eight deep, for this long, to a path that has rested.
    fn written(constants: &str, seconds: f64, seed: u64) -> Record {
        run(&disk(constants), workload(Rw::Write, Cache::Device, 1024, 8), (seconds * 1e9) as u64, seed, &|_| 1.0)
    }

    /// Forty disks each, whose requests vary: at most four intervals may miss.
    #[test]
    fn the_place_lies_in_its_interval_and_so_do_the_rates() {
        for (size_mb, sustained, jitter) in [(400.0, 200.0, 0.0), (1000.0, 100.0, 0.3), (600.0, 700.0, 0.1)] {
            let constants = format!(
                "fixed=0us,rate=1GB/s,fast_part={size_mb}MB,sustained={sustained}MB/s,jitter={jitter},correlation=0.3,size=64GiB"
            );
            let mut missed = [0; 2];
            for seed in 1..=40 {
                let record = written(&constants, 6.0, seed);
                let found = write_rates(&[&record]).unwrap();
                let fast = found.fast.unwrap_or_else(|| panic!("{constants}: {found:?}"));
                let holds = |interval: Interval, truth: f64| interval.low <= truth && truth <= interval.high;
                missed[0] += usize::from(!holds(fast.bytes, size_mb * 1e6));
                missed[1] += usize::from((found.mbps.value / sustained - 1.0).abs() > 0.02);
                assert!((fast.bytes.value / (size_mb * 1e6) - 1.0).abs() < 0.1, "{constants}: {fast:?}");
                assert!((fast.mbps.value / 1000.0 - 1.0).abs() < 0.1, "{constants}: {fast:?}");
                assert!(cliff_bytes(&record).is_some_and(|bytes| bytes >= fast.bytes.value));
            }
            assert!(missed.iter().all(|missed| *missed <= 4), "{constants}: {missed:?}");
        }
    }

    #[test]
    fn a_fast_part_that_is_a_small_share_of_the_bytes_shows_in_a_finer_cut() {
        let mut record = written("fixed=0us,rate=1GB/s", 0.1, 1);
        let bytes = [vec![10_000_000; 6], vec![5_000_000; 2000]].concat();
        record.series = Series { step_ns: 10_000_000, bytes };
        let found = write_rates(&[&record]).unwrap();
        let fast = found.fast.unwrap();
        assert!(fast.bytes.low <= 60e6 && 60e6 <= fast.bytes.high && fast.bytes.high < 100e6, "{fast:?}");
        assert!((found.mbps.value / 500.0 - 1.0).abs() < 0.02 && found.settled, "{found:?}");
    }

    #[test]
    fn a_rate_that_comes_back_by_itself_is_no_fast_part() {
        let mut record = written("fixed=0us,rate=1GB/s", 0.1, 1);
        let stalled = [vec![5_000_000; 60], vec![2_500_000; 60], vec![5_000_000; 1500]].concat();
        record.series = Series { step_ns: 10_000_000, bytes: stalled };
        assert_eq!(write_rates(&[&record]).unwrap().fast, None);
    }

    #[test]
    fn one_pace_has_no_cliff_and_few_writes_tell_nothing() {
        for seed in 1..=40 {
            let record = written("fixed=0us,rate=500MB/s,jitter=0.1,correlation=0.3,size=64GiB", 4.0, seed);
            let found = write_rates(&[&record]).unwrap();
            assert_eq!(found.fast, None);
            assert!((found.mbps.value / 500.0 - 1.0).abs() < 0.05, "{found:?}");
        }
        assert_eq!(write_rates(&[&written("fixed=0us,rate=500MB/s", 0.02, 1)]), None);
    }

    #[test]
    fn runs_that_go_on_are_one_series() {
        let constants = "fixed=0us,rate=1GB/s,fast_part=4GB,sustained=200MB/s,size=64GiB";
        let all = written(constants, 8.0, 1);
        let mut first = all.clone();
        let mut second = all.clone();
        second.series.bytes = first.series.bytes.split_off(30);
        let joined = write_rates(&[&first, &second]).unwrap();
        assert_eq!(joined, write_rates(&[&all]).unwrap());
        assert!(joined.fast.is_some_and(|fast| fast.bytes.low <= 4e9 && 4e9 <= fast.bytes.high), "{joined:?}");
    }
}
