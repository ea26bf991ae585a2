//! Sums up what TCP did while a cell was measured, and finds requests that waited for a delayed acknowledgement.
//!
//! Such requests are a separate mode near 40 ms. Linux and others delay an acknowledgement by 40 ms (RFC 1122 section
//! 4.2.3.2 allows 500 ms). A sender that holds back a short segment until then (RFC 896) makes requests take that long.

use halfpower_record::{Latency, Record, Tcp};
use halfpower_spec::JsonSchema;
use serde::Serialize;

use crate::mean::{quotient, some_mean};

/// What TCP did below the requests of a cell, over its runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TcpCell {
    /// Connections of a run.
    pub connections: u64,
    /// Smoothed round trip time of the kernel in microseconds; the mean over runs.
    pub round_trip_us: f64,
    /// The shortest round trip that the kernel remembers, in microseconds; `None` if it has none.
    pub least_round_trip_us: Option<f64>,
    /// Bytes that TCP allows in flight in the direction of the data, over all connections, as far as this end knows;
    /// the mean over runs.
    pub window_bytes: f64,
    /// Share of the segments that were sent again, 0 to 1.
    pub retransmitted_share: f64,
    /// Delivery rate of what was sent last, in MB/s; only for writes is it the rate of the data.
    pub delivery_mbps: f64,
    /// Share of the time that sending waited for the server's window, 0 to 1.
    pub window_limited_share: f64,
}

impl TcpCell {
    /// Sums up the runs of one cell; `None` if none of them has connections of ours.
    pub(crate) fn of(records: &[&Record]) -> Option<Self> {
        let known: Vec<(&Record, &Tcp)> =
            records.iter().filter_map(|record| Some((*record, record.tcp.as_deref()?))).collect();
        let connections = known.iter().map(|(_, tcp)| tcp.connections).max()?;
        let mean = |of: &dyn Fn(&Record, &Tcp) -> f64| {
            some_mean(known.iter().map(|(record, tcp)| of(record, tcp))).unwrap_or(0.0)
        };
        let sum = |of: &dyn Fn(&Tcp) -> u64| known.iter().map(|(_, tcp)| of(tcp) as f64).sum::<f64>();
        let least = known.iter().map(|(_, tcp)| tcp.least_round_trip_ns).filter(|ns| *ns > 0).min();
        let sent = sum(&|tcp| tcp.sent_segments).max(1.0);
        Some(Self {
            connections,
            round_trip_us: mean(&|_, tcp| tcp.round_trip_ns as f64 / 1e3),
            least_round_trip_us: least.map(|ns| ns as f64 / 1e3),
            window_bytes: mean(&|record, tcp| tcp.window_bytes(record.run.workload.rw.writes()) as f64),
            retransmitted_share: sum(&|tcp| tcp.retransmitted_segments) / sent,
            delivery_mbps: mean(&|_, tcp| tcp.delivery_bytes_per_s as f64 / 1e6),
            window_limited_share: mean(&|record, tcp| {
                quotient(tcp.window_limited_ns as f64, record.cpu.span_ns as f64).min(1.0)
            }),
        })
    }
}

/// Range of the mode in nanoseconds: the delay plus some milliseconds for the request.
const MODE_NS: (u64, u64) = (38_000_000, 48_000_000);
/// Ranges beside the mode, which are nearly empty if the mode is separate.
const BESIDE_NS: [(u64, u64); 2] = [(20_000_000, 38_000_000), (48_000_000, 80_000_000)];
/// Minimum ratio of latencies in the mode to those in each range beside it.
const TIMES: u64 = 4;
/// Minimum number of latencies in the mode, and their minimum share of all.
const LEAST: u64 = 5;
const LEAST_SHARE: f64 = 0.005;

/// Share of the requests of these runs in such a mode, 0 to 1; `None` if there is no such mode.
pub(crate) fn delayed_share(records: &[&Record]) -> Option<f64> {
    let mut all = Latency::default();
    records.iter().filter(|record| record.engine.is_of_a_share()).for_each(|record| all.merge(&record.latency));
    let between = |(low, high): (u64, u64)| -> u64 {
        all.buckets().filter(|(lowest, _, _)| (low..high).contains(lowest)).map(|(_, _, count)| count).sum()
    };
    let mode = between(MODE_NS);
    let share = mode as f64 / all.count().max(1) as f64;
    let stands_out = BESIDE_NS.iter().all(|beside| between(*beside) * TIMES <= mode);
    (mode >= LEAST && share >= LEAST_SHARE && stands_out).then_some(share)
}
