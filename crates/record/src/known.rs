//! Tells which values of a record are known; all are if halfpower measured it.

use crate::{Record, Unknown};

impl Record {
    /// Whether the record has this value. Records that halfpower measured have all.
    pub fn knows(&self, what: Unknown) -> bool {
        self.origin.as_ref().is_none_or(|origin| !origin.unknown.contains(&what))
    }

    /// Whether reads and writes of a mixed workload are known separately.
    pub fn knows_mix(&self) -> bool {
        self.knows(Unknown::Mix) && (self.origin.is_none() || self.by_direction.is_some())
    }

    /// Whether it belongs to the walks of block size and depth and all its settings are known.
    pub fn walks(&self) -> bool {
        self.run.walks() && self.knows(Unknown::Settings)
    }

    /// Whether the latency of all requests is known at this quantile, from 0 to 1.
    pub fn knows_latency_at(&self, quantile: f64) -> bool {
        let of_sides = self.origin.as_ref().is_some_and(|origin| origin.percentiles_of_sides);
        self.knows_side_latency_at(quantile) && !of_sides
    }

    /// Whether the latencies of reads and of writes are known separately at this quantile, from 0 to 1.
    pub fn knows_side_latency_at(&self, quantile: f64) -> bool {
        let listed = self.origin.as_ref().and_then(|origin| origin.percentiles.as_ref());
        let is_it = |percent: &f64| (percent / 100.0 - quantile).abs() < 1e-9;
        self.knows(Unknown::Latency) && listed.is_none_or(|listed| listed.iter().any(is_it))
    }

    /// The latency that a share `quantile` (0 to 1) of the requests does not exceed; `None` if unknown.
    pub fn latency_ns_at(&self, quantile: f64) -> Option<u64> {
        self.knows_latency_at(quantile).then(|| self.latency.quantile_ns(quantile))
    }

    /// Mean number of requests in flight; `None` if latency is unknown.
    pub fn known_depth(&self) -> Option<f64> {
        self.knows(Unknown::Latency).then_some(self.achieved_depth)
    }

    /// Processor time charged, user plus system; `None` if unknown.
    pub fn charged_ns(&self) -> Option<u64> {
        self.knows(Unknown::ChargedTime).then(|| self.cpu.charged_ns())
    }
}
