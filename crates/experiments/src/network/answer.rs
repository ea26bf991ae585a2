//! Defines the answer of `network`: rates, half power, round trips, connections, sealing, ways, and the cost at both
//! ends.

use halfpower_spec::Direction;
use schemars::JsonSchema;
use serde::Serialize;

use super::sealed::SealingCost;
use super::ways::WayRate;
use crate::ratio_finding::RatioFinding;

/// The performance of a share.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct NetworkAnswer {
    /// One entry per measured direction.
    pub directions: Vec<ShareRate>,
    /// The gain from more connections, by direction.
    pub connections: Vec<MoreConnections>,
    /// The cost of signing and encryption by direction, large blocks first.
    pub sealing: Vec<SealingCost>,
    /// The rate of each way by direction, nearest to the disk first; empty if only the wire was measured.
    pub ways: Vec<WayRate>,
}

/// One direction of a share over one connection.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShareRate {
    /// Which way the bytes go.
    pub rw: Direction,
    /// The best rate in MB/s.
    pub mbps: f64,
    /// Block size of that rate.
    pub bs_bytes: u64,
    /// Depth of that rate.
    pub iodepth: u32,
    /// At each depth, the smallest block size that gives half of the best rate; depths without one are left out.
    pub half_power: Vec<HalfPowerAt>,
    /// Median latency of the smallest request at depth 1, in round trips of the network; `null` if the round trip is
    /// not known.
    pub round_trips: Option<f64>,
    /// Block size of that request.
    pub smallest_bs_bytes: u64,
    /// Processor time at this end per decimal megabyte at the best rate, in milliseconds.
    pub ms_per_mb: Option<f64>,
    /// Processor time of the whole far end per decimal megabyte at the best rate, in milliseconds, including what it
    /// spends at rest; `null` without a witness there.
    pub far_ms_per_mb: Option<f64>,
}

/// The half-power block size at one depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HalfPowerAt {
    /// The depth.
    pub iodepth: u32,
    /// The smallest block size from which all larger ones give at least half of the best rate.
    pub bs_bytes: u64,
}

/// The gain from more connections for the same number of requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MoreConnections {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Requests in flight over all connections.
    pub iodepth: u32,
    /// Number of connections.
    pub connections: u32,
    /// Rate as a multiple of that over one connection.
    pub times: RatioFinding,
}
