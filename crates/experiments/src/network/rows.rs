//! Holds the rows of `network`, as `halfpower report --json` gives them.

use halfpower_spec::{Direction, Sealing, Way};
use schemars::JsonSchema;
use serde::Serialize;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// What a share gave.
    pub network: Vec<NetworkRow>,
}

/// Sequential requests to a share, or to the folder that it serves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct NetworkRow {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Block size.
    pub bs_bytes: u64,
    /// Requests in flight over all connections.
    pub iodepth: u32,
    /// Connections.
    pub connections: u32,
    /// Whether messages were signed or encrypted.
    pub sealing: Sealing,
    /// Which way requests went.
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
    /// The network's shortest round trip in microseconds; `null` where TCP does not tell.
    pub round_trip_us: Option<f64>,
    /// Processor time a request charged here, in microseconds.
    pub charged_us: Option<f64>,
    /// The same by this end's soaker; `null` without its pass.
    pub soaker_us: Option<f64>,
    /// Processor time a request of all the far end, in microseconds; `null` without a witness there.
    pub far_us: Option<f64>,
}
