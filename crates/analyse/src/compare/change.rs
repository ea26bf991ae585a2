//! Computes changes from one study to another, with their intervals.

use super::comparison::{CellComparison, Change, Comparison};
use super::pairs::Figure;
use super::spread::Estimate;
use halfpower_spec::InOrder;

/// Error probability: two studies of one system are called different this often, and fulfil one of the conditions of a
/// command this often.
pub(crate) const ERROR: f64 = 0.05;

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

    /// The first of throughput, tail latency and cost that is different; `None` if none is.
    pub fn leading(&self) -> Option<Change> {
        let changes = [Some(self.mbps), self.latency_ns_p99, self.charged_us];
        changes.into_iter().flatten().find(|change| change.different)
    }

    /// Whether one of its figures changes beyond chance, and none by as much as counts.
    pub fn differs_by_little(&self) -> bool {
        let changes = [Some(self.mbps), self.latency_ns_p99, self.charged_us];
        !self.different() && changes.into_iter().flatten().any(|change| change.is_certain_but_small())
    }
}

impl Comparison {
    /// Of the cells that differ, the one in the middle by the size of its change. The largest would be the luckiest one.
    pub fn typical(&self) -> Option<&CellComparison> {
        let size = |cell: &CellComparison| cell.leading().map_or(0.0, |change| (change.b / change.a).ln().abs());
        let mut different: Vec<&CellComparison> = self.cells.iter().filter(|cell| cell.different()).collect();
        different.order_by(|one, other| size(one).total_cmp(&size(other)));
        different.get(different.len().saturating_sub(1) / 2).copied()
    }

    /// Number of figures that were tested here.
    pub fn tests(&self) -> usize {
        let of_cells = self.cells.iter().flat_map(|cell| [Some(cell.mbps), cell.latency_ns_p99, cell.charged_us]);
        let of_paths = self
            .paths
            .iter()
            .flat_map(|path| [Some(path.throughput_mbps), path.latency_ns_p99, path.charged_us, Some(path.peak_mbps)]);
        of_cells.chain(of_paths).flatten().filter(|change| change.p.is_some()).count()
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
            certain: false,
            different: false,
            freedom: estimate.map_or(f64::INFINITY, |one| one.freedom),
            freedom_of_b: f64::INFINITY,
        }
    }

    /// The same with the 95% interval of B's figure; `of_b` is the estimate of its logarithm.
    pub(crate) fn with_estimate_of_b(self, of_b: Option<Estimate>) -> Self {
        let reach = of_b.map(|one| one.reach());
        Self {
            b_low: reach.map(|reach| self.b * (-reach).exp()),
            b_high: reach.map(|reach| self.b * reach.exp()),
            freedom_of_b: of_b.map_or(f64::INFINITY, |one| one.freedom),
            ..self
        }
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

    /// Whether it is beyond chance, for any reason.
    pub(crate) fn beyond_chance(&self) -> bool {
        self.p.is_some_and(|p| p < ERROR)
    }

    /// Whether it is beyond chance and beyond `threshold_percent`, for any reason.
    pub(crate) fn stands_out(&self, threshold_percent: f64) -> bool {
        self.beyond_chance() && self.beyond(threshold_percent)
    }

    /// Whether it is certain and smaller than the practical threshold.
    pub fn is_certain_but_small(&self) -> bool {
        self.certain && !self.different
    }

    /// The chance of at least this change if there is none, of this figure alone; `None` without an interval.
    pub(crate) fn chance(&self) -> Option<f64> {
        let (low, high) = self.interval()?;
        let log = |percent: f64| (percent / 100.0).ln_1p();
        let log_ratio = log(self.percent);
        let reach = if log_ratio > 0.0 { log_ratio - log(low) } else { log(high) - log_ratio };
        Some(Estimate::of_reach(log_ratio, reach, self.freedom).chance())
    }

    /// The chance that B's figure is as far from `limit` if it is really there; `None` without an interval.
    pub(crate) fn chance_at(&self, limit: f64) -> Option<f64> {
        let (low, high) = self.b_low.zip(self.b_high)?;
        if limit <= 0.0 {
            return Some(0.0);
        }
        let log_ratio = (self.b / limit).ln();
        let reach = if log_ratio > 0.0 { (self.b / low).ln() } else { (high / self.b).ln() };
        Some(Estimate::of_reach(log_ratio, reach, self.freedom_of_b).chance())
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
