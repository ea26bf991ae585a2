//! Holds the application's reads against single requests that the watch sent while the disk had nothing else to do.
//!
//! That tells what a wait is, and no ceiling: one request alone takes what the device takes. Where the application's take as
//! long, their time is the device's own; where they take much longer, they wait behind others, or behind each other.

use halfpower_record::{Latency, OperationKind, Operations, SafeProbe, Watched};
use halfpower_spec::Pattern;

use super::groups::{Gathered, pattern, size};
use super::parts::{AloneReading, OperationGroup, WatchAlone, WatchProbe, WatchProbed};
use super::thresholds::{FEWEST_OPERATIONS, SLOWED, STANDS_FOR_ALL};
use crate::Interval;

/// Share of reads that may be answered by memory: beyond it, little is known of the rest.
const MOST_CACHED: f64 = 0.5;
/// Half of a 95% interval of a median, in ranks, is this times the root of the number (normal approximation of the binomial).
const HALF_RANKS: f64 = 0.98;

/// What a probe gave.
pub(super) fn probe(watched: &Watched) -> Option<WatchProbe> {
    let SafeProbe { place, of_own_file, requests, latency, stopped } = watched.probe.as_ref()?;
    let of_size = |(size_bytes, latency): &(u64, Latency)| WatchProbed {
        size_bytes: *size_bytes,
        count: latency.count(),
        latency_ns_p50: latency.quantile_ns(0.5),
        latency_ns_p99: latency.quantile_ns(0.99),
    };
    Some(WatchProbe {
        place: *place,
        of_own_file: *of_own_file,
        requests: *requests,
        sizes: latency.iter().map(of_size).collect(),
        stopped: *stopped,
    })
}

/// The reads of a group against requests of their size alone; `None` if they differ in kind, size, place or order, or if too
/// few of either are known.
pub(super) fn alone(group: &Gathered<'_>, watched: &Watched) -> Option<WatchAlone> {
    let probe = watched.probe.as_ref()?;
    let one = group.largest().filter(|_| group.group == OperationGroup::Reads)?;
    let stands_for_all = one.count as f64 >= STANDS_FOR_ALL * group.count as f64;
    if !stands_for_all || !is_like_a_probe(one, probe.place) {
        return None;
    }
    let (size_bytes, _) = size(one).filter(|(_, is_one)| *is_one)?;
    let (size_bytes, alone) = probe.latency.iter().find(|(probed, _)| *probed as f64 == size_bytes)?;
    let cached_share = one.cached as f64 / one.count.max(1) as f64;
    let from_disk = one.count.saturating_sub(one.cached);
    if alone.count() < FEWEST_OPERATIONS || from_disk < FEWEST_OPERATIONS || cached_share > MOST_CACHED {
        return None;
    }
    let [alone_low, alone_ns_p50, alone_high] = median(alone, 0.0, alone.count());
    let [own_low, own_ns_p50, own_high] = median(&one.latency, cached_share, from_disk);
    let ratio = |own: u64, alone: u64| own as f64 / alone.max(1) as f64;
    let times = Interval {
        value: ratio(own_ns_p50, alone_ns_p50),
        low: ratio(own_low, alone_high),
        high: ratio(own_high, alone_low),
    };
    Some(WatchAlone {
        size_bytes: *size_bytes,
        requests: alone.count(),
        alone_ns_p50,
        own_ns_p50,
        times,
        reading: reading(&times, probe.of_own_file),
    })
}

/// Whether these are reads at random of the place that was probed: others are read ahead, or lie elsewhere.
fn is_like_a_probe(one: &Operations, place: usize) -> bool {
    one.kind == OperationKind::Read && one.place == Some(place) && pattern(one) == Some(Pattern::Random)
}

/// The median of the latencies without the share of the shortest, which memory answered, between the ends of its interval.
fn median(latency: &Latency, without_share: f64, count: u64) -> [u64; 3] {
    let reach = HALF_RANKS / (count.max(1) as f64).sqrt();
    [0.5 - reach, 0.5, 0.5 + reach].map(|at: f64| {
        let at = at.clamp(0.0, 1.0);
        latency.quantile_ns(without_share + (1.0 - without_share) * at)
    })
}

/// What the ratio tells. Parts of a disk that nobody uses may be answered without the medium, so only a file tells anything.
fn reading(times: &Interval, of_own_file: bool) -> AloneReading {
    match times {
        _ if !of_own_file => AloneReading::Open,
        times if times.low >= SLOWED => AloneReading::Above,
        times if times.high < SLOWED => AloneReading::Alike,
        _ => AloneReading::Open,
    }
}
