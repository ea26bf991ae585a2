//! Defines what `network` finds: rates, half power, round trips a request, connections, sealing, ways and both bills.

use halfpower_spec::Direction;
use schemars::JsonSchema;
use serde::Serialize;

use super::sealed::SealingCost;
use super::ways::WayRate;
use crate::ratio_finding::RatioFinding;

/// What a share gives.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct NetworkAnswer {
    /// Each direction that was measured.
    pub directions: Vec<ShareRate>,
    /// What more connections bring, in each direction.
    pub connections: Vec<MoreConnections>,
    /// What signing and encryption cost, in each direction, large blocks first.
    pub sealing: Vec<SealingCost>,
    /// What each way gives, in each direction, nearest to the disk first; empty where the wire alone was measured.
    pub ways: Vec<WayRate>,
}

/// One direction of a share over one connection.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShareRate {
    /// Which way the bytes go.
    pub rw: Direction,
    /// The best rate in MB/s.
    pub mbps: f64,
    /// Its block size.
    pub bs_bytes: u64,
    /// Its depth.
    pub iodepth: u32,
    /// The smallest block size that gives half of the best, at each depth where one does.
    pub half_power: Vec<HalfPowerAt>,
    /// Median latency of the smallest request, one at a time, in round trips of the network; `null` where these are not known.
    pub round_trips: Option<f64>,
    /// Bytes of that request.
    pub smallest_bs_bytes: u64,
    /// Processor time of a decimal megabyte at the best rate here, in milliseconds.
    pub ms_per_mb: Option<f64>,
    /// The same of all the far end, what it spends at rest included; `null` without a witness there.
    pub far_ms_per_mb: Option<f64>,
}

/// Where half power lies at a depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HalfPowerAt {
    /// The depth.
    pub iodepth: u32,
    /// The smallest block size from which on every larger one gives half of the best.
    pub bs_bytes: u64,
}

/// What more connections bring to the same requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MoreConnections {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Requests in flight over all connections.
    pub iodepth: u32,
    /// Connections.
    pub connections: u32,
    /// How many times as fast as over a single one.
    pub times: RatioFinding,
}
