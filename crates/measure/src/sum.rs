//! Adds up the tallies of the lanes of a workload.

use std::collections::BTreeMap;

use halfpower_engine::Errno;
use halfpower_record::{ByDirection, Latency, Series, Trims};
use halfpower_spec::Rw;

use crate::drive::LaneOutcome;

/// All lanes of a workload together.
pub(crate) struct Sum {
    pub elapsed_ns: u64,
    pub flush_ns: u64,
    pub bytes: u64,
    pub ios: u64,
    pub read_ios: u64,
    pub short_transfers: u64,
    pub drained_ios: u64,
    pub overdue_ios: u64,
    pub resubmitted_ios: u64,
    pub errors: BTreeMap<String, u64>,
    pub latency: Latency,
    /// How many of `bytes` were read, and the latencies of reads and of writes.
    pub by_direction: ByDirection,
    /// Mean number of requests in flight: the sum over lanes of each one's mean over its own window, without its flush.
    pub depth: f64,
    pub syncs: Latency,
    pub series: Series,
}

impl Sum {
    /// Number of submitted requests, including those that ended after the window.
    pub fn submitted_ios(&self) -> u64 {
        self.ios + self.errors.values().sum::<u64>() + self.drained_ios
    }

    /// Adds up at least one lane.
    pub(crate) fn of(lanes: &[LaneOutcome]) -> Self {
        let tallies = || lanes.iter().map(|lane| &lane.tally);
        let start = tallies().map(|tally| tally.start).min().expect("a run has a lane");
        let end = tallies().map(|tally| tally.end).max().expect("a run has a lane");
        let mut sum = Self {
            elapsed_ns: end.0 - start.0,
            flush_ns: tallies().map(|tally| tally.flush_ns).max().unwrap_or(0),
            bytes: tallies().map(|tally| tally.bytes).sum(),
            ios: tallies().map(|tally| tally.ios).sum(),
            read_ios: tallies().map(|tally| tally.read_ios).sum(),
            short_transfers: tallies().map(|tally| tally.short_transfers).sum(),
            drained_ios: tallies().map(|tally| tally.drained_ios).sum(),
            overdue_ios: tallies().map(|tally| tally.overdue_ios).sum(),
            resubmitted_ios: tallies().map(|tally| tally.resubmitted_ios).sum(),
            errors: BTreeMap::new(),
            latency: Latency::default(),
            by_direction: ByDirection::default(),
            depth: 0.0,
            syncs: Latency::default(),
            series: Series { step_ns: lanes[0].tally.step_ns, bytes: Vec::new() },
        };
        for tally in tallies() {
            let reads = tally.read_latency.latency();
            let writes = tally.write_latency.latency();
            let latency = tally.latency();
            sum.by_direction.read_bytes += tally.read_bytes;
            sum.by_direction.read_latency.merge(&reads);
            sum.by_direction.write_latency.merge(&writes);
            let in_flight_ns = latency.sum_ns() as f64 + tally.in_flight_beyond_latency_ns as f64;
            sum.depth += in_flight_ns / (tally.end.0 - tally.start.0 - tally.flush_ns).max(1) as f64;
            sum.latency.merge(&latency);
            tally.syncs.iter().for_each(|syncs| sum.syncs.merge(&syncs.latency()));
            add_series(&mut sum.series.bytes, &tally.step_bytes);
            sum.add_errors(tally.errors.iter().copied());
        }
        sum
    }

    /// The trims of a run: all its requests, or with `trimwrite` those counted as reads.
    pub(crate) fn trims(&self, rw: Rw) -> Trims {
        let ByDirection { read_bytes, read_latency, write_latency } = &self.by_direction;
        if rw == Rw::Trimwrite {
            let latency = read_latency.clone();
            let write_latency = write_latency.clone();
            return Trims { ios: self.read_ios, bytes: *read_bytes, latency, write_latency };
        }
        let ios = self.ios;
        let bytes = self.bytes;
        let latency = self.latency.clone();
        Trims { ios, bytes, latency, write_latency: Latency::default() }
    }

    /// Adds errors and short transfers of background readers.
    pub(crate) fn add_background_errors(&mut self, errors: impl Iterator<Item = (Errno, u64)>, short_transfers: u64) {
        self.add_errors(errors);
        self.short_transfers += short_transfers;
    }

    /// Adds bad blocks that reading back found, by kind of error.
    pub(crate) fn add_found(&mut self, found: BTreeMap<String, u64>) {
        for (kind, count) in found {
            *self.errors.entry(kind).or_default() += count;
        }
    }

    fn add_errors(&mut self, errors: impl Iterator<Item = (Errno, u64)>) {
        for (errno, count) in errors {
            *self.errors.entry(errno.name().into_owned()).or_default() += count;
        }
    }
}

/// Adds step by step; the series ends with the shortest lane.
fn add_series(sum: &mut Vec<u64>, lane: &[u64]) {
    if sum.is_empty() {
        sum.extend_from_slice(lane);
        return;
    }
    sum.truncate(lane.len());
    sum.iter_mut().zip(lane).for_each(|(sum, bytes)| *sum += bytes);
}
