//! Computes changes from one study to another, with their intervals.

use super::comparison::{CellComparison, Change};
use super::pairs::Figure;
use super::spread::Estimate;

/// Error probability: two studies of one system are called different this often.
const ERROR: f64 = 0.05;

/// The change in percent for a logarithm of a ratio.
pub(crate) fn log_percent(log_ratio: f64) -> f64 {
    100.0 * log_ratio.exp_m1()
}

impl CellComparison {
    /// Whether its throughput, its tail latency or its cost is different.
    pub fn different(&self) -> bool {
        self.mbps.different
            || [self.latency_ns_p99, self.charged_us].into_iter().flatten().any(|change| change.different)
    }

    /// The largest of its changes that are different, by absolute size; `None` if none is.
    pub fn largest(&self) -> Option<Change> {
        let changes = [Some(self.mbps), self.latency_ns_p99, self.charged_us].into_iter().flatten();
        let size = |change: &Change| (change.b / change.a).ln().abs();
        changes.filter(|change| change.different).max_by(|one, other| size(one).total_cmp(&size(other)))
    }
}

impl Change {
    /// A change between two means of logarithms, with the interval and the p-value from an estimate.
    pub(crate) fn of_logs(log_a: f64, log_b: f64, estimate: Option<Estimate>) -> Self {
        Self {
            a: log_a.exp(),
            b: log_b.exp(),
            percent: log_percent(log_b - log_a),
            low_percent: estimate.map(|one| log_percent(one.log_ratio - one.reach())),
            high_percent: estimate.map(|one| log_percent(one.log_ratio + one.reach())),
            b_low: None,
            b_high: None,
            p: estimate.map(|one| one.chance()),
            others_used_the_disk: false,
            different: false,
        }
    }

    /// The same with the 95% interval of B's figure; `reach` is the half width of its logarithm.
    pub(crate) fn with_reach_of_b(self, reach: Option<f64>) -> Self {
        let end = |reach: f64| self.b * reach.exp();
        Self { b_low: reach.map(|reach| end(-reach)), b_high: reach.map(end), ..self }
    }

    /// The same, if others may have used the disk in A, in B or in both: they can only have made it worse.
    pub(crate) fn beside_others(self, figure: Figure, [in_a, in_b]: [bool; 2]) -> Self {
        let b_is_worse = match figure {
            Figure::Throughput => self.b < self.a,
            Figure::P50 | Figure::P99 => self.b > self.a,
            // Other processes' time is not charged.
            Figure::Cost => return self,
        };
        Self { others_used_the_disk: if b_is_worse { in_b } else { in_a }, ..self }
    }

    /// Whether it exceeds a factor of 1 + threshold in either direction.
    pub(crate) fn beyond(&self, threshold_percent: f64) -> bool {
        (self.b / self.a).ln().abs() > (threshold_percent / 100.0).ln_1p()
    }

    /// Whether it is beyond chance and beyond `threshold_percent`, for any reason.
    pub(crate) fn stands_out(&self, threshold_percent: f64) -> bool {
        self.p.is_some_and(|p| p < ERROR) && self.beyond(threshold_percent)
    }

    /// The same in another unit.
    pub(crate) fn times(&self, factor: f64) -> Self {
        let scaled = |end: Option<f64>| end.map(|end| end * factor);
        Self { a: self.a * factor, b: self.b * factor, b_low: scaled(self.b_low), b_high: scaled(self.b_high), ..*self }
    }

    /// Its interval in percent, if there is one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low_percent.zip(self.high_percent)
    }

    /// Whether its interval excludes "no change".
    pub fn clear_of_none(&self) -> bool {
        self.interval().is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}
