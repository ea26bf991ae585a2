//! Compares buffered requests whose pages are dropped after use with those whose pages stay, and with direct ones.

use halfpower_analyse::{Bound, ExperimentCell};
use halfpower_record::Record;
use halfpower_spec::{Direction, JsonSchema, Pass};
use serde::Serialize;

use crate::ratio::{RatioFinding, Scale};

/// Buffered requests of one direction and size whose pages are dropped after use (`RWF_DONTCACHE`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DroppedPages {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Block size.
    pub bs_bytes: u64,
    /// Throughput as a share of that of buffered requests whose pages stay.
    pub of_buffered: RatioFinding,
    /// Throughput as a share of that of direct requests; `null` if there are none.
    pub of_direct: Option<RatioFinding>,
    /// Processor time a byte, in nanoseconds.
    pub ns_per_byte: f64,
    /// The same of buffered requests whose pages stay.
    pub buffered_ns_per_byte: f64,
    /// The same of direct requests; `null` if there are none.
    pub direct_ns_per_byte: Option<f64>,
    /// The bound on processor time that these three are.
    pub cost_by: Bound,
    /// Share of the bytes moved that the page cache held after the run; `null` if unknown.
    pub kept_share: Option<f64>,
    /// The same of buffered requests whose pages stay.
    pub buffered_kept_share: Option<f64>,
}

/// Compares each cell whose pages are dropped with the others of its direction and size.
pub(super) fn compared(cells: &[&ExperimentCell], scale: &Scale) -> Vec<DroppedPages> {
    let dropped = cells.iter().filter(|cell| cell.workload.options.uncached);
    dropped.filter_map(|cell| compare(cells, cell, scale)).collect()
}

fn compare(cells: &[&ExperimentCell], dropped: &ExperimentCell, scale: &Scale) -> Option<DroppedPages> {
    let rw = dropped.finding.rw;
    let bs = dropped.workload.bs;
    let same = |direct: bool| {
        let is_it = |cell: &&&ExperimentCell| {
            let workload = cell.workload;
            let is_usual = workload.options.is_default() && workload.cache.direct() == direct;
            is_usual && cell.finding.rw == rw && workload.bs == bs
        };
        cells.iter().find(is_it).copied()
    };
    let buffered = same(false)?;
    let direct = same(true);
    let are_soaked = |by: Bound| {
        let known = |cell: &ExperimentCell| ns_per_byte(cell, by).is_some();
        known(dropped) && known(buffered) && direct.is_none_or(known)
    };
    let cost_by = if are_soaked(Bound::Soaker) { Bound::Soaker } else { Bound::Charged };
    Some(DroppedPages {
        rw,
        bs_bytes: bs.0,
        of_buffered: scale.times(&[dropped], &[buffered])?,
        of_direct: direct.and_then(|direct| scale.times(&[dropped], &[direct])),
        ns_per_byte: ns_per_byte(dropped, cost_by)?,
        buffered_ns_per_byte: ns_per_byte(buffered, cost_by)?,
        direct_ns_per_byte: direct.and_then(|direct| ns_per_byte(direct, cost_by)),
        cost_by,
        kept_share: kept_share(dropped),
        buffered_kept_share: kept_share(buffered),
    })
}

/// Processor time a byte by one bound, in nanoseconds; `None` if unknown.
fn ns_per_byte(cell: &ExperimentCell, by: Bound) -> Option<f64> {
    let us = match by {
        Bound::Charged => cell.finding.charged_us,
        Bound::Soaker => cell.finding.soaker_us,
    };
    Some(us? * 1e3 / cell.workload.bs.0 as f64)
}

/// Share of the bytes moved that the page cache held after a plain run, as the mean over runs; `None` if unknown.
pub(super) fn kept_share(cell: &ExperimentCell) -> Option<f64> {
    let share = |record: &&Record| {
        let moved = record.bytes.min(record.span_bytes);
        let kept = record.cached_after_bytes.filter(|_| moved > 0)?;
        Some((kept as f64 / moved as f64).min(1.0))
    };
    let plain = cell.records.iter().filter(|record| record.run.pass == Pass::Plain);
    let shares: Vec<f64> = plain.filter_map(share).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}
