//! Tells a limit of rate from a slow device, by the latencies of single requests.
//!
//! One request at a time gets the same rate from both. Behind a limit that lets requests through in slices of time, most of
//! them take the device's own time, far less than the time between two, and some wait for the next slice. On a slow device
//! each takes its time. A limit that lets them through evenly looks like a device that serves one at a time.

use halfpower_model::PathConstants;
use halfpower_record::CGROUP_LIMIT;

use crate::mean::median;
use crate::{CellFinding, LevelFinding, LevelKind};

/// Share of the time between two requests below which a latency is that of a request that nothing held back.
const FAR: f64 = 0.5;
/// Gain by more depth up to which the rate is the same.
const SAME: f64 = 1.1;
/// Shares of a known limit that a rate on it reaches.
const AT_LIMIT: std::ops::RangeInclusive<f64> = 0.85..=1.1;
/// Share of a request's time that has no visible effect.
const NO_EFFECT: f64 = 0.05;
/// Requests of a slice from which a limit counts as one in slices.
const LEAST_OF_A_SLICE: f64 = 2.0;

/// Time of a request of `cell` that no limit held back, in microseconds, if the cell shows that a limit holds back others;
/// `cells` are those of its path.
pub(super) fn alone_us(cell: &CellFinding, cells: &[&CellFinding], levels: &[LevelFinding]) -> Option<f64> {
    if cell.total_depth() != 1 || !cell.cache.direct() {
        return None;
    }
    let time_us = cell.time_per_request_us();
    let far = |ns: Option<u64>| ns.map(us).filter(|us| *us > 0.0 && *us < FAR * time_us);
    let latency = &cell.latency_ns;
    let median = far(latency.p50);
    if is_at_limit(cell, levels) {
        return median.or(far(latency.min));
    }
    // A drive's cache answers some requests soon as well, but then the others are many.
    median.filter(|_| far(latency.p90).is_some() && is_no_faster_deeper(cell, cells) == Some(true))
}

/// Whether a limit of rate that lets requests through evenly would have given these cells, of the path with these constants.
pub(super) fn may_be_limit(constants: &PathConstants, cells: &[&CellFinding], levels: &[LevelFinding]) -> bool {
    let kib = |cell: &&CellFinding| cell.bs_bytes as f64 / 1024.0;
    let [least, most] = [f64::min, f64::max].map(|of| cells.iter().map(kib).reduce(of).unwrap_or(0.0));
    let PathConstants { fixed_us, us_per_kib, .. } = *constants;
    let is_flat = us_per_kib * most < NO_EFFECT * fixed_us || fixed_us < NO_EFFECT * us_per_kib * least;
    let alone: Vec<&&CellFinding> = cells.iter().filter(|cell| cell.total_depth() == 1).collect();
    let is_even = |cell: &&&CellFinding| {
        let time_us = cell.time_per_request_us();
        let [median, most] = [cell.latency_ns.p50, cell.latency_ns.p90].map(|ns| ns.map_or(f64::NAN, us));
        median * SAME > time_us && most < SAME * time_us && is_no_faster_deeper(cell, cells) != Some(false)
    };
    is_flat
        && !alone.is_empty()
        && alone.iter().all(is_even)
        && cells.iter().all(|cell| alone_us(cell, cells, levels).is_none())
}

/// The slice in which a limit lets requests through, in microseconds, as these cells of single requests show; 0 if it lets
/// them through evenly. Each cell has the time of a request that nothing held back.
pub(super) fn slice_us(cells: &[(&CellFinding, f64)]) -> f64 {
    let of_cell = |(cell, alone_us): &(&CellFinding, f64)| {
        let time_us = cell.time_per_request_us();
        let latency = &cell.latency_ns;
        let some = [latency.p90, latency.p99, latency.p999, latency.max].into_iter().flatten().map(us);
        // Requests pass until the slice's are spent; the next one waits for what is left of it.
        let waits_us = some.into_iter().find(|us| *us > time_us)?;
        Some(waits_us / (1.0 - alone_us / time_us)).filter(|slice_us| *slice_us >= LEAST_OF_A_SLICE * time_us)
    };
    let slices: Vec<f64> = cells.iter().filter_map(of_cell).collect();
    if slices.len() * 2 > cells.len() { median(slices) } else { 0.0 }
}

/// Whether reads and writes each have limits, as a control group has them, by a known one that a cell stands on.
pub(super) fn is_each_way<'a>(mut cells: impl Iterator<Item = &'a CellFinding>, levels: &[LevelFinding]) -> bool {
    let is_of_group = |level: &&LevelFinding| level.id.name.as_ref().is_some_and(|name| name.starts_with(CGROUP_LIMIT));
    let of_group: Vec<LevelFinding> = levels.iter().filter(is_of_group).cloned().collect();
    cells.any(|cell| is_at_limit(cell, &of_group))
}

/// Whether deeper cells of the same size are no faster; `None` without any.
fn is_no_faster_deeper(cell: &CellFinding, cells: &[&CellFinding]) -> Option<bool> {
    let is_deeper = |other: &&&CellFinding| other.bs_bytes == cell.bs_bytes && other.total_depth() > cell.total_depth();
    let is_same = |other: &&CellFinding| other.mbps.value < SAME * cell.mbps.value;
    let mut deeper = cells.iter().filter(is_deeper).peekable();
    deeper.peek()?;
    Some(deeper.all(is_same))
}

/// Whether a cell stands on a limit that a part of the path is known to have.
fn is_at_limit(cell: &CellFinding, levels: &[LevelFinding]) -> bool {
    let on = |limit: Option<f64>, rate: f64| limit.is_some_and(|limit| AT_LIMIT.contains(&(rate / limit)));
    let is_limit = |level: &&LevelFinding| level.id.kind == LevelKind::Part && level.id.holds_for(cell.rw);
    let mut limits = levels.iter().filter(is_limit);
    limits.any(|level| on(level.pap_iops, cell.iops) || on(level.pap_mbps, cell.mbps.value))
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}
