//! Computes the physical limits of each path from the regimes of its cells.

use crate::path::{MeasuredPath, paths};
use crate::regime::{Regimes, regimes};
use crate::{CellFinding, Interval, Limits};

/// The limits of each path of `cells`: time and rate of a single request, requests in parallel, ceilings.
pub fn limits(cells: &[CellFinding]) -> Vec<Limits> {
    paths(cells).iter().map(|path| limits_of(path, &regimes(path.usable()))).collect()
}

pub(crate) fn limits_of(path: &MeasuredPath<'_>, regimes: &Regimes<'_>) -> Limits {
    let alone = regimes.line.filter(|_| regimes.base_depth == 1);
    Limits {
        path: path.settings,
        fixed_us: alone.map(|line| line.intercept_interval()),
        stream_mbps: alone.and_then(|line| reciprocal(line.slope_interval())),
        parallelism: regimes.parallelism,
        ceiling_mbps: regimes.ceiling_mbps,
        ceiling_iops: regimes.ceiling_iops,
    }
}

/// Bytes a microsecond from microseconds a byte; `None` if the time of a byte may be 0.
fn reciprocal(interval: Interval) -> Option<Interval> {
    (interval.low > 0.0).then(|| Interval {
        value: 1.0 / interval.value,
        low: 1.0 / interval.high,
        high: 1.0 / interval.low,
    })
}
