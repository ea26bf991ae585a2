//! Fits the processor cost of a request on one path.
//!
//! At the deepest cells one wait serves many requests, so waiting costs almost nothing there, and their cost is that of
//! the request itself. The extra cost of shallower cells is the wait.

use super::calibration::Remark;
use super::path_constants::Fit;
use crate::fit::fit_line;
use crate::path::MeasuredPath;
use crate::{Bound, CellFinding, Cost, PathSettings};

pub(super) fn add<'a>(fit: &mut Fit, path: &'a MeasuredPath<'a>, costs: &[Cost]) {
    let known = |cell: &'a CellFinding| Some((cell, cell.charged_us.filter(|us| *us > 0.0)?));
    charged(fit, &path.usable().filter_map(known).collect::<Vec<_>>());
    let of = |bound| {
        let of_cost = |cost: &Cost| PathSettings { pattern: cost.pattern, rw: cost.rw, cache: cost.cache };
        let here = |cost: &&Cost| of_cost(cost) == path.settings && cost.bound == bound;
        costs.iter().find(here)
    };
    if let (Some(lower), Some(upper)) = (of(Bound::Charged), of(Bound::Soaker)) {
        fit.constants.unseen_us = (upper.fixed_us.value - lower.fixed_us.value).max(0.0);
        fit.constants.unseen_us_per_kib = (upper.marginal_us_per_kib.value - lower.marginal_us_per_kib.value).max(0.0);
        fit.unseen_known = true;
        fit.remarks.insert("unseen_us", Remark::Unseen { cells: Some(upper.cells) });
    } else {
        fit.remarks.insert("unseen_us", Remark::Unseen { cells: None });
    }
}

/// Fits the charge from cells with their charge a request, in microseconds.
fn charged(fit: &mut Fit, cells: &[(&CellFinding, f64)]) {
    let mut depths: Vec<u32> = cells.iter().map(|(cell, _)| cell.iodepth).collect();
    depths.sort_unstable();
    depths.dedup();
    let line_at = |depth: u32| {
        let here = cells.iter().filter(|(cell, _)| cell.iodepth == depth);
        let points: Vec<(f64, f64)> = here.map(|(cell, us)| (cell.bs_bytes as f64 / 1024.0, *us)).collect();
        fit_line(&points).map(|line| (depth, points.len(), line))
    };
    let Some((deepest, count, line)) = depths.iter().rev().find_map(|depth| line_at(*depth)) else {
        fit.remarks.insert("charged_us", Remark::ChargeUnknown);
        return;
    };
    let mut waits: Vec<f64> = cells
        .iter()
        .filter(|(cell, _)| cell.iodepth < deepest)
        .map(|(cell, us)| (us - line.at(cell.bs_bytes as f64 / 1024.0)) * f64::from(cell.iodepth))
        .collect();
    waits.sort_by(f64::total_cmp);
    (fit.constants.charged_us, fit.constants.charged_us_per_kib) = (line.intercept, line.slope);
    let scatter = (line.points > 2).then_some(line.scatter);
    fit.remarks.insert("charged_us", Remark::Charge { cells: count, iodepth: deepest, scatter });
    if let Some(wait_us) = waits.get(waits.len() / 2) {
        // Below one percent of the request's own charge, the wait counts as zero.
        let least = line.intercept / 100.0;
        fit.constants.wait_us = if *wait_us > least { *wait_us } else { 0.0 };
        fit.remarks.insert("wait_us", Remark::Wait { cells: waits.len() });
    }
}
