//! Counts changes from one study to another, with their intervals.

use super::comparison::{CellComparison, Change};
use super::spread::Estimate;

/// A logarithm of a ratio as a change in percent.
pub(crate) fn log_percent(log_ratio: f64) -> f64 {
    100.0 * log_ratio.exp_m1()
}

impl CellComparison {
    /// Whether its throughput, its tail or its cost is different.
    pub fn different(&self) -> bool {
        self.mbps.different
            || [self.latency_ns_p99, self.charged_us].into_iter().flatten().any(|change| change.different)
    }

    /// The largest of its changes that are different, by its size whichever its sign; `None` where none is.
    pub fn largest(&self) -> Option<Change> {
        let changes = [Some(self.mbps), self.latency_ns_p99, self.charged_us].into_iter().flatten();
        let size = |change: &Change| (change.b / change.a).ln().abs();
        changes.filter(|change| change.different).max_by(|one, other| size(one).total_cmp(&size(other)))
    }
}

impl Change {
    /// A change between two means of logarithms, with the interval and the chance that an estimate gives it.
    pub(crate) fn of_logs(log_a: f64, log_b: f64, estimate: Option<Estimate>) -> Self {
        Self {
            a: log_a.exp(),
            b: log_b.exp(),
            percent: log_percent(log_b - log_a),
            low_percent: estimate.map(|one| log_percent(one.log_ratio - one.reach())),
            high_percent: estimate.map(|one| log_percent(one.log_ratio + one.reach())),
            p: estimate.map(|one| one.chance()),
            different: false,
        }
    }

    /// Whether it is more than a factor of 1 + threshold either way.
    pub(crate) fn beyond(&self, threshold_percent: f64) -> bool {
        (self.b / self.a).ln().abs() > (threshold_percent / 100.0).ln_1p()
    }

    /// Its interval in percent, where there is one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low_percent.zip(self.high_percent)
    }

    /// Whether its interval lies clear of no change at all.
    pub fn clear_of_none(&self) -> bool {
        self.interval().is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}
