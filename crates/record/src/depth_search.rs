//! Keeps how the depth of a run was found: the greatest at which latencies stay within a bound.

use halfpower_spec::{JsonSchema, Nanos};
use serde::{Deserialize, Serialize};

use crate::Latency;

/// A search for the greatest depth at which a percentile of latency stays within a bound (`--latency-target`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DepthSearch {
    /// The latency that the percentile must not exceed, in nanoseconds.
    pub most_ns: u64,
    /// The share of the requests that must not exceed it, in percent, up to 100.
    pub percent: f64,
    /// How long each depth was tried, in nanoseconds.
    pub window_ns: u64,
    /// The greatest depth that was allowed, of each thread.
    pub most_depth: u32,
    /// The depths that were tried, in order.
    pub tried: Vec<TriedDepth>,
}

/// What came of a depth in its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriedDepth {
    /// The depth of each thread.
    pub depth: u32,
    /// The percentile of latency, in nanoseconds; `null` if no request was done, or if the window was too short for its
    /// queue (Little's law).
    pub latency_ns: Option<u64>,
}

impl DepthSearch {
    /// How long each depth is tried if nothing else is asked for.
    pub const USUAL_WINDOW: Nanos = Nanos(1_000_000_000);

    /// The percentile of these latencies, in nanoseconds; `None` without any.
    pub fn latency_ns(&self, latency: &Latency) -> Option<u64> {
        (latency.count() > 0).then(|| match self.percent {
            all if all >= 100.0 => latency.max_ns(),
            part => latency.quantile_ns(part / 100.0),
        })
    }

    /// Whether this percentile of latency stays within the bound; what is not known does not.
    pub fn holds(&self, latency_ns: Option<u64>) -> bool {
        latency_ns.is_some_and(|latency_ns| latency_ns <= self.most_ns)
    }

    /// The greatest depth that held; `None` if none did.
    pub fn found(&self) -> Option<u32> {
        self.tried.iter().filter(|tried| self.holds(tried.latency_ns)).map(|tried| tried.depth).max()
    }
}
