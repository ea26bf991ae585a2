//! Checks a condition such as `random read peak < -5%` against a comparison.

mod text;

use std::fmt;

use halfpower_spec::{Cache, Direction, Pattern};

use super::comparison::{
    CellComparison, Change, Comparison, ConditionCase, ConditionFinding, ConditionLimit, Quantity,
};
use crate::PathSettings;

/// Comparison operator of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparator {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// Selection of cells or paths; `None` selects all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Narrowing {
    pattern: Option<Pattern>,
    rw: Option<Direction>,
    cache: Option<Cache>,
    bs_bytes: Option<u64>,
    iodepth: Option<u32>,
}

/// A condition on the change from A to B, or on the figure in B.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    narrowing: Narrowing,
    quantity: Quantity,
    comparator: Comparator,
    limit: ConditionLimit,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Narrowing {
    fn names(&self, path: PathSettings) -> bool {
        self.pattern.is_none_or(|wanted| wanted == path.pattern)
            && self.rw.is_none_or(|wanted| wanted == path.rw)
            && self.cache.is_none_or(|wanted| wanted == path.cache)
    }

    fn names_cell(&self, cell: &CellComparison) -> bool {
        self.names(cell.settings.path())
            && self.bs_bytes.is_none_or(|wanted| wanted == cell.settings.bs_bytes)
            && self.iodepth.is_none_or(|wanted| wanted == cell.settings.iodepth)
    }

    /// Whether it selects single cells of a path.
    fn is_of_cells(&self) -> bool {
        self.bs_bytes.is_some() || self.iodepth.is_some()
    }
}

impl Condition {
    /// Checks it; the result has no case if the studies share nothing that it asks about.
    pub fn check(&self, comparison: &Comparison) -> ConditionFinding {
        let cases = match self.quantity {
            Quantity::HalfPower => self.half_powers(comparison),
            Quantity::Iops if !self.narrowing.is_of_cells() => self.busiest_cells(comparison),
            _ if self.narrowing.is_of_cells() => self.cells(comparison).filter_map(|cell| self.of_cell(cell)).collect(),
            _ => self.paths(comparison),
        };
        ConditionFinding {
            condition: self.text.clone(),
            limit: self.limit,
            holds: cases.iter().any(|case: &ConditionCase| case.holds),
            cases,
        }
    }

    fn case(&self, path: PathSettings, cell: (Option<u32>, Option<u64>), change: Change) -> ConditionCase {
        let (iodepth, bs_bytes) = cell;
        ConditionCase { quantity: self.quantity, path, iodepth, bs_bytes, change, holds: self.holds(&change) }
    }

    fn half_powers(&self, comparison: &Comparison) -> Vec<ConditionCase> {
        let depth = self.narrowing.iodepth;
        let wanted = comparison.half_power.iter().filter(|half| self.narrowing.names(half.path));
        let wanted = wanted.filter(|half| depth.is_none_or(|wanted| wanted == half.iodepth));
        wanted.filter_map(|half| Some(self.case(half.path, (Some(half.iodepth), None), half.n_half_bytes?))).collect()
    }

    fn paths(&self, comparison: &Comparison) -> Vec<ConditionCase> {
        let wanted = comparison.paths.iter().filter(|path| self.narrowing.names(path.path));
        wanted
            .filter_map(|path| {
                let change = match self.quantity {
                    Quantity::Peak => Some(path.peak_mbps),
                    Quantity::Cost => path.charged_us,
                    Quantity::P99 => path.latency_ns_p99,
                    _ => Some(path.throughput_mbps),
                };
                Some(self.case(path.path, (None, None), change?))
            })
            .collect()
    }

    fn cells<'a>(&self, comparison: &'a Comparison) -> impl Iterator<Item = &'a CellComparison> {
        comparison.cells.iter().filter(|cell| self.narrowing.names_cell(cell))
    }

    /// The cell with most requests a second in A, for each path.
    fn busiest_cells(&self, comparison: &Comparison) -> Vec<ConditionCase> {
        let iops = |cell: &CellComparison| cell.mbps.a / cell.settings.bs_bytes as f64;
        let of_path = |settings: PathSettings| {
            let own = self.cells(comparison).filter(|cell| cell.settings.path() == settings);
            own.max_by(|one, other| iops(one).total_cmp(&iops(other)))
        };
        let paths = comparison.paths.iter().filter_map(|path| of_path(path.path));
        paths.filter_map(|cell| self.of_cell(cell)).collect()
    }

    fn of_cell(&self, cell: &CellComparison) -> Option<ConditionCase> {
        let change = match self.quantity {
            Quantity::Cost => cell.charged_us?,
            Quantity::P50 => cell.latency_ns_p50?,
            Quantity::P99 => cell.latency_ns_p99?,
            Quantity::Iops => cell.mbps.times(1e6 / cell.settings.bs_bytes as f64),
            Quantity::Throughput | Quantity::Peak | Quantity::HalfPower => cell.mbps,
        };
        let CellComparison { settings, .. } = cell;
        Some(self.case(settings.path(), (Some(settings.iodepth), Some(settings.bs_bytes)), change))
    }

    /// Whether the estimate is on the required side of the limit, beyond chance. For a change, the interval must also
    /// exclude "no change", unless no change at all would fulfil the condition too. For a figure, the whole interval
    /// must be on the required side.
    fn holds(&self, change: &Change) -> bool {
        let certain = || self.is_fulfilled_by(0.0) || (change.clear_of_none() && !change.others_used_the_disk);
        match self.limit {
            ConditionLimit::Percent(_) => self.is_fulfilled_by(change.percent) && certain(),
            ConditionLimit::Difference(_) => self.is_fulfilled_by(change.b - change.a) && certain(),
            ConditionLimit::Figure(_) => {
                let ends = [change.b_low, Some(change.b), change.b_high];
                ends.iter().all(|end| end.is_some_and(|end| self.is_fulfilled_by(end)))
            }
        }
    }

    fn is_fulfilled_by(&self, value: f64) -> bool {
        let (ConditionLimit::Percent(limit) | ConditionLimit::Difference(limit) | ConditionLimit::Figure(limit)) =
            self.limit;
        match self.comparator {
            Comparator::Below => value < limit,
            Comparator::AtMost => value <= limit,
            Comparator::Above => value > limit,
            Comparator::AtLeast => value >= limit,
        }
    }
}

impl ConditionFinding {
    /// Whether any case has an interval; without one, nothing can be decided.
    pub fn can_be_decided(&self) -> bool {
        let interval = |case: &ConditionCase| match self.limit {
            ConditionLimit::Figure(_) => case.change.b_low.is_some(),
            _ => case.change.interval().is_some(),
        };
        self.cases.iter().any(interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(percent: f64, reach: Option<f64>) -> Change {
        let ends = reach.map(|reach| (percent - reach, percent + reach));
        Change {
            a: 100.0,
            b: 100.0 + percent,
            percent,
            low_percent: ends.map(|(low, _)| low),
            high_percent: ends.map(|(_, high)| high),
            b_low: ends.map(|(low, _)| 100.0 + low),
            b_high: ends.map(|(_, high)| 100.0 + high),
            p: None,
            others_used_the_disk: false,
            different: false,
        }
    }

    fn condition(text: &str) -> Condition {
        text.parse().unwrap()
    }

    #[test]
    fn chance_alone_fulfils_no_condition() {
        let slower = condition("read peak < -5%");
        assert!(slower.holds(&change(-9.0, Some(2.0))));
        assert!(!slower.holds(&change(-4.0, Some(2.0))), "not far enough");
        assert!(!slower.holds(&change(-9.0, Some(10.0))), "it may be no change at all");
        assert!(!slower.holds(&change(-9.0, None)), "a single run");
        let not_faster = condition("read peak < 5%");
        assert!(not_faster.holds(&change(0.0, Some(2.0))) && not_faster.holds(&change(1.0, None)));
        assert!(!not_faster.holds(&change(6.0, Some(2.0))));
    }

    #[test]
    fn what_others_may_have_done_fulfils_no_condition() {
        let beside_others = Change { others_used_the_disk: true, ..change(-9.0, Some(2.0)) };
        assert!(!condition("read peak < -5%").holds(&beside_others));
        assert!(!condition("read peak < -5MB/s").holds(&beside_others));
    }

    #[test]
    fn a_figure_has_to_lie_on_its_side_with_its_whole_interval() {
        let below = condition("read peak < 95MB/s");
        assert!(below.holds(&change(-9.0, Some(2.0))));
        assert!(!below.holds(&change(-9.0, Some(5.0))), "it reaches 96");
        assert!(!below.holds(&change(-9.0, None)), "a single run");
        let above = condition("bs=4k p99 >= 90ns");
        assert!(above.holds(&change(-5.0, Some(5.0))) && !above.holds(&change(-5.0, Some(6.0))));
    }

    #[test]
    fn a_difference_is_counted_in_the_unit_of_the_figure() {
        let grown = condition("bs=4k iodepth=1 p99 > +8ns");
        assert!(grown.holds(&change(9.0, Some(2.0))));
        assert!(!grown.holds(&change(7.0, Some(2.0))), "not far enough");
        assert!(!grown.holds(&change(9.0, Some(10.0))), "it may be no difference at all");
    }
}
