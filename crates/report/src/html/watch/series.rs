//! Makes the series of the charts from the seconds of a watch: as many steps as a chart has room for.

use halfpower_record::{Latency, WatchedSecond};
use serde_json::{Value, json};

use crate::html::data::round;

/// Most steps; a longer watch has several seconds in each.
const MOST_STEPS: usize = 600;
/// Bands of latency in each power of ten, from the shortest on, which is in nanoseconds.
const BANDS_A_DECADE: f64 = 4.0;
const SHORTEST_NS: f64 = 1000.0;
/// Bands in all: up to 100 s.
const BANDS: usize = 32;

/// The seconds of a watch in steps.
pub(super) struct Series {
    step_s: usize,
    steps: Vec<Step>,
}

/// What happened in one step.
pub(super) struct Step {
    /// When it begins, in seconds.
    pub from_s: usize,
    /// Mean number of operations in progress; `None` if nothing was traced in it.
    pub depth: Option<f64>,
    /// Of the application's requests; `None` if nobody could count them.
    pub own_mbps: Option<f64>,
    /// Of others on the same disks; `None` likewise.
    pub other_mbps: Option<f64>,
    reads: Latency,
    writes: Latency,
    syncs: Latency,
}

impl Step {
    fn of(from_s: usize, seconds: &[WatchedSecond], [knows_own, knows_others]: [bool; 2]) -> Self {
        let traced_ns: f64 = seconds.iter().map(|second| second.traced_ns as f64).sum();
        let depth: f64 = seconds.iter().map(|second| second.depth * second.traced_ns as f64).sum();
        // Bytes are of the time that was traced; without tracing, of all of it.
        let time_ns = if traced_ns > 0.0 { traced_ns } else { seconds.len() as f64 * 1e9 };
        let mbps = |of: fn(&WatchedSecond) -> u64| {
            let bytes: f64 = seconds.iter().map(|second| of(second) as f64).sum();
            bytes / (time_ns / 1e9) / 1e6
        };
        let merged = |of: fn(&WatchedSecond) -> &Latency| {
            let mut all = Latency::default();
            seconds.iter().for_each(|second| all.merge(of(second)));
            all
        };
        Self {
            from_s,
            depth: (traced_ns > 0.0).then(|| depth / traced_ns),
            own_mbps: knows_own.then(|| mbps(|second| second.own_bytes)),
            other_mbps: knows_others.then(|| mbps(|second| second.other_bytes)),
            reads: merged(|second| &second.reads),
            writes: merged(|second| &second.writes),
            syncs: merged(|second| &second.syncs),
        }
    }

    /// Latencies of one kind of [`Series::kinds`].
    pub fn latency(&self, kind: &str) -> &Latency {
        match kind {
            "reads" => &self.reads,
            "writes" => &self.writes,
            _ => &self.syncs,
        }
    }
}

impl Series {
    /// The seconds in steps; `knows` says whether the bytes of the application and those of others were counted.
    pub fn of(seconds: &[WatchedSecond], knows: [bool; 2]) -> Self {
        let step_s = seconds.len().div_ceil(MOST_STEPS).max(1);
        let steps = seconds.chunks(step_s).enumerate().map(|(at, some)| Step::of(at * step_s, some, knows));
        Self { step_s, steps: steps.collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Seconds in each step.
    pub fn step_s(&self) -> usize {
        self.step_s
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The kinds of operations that were seen.
    pub fn kinds(&self) -> Vec<&'static str> {
        let is_seen = |kind: &&str| self.steps.iter().any(|step| !step.latency(kind).is_empty());
        ["reads", "writes", "syncs"].into_iter().filter(is_seen).collect()
    }

    pub fn has_operations(&self) -> bool {
        self.steps.iter().any(|step| step.depth.is_some())
    }

    pub fn has_bytes(&self) -> bool {
        self.steps.iter().flat_map(|step| [step.own_mbps, step.other_mbps]).flatten().any(|mbps| mbps > 0.0)
    }

    /// The JSON for the page's script, without the character `<`.
    pub fn data(&self) -> String {
        let all = |of: fn(&Step) -> Option<f64>| self.steps.iter().map(of).collect::<Vec<_>>();
        let kinds: serde_json::Map<String, Value> =
            self.kinds().into_iter().map(|kind| (kind.to_string(), self.of_kind(kind))).collect();
        let mut watch = json!({
            "step_s": self.step_s,
            "from_s": self.steps.iter().map(|step| step.from_s).collect::<Vec<_>>(),
            "depth": all(|step| step.depth),
            "own_mbps": all(|step| step.own_mbps),
            "other_mbps": all(|step| step.other_mbps),
            "bands_us": (0..=BANDS).map(|band| lowest_ns(band) / 1e3).collect::<Vec<_>>(),
            "kinds": kinds,
        });
        round(&mut watch);
        // The page's main script looks for cells and curves, of which a watch has none.
        let whole =
            json!({ "findings": { "cells": [], "curves": [], "watch": watch }, "percentiles": [], "runs": null });
        whole.to_string().replace('<', "\\u003c")
    }

    /// Percentiles of one kind, and for each step how many latencies lie in each band that is used.
    fn of_kind(&self, kind: &str) -> Value {
        let at = |share: f64| -> Vec<Option<f64>> {
            let known = self.steps.iter().map(|step| Some(step.latency(kind)).filter(|latency| !latency.is_empty()));
            known.map(|latency| latency.map(|latency| latency.quantile_ns(share) as f64 / 1e3)).collect()
        };
        let bands: Vec<[u64; BANDS]> = self.steps.iter().map(|step| banded(step.latency(kind))).collect();
        let is_used = |band: &usize| bands.iter().any(|counts| counts[*band] > 0);
        let first = (0..BANDS).find(is_used).unwrap_or(0);
        let last = (0..BANDS).rev().find(is_used).unwrap_or(0);
        let counts: Vec<&[u64]> = bands.iter().map(|counts| &counts[first..=last]).collect();
        json!({ "p50_us": at(0.5), "p99_us": at(0.99), "first_band": first, "counts": counts })
    }
}

/// The shortest latency of a band, in nanoseconds.
fn lowest_ns(band: usize) -> f64 {
    SHORTEST_NS * 10_f64.powf(band as f64 / BANDS_A_DECADE)
}

/// How many latencies lie in each band; what is shorter or longer than all of them is in the first or the last.
fn banded(latency: &Latency) -> [u64; BANDS] {
    let mut counts = [0; BANDS];
    for (low_ns, high_ns, count) in latency.buckets() {
        let middle_ns = (low_ns as f64 + high_ns as f64) / 2.0;
        let band = (middle_ns.max(1.0) / SHORTEST_NS).log10() * BANDS_A_DECADE;
        counts[(band.max(0.0) as usize).min(BANDS - 1)] += count;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(read_ns: u64, depth: f64, own_bytes: u64) -> WatchedSecond {
        let mut reads = Latency::default();
        reads.add(read_ns);
        WatchedSecond { traced_ns: 500_000_000, reads, depth, own_bytes, ..WatchedSecond::default() }
    }

    #[test]
    fn a_short_watch_has_a_step_a_second() {
        let seconds = [second(120_000, 1.0, 5_000_000), second(12_000_000, 3.0, 0), WatchedSecond::default()];
        let series = Series::of(&seconds, [true; 2]);
        assert_eq!((series.step_s(), series.steps().len(), series.kinds()), (1, 3, vec!["reads"]));
        assert_eq!(
            (series.steps()[0].own_mbps, series.steps()[1].depth, series.steps()[2].depth),
            (Some(10.0), Some(3.0), None)
        );
        let data: Value = serde_json::from_str(&series.data()).unwrap();
        let watch = &data["findings"]["watch"];
        assert_eq!(watch["kinds"]["reads"]["p50_us"][0], 120.0);
        assert!(watch["kinds"]["reads"]["p50_us"][2].is_null() && watch["depth"][2].is_null(), "{watch}");
        // 120 µs is in the ninth band, and 12 ms in the seventeenth.
        let counts = watch["kinds"]["reads"]["counts"].as_array().unwrap();
        assert_eq!(
            (&watch["kinds"]["reads"]["first_band"], counts[0].as_array().unwrap().len()),
            (&json!(8), 9),
            "{watch}"
        );
        assert_eq!((&counts[0][0], &counts[1][8]), (&json!(1), &json!(1)));
    }

    #[test]
    fn a_long_watch_has_several_seconds_in_a_step() {
        let series = Series::of(&vec![second(100_000, 2.0, 1_000_000); 3601], [true; 2]);
        assert!(series.steps().len() <= MOST_STEPS && series.step_s() == 7, "{}", series.steps().len());
        assert_eq!(series.steps()[1].from_s, 7);
        assert_eq!((series.steps()[0].depth, series.steps()[0].own_mbps), (Some(2.0), Some(2.0)));
        assert!(Series::of(&[], [true; 2]).is_empty());
    }

    #[test]
    fn latencies_beyond_all_bands_are_in_the_outer_ones() {
        let mut latency = Latency::default();
        [1, 4_000_000_000_000].into_iter().for_each(|ns| latency.add(ns));
        let counts = banded(&latency);
        assert_eq!((counts[0], counts[BANDS - 1], counts.iter().sum::<u64>()), (1, 1, 2));
    }
}
