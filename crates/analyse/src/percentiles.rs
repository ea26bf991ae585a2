//! Computes the percentiles of a cell's latency, as far as it has enough requests.

use halfpower_record::{Latency, Record};

use crate::CellSettings;
use crate::cells::with_latency;

/// The shares of requests at which a curve has points.
const SHARES: [f64; 14] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9998, 0.9999];
/// Requests that must lie beyond a percentile for it to be reported.
const FEWEST_BEYOND: f64 = 5.0;

/// Percentiles of the latency of a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Percentiles {
    /// Requests behind them.
    pub requests: u64,
    /// Share of the requests, in 0 to 1, and the latency in nanoseconds that they do not exceed; shares rise. The last
    /// is the highest with at least five requests beyond it.
    pub points: Vec<(f64, u64)>,
}

impl Percentiles {
    /// The percentiles of latencies in nanoseconds that rise, by nearest rank.
    pub(crate) fn of_rising(rising: &[u64]) -> Self {
        let count = rising.len() as f64;
        let at = |share: f64| rising[((share * count).ceil() as usize).clamp(1, rising.len()) - 1];
        let borne = SHARES.iter().filter(|share| is_borne(rising.len() as u64, **share));
        Self { requests: rising.len() as u64, points: borne.map(|share| (*share, at(*share))).collect() }
    }
}

/// Whether enough of so many requests lie beyond a percentile.
pub fn is_borne(requests: u64, share: f64) -> bool {
    requests as f64 * (1.0 - share) >= FEWEST_BEYOND * (1.0 - f64::EPSILON * 1e4)
}

/// The percentiles of all runs that the latency of `cell` is reported by, up to 99.99%; empty if it has none.
pub fn percentiles(records: &[Record], cell: &CellSettings) -> Percentiles {
    let mut latency = Latency::default();
    let runs = with_latency(&cell.reported_runs(records));
    runs.iter().for_each(|record| latency.merge(&record.latency));
    let requests = latency.count();
    // Another tool may have reported only some of them.
    let is_known = |share: &&f64| runs.iter().all(|record| record.knows_latency_at(**share));
    let shares = SHARES.iter().filter(|share| is_borne(requests, **share)).filter(is_known);
    Percentiles { requests, points: shares.map(|share| (*share, latency.quantile_ns(*share))).collect() }
}
