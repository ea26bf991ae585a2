//! Holds what the runs of a cell came to, for rows that tell all of it.

use halfpower_analyse::{CellFinding, Interval};
use halfpower_spec::JsonSchema;
use serde::Serialize;

/// What the runs of a cell came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CellFigures {
    /// Mean throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Requests a second.
    pub iops: f64,
    /// Median latency in nanoseconds; `null` if not known.
    pub latency_ns_p50: Option<u64>,
    /// Processor time per request charged to the process, in microseconds; `null` if not known. What threads of the kernel
    /// do for it is not charged.
    pub charged_us: Option<f64>,
}

impl CellFigures {
    /// The figures of a cell.
    pub(crate) fn of(finding: &CellFinding) -> Self {
        let Interval { value, low, high } = finding.mbps;
        Self {
            mbps: value,
            low,
            high,
            iops: finding.iops,
            latency_ns_p50: finding.latency_ns.p50,
            charged_us: finding.charged_us,
        }
    }

    /// The throughput with its interval, in MB/s.
    pub(crate) fn rate(&self) -> Interval {
        Interval { value: self.mbps, low: self.low, high: self.high }
    }
}
