//! Extracts from a record what the planner of the walks needs.

use halfpower_analyse::policy;
use halfpower_record::Record;
use halfpower_spec::Run;

/// What the planner keeps of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The run.
    pub run: Run,
    /// Throughput in MB/s as the analysis counts it, without a trimmed start; 0 if nothing moved.
    pub mbps: f64,
    /// Charged processor time per byte, in nanoseconds.
    pub charged_ns_per_byte: f64,
    /// Time that the soaker lost per byte, in nanoseconds; `None` if the soaker did not run.
    pub soaker_ns_per_byte: Option<f64>,
    /// Whether a request failed; such a run supports no conclusion.
    pub failed: bool,
    /// Whether it read data that the page cache already held; such a run supports no advice.
    pub cached: bool,
    /// Whether the device moved the bytes, by its own counter.
    pub from_device: bool,
    /// Period of the waves in which its requests completed, if they were periodic.
    pub wave_ns: Option<u64>,
    /// Time that it took of the budget.
    pub spent_ns: u64,
}

impl From<&Record> for Observation {
    fn from(record: &Record) -> Self {
        let workload = record.run.workload;
        let bytes = record.cpu.ios.max(1) as f64 * record.request_bytes();
        let cached_share = record.cached_bytes.map(|bytes| bytes as f64 / record.span_bytes.max(1) as f64);
        let measured_memory = |rw| policy::measured_memory(workload.cache, rw, cached_share);
        Self {
            run: record.run,
            mbps: halfpower_analyse::run_mbps(record),
            charged_ns_per_byte: record.cpu.charged_ns() as f64 / bytes,
            soaker_ns_per_byte: record.cpu.soaker.as_ref().map(|soaker| soaker.lost_ns as f64 / bytes),
            failed: !record.errors.is_empty(),
            cached: workload.rw.direction().is_some_and(measured_memory),
            from_device: policy::is_from_device(record.device_share()),
            wave_ns: halfpower_analyse::waves(record).filter(|waves| waves.regular).map(|waves| waves.period_ns),
            spent_ns: record.spent_ns,
        }
    }
}
