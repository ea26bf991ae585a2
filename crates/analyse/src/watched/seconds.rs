//! Estimates figures over a watch, with intervals from its seconds.
//!
//! Neighbouring seconds are alike, so a t interval over single seconds would be too narrow. The seconds are put together to
//! at most twelve batches, and the interval is that of the batches' values (batch means: G. S. Fishman, Grouping observations
//! in digital simulation, 1978).

use halfpower_record::{Latency, WatchedSecond};

use crate::Interval;

/// Most batches.
const MOST_BATCHES: usize = 12;
/// Fewest batches with a value; with fewer there is no interval.
const FEWEST_BATCHES: usize = 3;

/// A figure of all seconds, with the 95% interval of its values over batches of them; `None` if they have none.
pub(super) fn over_seconds(
    seconds: &[WatchedSecond],
    of: impl Fn(&[WatchedSecond]) -> Option<f64>,
) -> Option<Interval> {
    let value = of(seconds).filter(|value| value.is_finite())?;
    let length = seconds.len().div_ceil(MOST_BATCHES).max(1);
    let mut batches: Vec<f64> = seconds.chunks_exact(length).filter_map(&of).collect();
    batches.retain(|value| value.is_finite());
    if batches.len() < FEWEST_BATCHES {
        return Some(Interval::exact(value));
    }
    let spread = Interval::of_means(&batches);
    let reach = (spread.high - spread.low) / 2.0;
    Some(Interval { value, low: (value - reach).max(0.0), high: value + reach })
}

/// Operations a second.
pub(super) fn rate(seconds: &[WatchedSecond], of: fn(&WatchedSecond) -> &Latency) -> Option<Interval> {
    over_seconds(seconds, |some| {
        let traced_ns: f64 = some.iter().map(|second| second.traced_ns as f64).sum();
        let count: f64 = some.iter().map(|second| of(second).count() as f64).sum();
        (traced_ns > 0.0).then(|| count / traced_ns * 1e9)
    })
}

/// Share of the time of all operations.
pub(super) fn time_share(seconds: &[WatchedSecond], of: fn(&WatchedSecond) -> &Latency) -> Option<Interval> {
    over_seconds(seconds, |some| {
        let own: f64 = some.iter().map(|second| of(second).sum_ns() as f64).sum();
        let all: f64 = some.iter().map(all_ns).sum();
        (all > 0.0).then(|| own / all)
    })
}

/// Decimal MB/s over seconds of which the last ends with the watch, before or after a second is over. Bytes are of the time that was traced; without
/// tracing, of all of it.
pub(super) fn mbps(seconds: &[WatchedSecond], span_ns: u64, of: fn(&WatchedSecond) -> u64) -> Option<Interval> {
    let is_traced = seconds.iter().any(|second| second.traced_ns > 0);
    let whole_ns = seconds.len() as f64 * 1e9;
    let of_cut = if is_traced || span_ns == 0 { 1.0 } else { whole_ns / span_ns as f64 };
    over_seconds(seconds, |some| {
        let traced_ns: f64 = some.iter().map(|second| second.traced_ns as f64).sum();
        let span_ns = if is_traced { traced_ns } else { some.len() as f64 * 1e9 };
        let bytes: f64 = some.iter().map(|second| of(second) as f64).sum();
        (span_ns > 0.0).then(|| bytes * 1e3 / span_ns * of_cut)
    })
}

/// Time of all operations that ended in a second.
fn all_ns(second: &WatchedSecond) -> f64 {
    second.reads.sum_ns() as f64 + second.writes.sum_ns() as f64 + second.syncs.sum_ns() as f64
}

/// `over / under` as independent errors.
pub(super) fn ratio(over: &Interval, under: &Interval) -> Interval {
    if under.value <= 0.0 {
        return Interval::exact(0.0);
    }
    let value = over.value / under.value;
    let reach = value * over.relative_reach().hypot(under.relative_reach());
    Interval { value, low: (value - reach).max(0.0), high: value + reach }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(reads: u64) -> WatchedSecond {
        let mut latency = Latency::default();
        (0..reads).for_each(|_| latency.add(100_000));
        WatchedSecond { traced_ns: 1_000_000_000, reads: latency, ..WatchedSecond::default() }
    }

    #[test]
    fn a_rate_has_the_interval_that_its_seconds_can_bear() {
        let seconds: Vec<WatchedSecond> = (0..48).map(|at| second(if at % 8 < 4 { 90 } else { 110 })).collect();
        let found = rate(&seconds, |second| &second.reads).unwrap();
        assert!((found.value - 100.0).abs() < 1e-9, "{found:?}");
        assert!(found.low < 95.0 && found.high > 105.0, "batches of four seconds differ by a fifth: {found:?}");
        let two = rate(&seconds[..2], |second| &second.reads).unwrap();
        assert!((two.value - 90.0).abs() < 1e-9 && two.low == two.high, "two seconds have no interval: {two:?}");
        assert_eq!(rate(&[], |second| &second.reads), None);
    }

    #[test]
    fn errors_of_a_quotient_are_combined() {
        let of = |value: f64, reach: f64| Interval { value, low: value - reach, high: value + reach };
        let found = ratio(&of(30.0, 0.9), &of(100.0, 4.0));
        assert!((found.value - 0.3).abs() < 1e-12 && (found.high - 0.315).abs() < 1e-9, "{found:?}");
        assert_eq!(ratio(&of(1.0, 0.0), &Interval::exact(0.0)), Interval::exact(0.0));
    }
}
