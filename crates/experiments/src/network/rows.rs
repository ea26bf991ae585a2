//! Holds the rows of `network`, as `halfpower report --json` gives them.

use halfpower_spec::{Direction, Sealing, Way};
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Results of a share.
    pub network: Vec<NetworkRow>,
}

/// Sequential requests to a share, or to the folder behind it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct NetworkRow {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Block size.
    pub bs_bytes: u64,
    /// Requests in flight over all connections.
    pub iodepth: u32,
    /// Number of connections.
    pub connections: u32,
    /// Whether messages were signed or encrypted.
    pub sealing: Sealing,
    /// The way that requests took.
    pub way: Way,
    /// Mean throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Requests a second.
    pub iops: f64,
    /// Median latency in nanoseconds.
    pub latency_ns_p50: u64,
    /// The network's shortest round trip in microseconds; `null` if TCP does not tell.
    pub round_trip_us: Option<f64>,
    /// Processor time per request charged at this end, in microseconds.
    pub charged_us: Option<f64>,
    /// Processor time per request by the soaker at this end, in microseconds; `null` without a soaker pass.
    pub soaker_us: Option<f64>,
    /// Processor time of the whole far end per request, in microseconds; `null` without a witness there.
    pub far_us: Option<f64>,
}
