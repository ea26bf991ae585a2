//! Measures a target in slices: runs of a fraction of a second, each with requests before it that are not measured.

use std::sync::atomic::{AtomicBool, Ordering};

use halfpower_measure::{MeasureError, TargetBackend, measure};
use halfpower_record::Record;
use halfpower_spec::{Nanos, Pass, Run, Workload};

use crate::turns::Slice;

/// Bytes that the page cache may read ahead or write back beside a slice without being others'.
const OF_THE_PAGE_CACHE: f64 = 16e6;
/// Bytes that the kernel may move on a device beside a direct slice.
const OF_THE_KERNEL: f64 = 65_536.0;

/// A target that is measured in slices.
pub struct SlicedTarget<'a> {
    target: Box<dyn TargetBackend>,
    seeds: RunSeeds,
    stop: &'a AtomicBool,
    /// Time that all runs took, with their preparation, by the target's clock.
    spent: Nanos,
}

/// The seeds of a target's runs: each run reaches other blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSeeds {
    /// Seed of the next run.
    pub next: u64,
    /// What the seed grows by from run to run.
    pub step: u64,
}

/// Why a slice gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum SliceError {
    /// It could not be measured.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// Requests failed.
    #[error("{count} requests failed ({kinds})")]
    Failed {
        /// How many.
        count: u64,
        /// The kinds of error.
        kinds: String,
    },
}

impl<'a> SlicedTarget<'a> {
    /// A target that is ready; `stop` ends its runs.
    pub fn new(target: Box<dyn TargetBackend>, seeds: RunSeeds, stop: &'a AtomicBool) -> Self {
        Self { target, seeds, stop, spent: Nanos(0) }
    }

    /// The target.
    pub fn target(&self) -> &dyn TargetBackend {
        self.target.as_ref()
    }

    /// Time that all runs took, with their preparation, by the target's clock.
    pub fn spent(&self) -> Nanos {
        self.spent
    }

    /// Whether the user wants to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Measures one run.
    ///
    /// # Errors
    /// Those of [`measure`].
    pub fn run(&mut self, workload: Workload, runtime: Nanos) -> Result<Record, MeasureError> {
        let seed = self.seeds.next;
        self.seeds.next = seed.wrapping_add(self.seeds.step);
        let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed };
        let record = measure(self.target.as_mut(), &run, self.stop)?;
        self.spent = Nanos(self.spent.0.saturating_add(record.spent_ns));
        Ok(record)
    }

    /// Measures one slice.
    ///
    /// # Errors
    /// If it cannot be measured, or requests failed.
    pub fn slice(&mut self, workload: Workload, length: Nanos) -> Result<Slice, SliceError> {
        let record = self.run(workload, length)?;
        if record.error_count() > 0 {
            let kinds: Vec<&str> = record.errors.keys().map(String::as_str).collect();
            return Err(SliceError::Failed { count: record.error_count(), kinds: kinds.join(", ") });
        }
        let own_bytes = record.submitted_bytes();
        // A pair with a 0 is left out: latencies that are not those of the load would be compared as if they were.
        let quantile = |quantile: f64| record.latency_ns_at(quantile).map_or(0.0, |ns| ns as f64);
        Ok(Slice {
            rate: record.mbps() * 1e6,
            latency_ns_p50: quantile(0.5),
            latency_ns_p99: quantile(0.99),
            own_bytes,
            others_bytes: others_bytes(&record, own_bytes),
        })
    }
}

/// Bytes that the devices moved for others during a run; `None` if that cannot be told.
fn others_bytes(record: &Record, own_bytes: f64) -> Option<f64> {
    // The random reader's own requests are on the device too.
    if record.run.workload.options.random_readers > 0 {
        return None;
    }
    let device = record.device_bytes()? as f64;
    let slack = if record.run.workload.cache.direct() { OF_THE_KERNEL } else { OF_THE_PAGE_CACHE };
    Some((device - own_bytes - slack).max(0.0))
}

#[cfg(test)]
mod tests {
    use halfpower_measure::SimulatedTarget;
    use halfpower_spec::{Bytes, Rw, SimulatedDisk};

    use super::*;

    /// In a slice of 1 ms a disk that serves one request after the other, each in 100 us, is done with ten of 64: those
    /// that waited least.
    #[test]
    fn latencies_of_a_slice_that_is_too_short_for_its_queue_are_not_compared() {
        let stop = AtomicBool::new(false);
        let disk = SimulatedDisk::from_constants("fixed=100us,rate=900000GB/s").unwrap();
        let mut sliced = SlicedTarget::new(Box::new(SimulatedTarget::new(disk)), RunSeeds { next: 1, step: 1 }, &stop);
        let mut slice = |iodepth| {
            let workload = Workload { rw: Rw::Randread, bs: Bytes(4096), iodepth, ..Workload::default() };
            sliced.slice(workload, Nanos(1_000_000)).unwrap()
        };
        let known = slice(1);
        assert_eq!([known.latency_ns_p50, known.latency_ns_p99].map(|ns| (ns / 1e3).round()), [100.0, 100.0]);
        let unknown = slice(64);
        assert!(unknown.rate > 0.0, "{unknown:?}");
        assert_eq!([unknown.latency_ns_p50, unknown.latency_ns_p99], [0.0, 0.0]);
    }

    #[test]
    fn what_others_moved_is_not_known_where_the_counter_of_the_device_stands_still() {
        let stop = AtomicBool::new(false);
        let disk = SimulatedDisk::from_constants("fixed=100us").unwrap();
        let mut sliced = SlicedTarget::new(Box::new(SimulatedTarget::new(disk)), RunSeeds { next: 1, step: 1 }, &stop);
        let workload = Workload { rw: Rw::Randread, bs: Bytes(4096), iodepth: 1, ..Workload::default() };
        let mut record = sliced.run(workload, Nanos(1_000_000)).unwrap();
        let own_bytes = record.submitted_bytes();
        record.noise.device_bytes = Some(own_bytes as u64 + (1 << 30));
        assert!(others_bytes(&record, own_bytes).unwrap() > 0.0);
        record.noise.device_bytes = Some(0);
        assert_eq!(others_bytes(&record, own_bytes), None);
    }
}
