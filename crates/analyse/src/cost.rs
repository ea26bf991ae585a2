//! What does a request cost the processor? Cells enter, fixed + marginal x KiB leaves for each path and bound.
//!
//! The two bounds are those of Chung, Gray, Worthington, Horst (2000), section 4.2: from below what the process
//! was charged, from above what the soaker lost.

use crate::fit::{LineFit, fit_line};
use crate::path::{Path, paths};
use crate::{Bound, CellFinding, Cost};

/// Scatter above which the line over all depths is looked at again, depth by depth.
const SCATTERED: f64 = 0.1;

/// The processor time of a request on each path, from below and from above, where two block sizes allow a fit.
///
/// All depths enter one fit, unless the depth matters: where the line over all of them misses by more than
/// 10% and lines of their own would miss by less than half of that, one depth stands for the path and its
/// words say which.
pub fn costs(cells: &[CellFinding]) -> Vec<Cost> {
    paths(cells).iter().flat_map(costs_of).collect()
}

fn costs_of(path: &Path<'_>) -> Vec<Cost> {
    let depth = telling_depth(path);
    let bounds = [Bound::Charged, Bound::Soaker];
    bounds.into_iter().filter_map(|bound| cost(path, bound, depth).or_else(|| cost(path, bound, None))).collect()
}

fn cost(path: &Path<'_>, bound: Bound, depth: Option<u32>) -> Option<Cost> {
    let chosen = |cell: &&CellFinding| depth.is_none_or(|depth| cell.iodepth == depth);
    let cells: Vec<&CellFinding> =
        path.usable().filter(chosen).filter(|cell| cost_us(cell, bound).is_some_and(|us| us > 0.0)).collect();
    let fit = line(cells.iter().copied(), bound)?;
    let sizes = cells.iter().map(|cell| cell.bs_bytes);
    let ends = [sizes.clone().min()?, sizes.max()?];
    let cost_us = ends.map(|bytes| fit.at(kib(bytes)));
    let of_depth = depth.map_or(String::new(), |depth| format!(", {depth} deep"));
    Some(Cost {
        path: format!("{}{of_depth}", path.words()),
        rw: path.rw,
        pattern: path.pattern,
        cache: path.cache,
        bound,
        fixed_us: fit.intercept_interval(),
        marginal_us_per_kib: fit.slope_interval(),
        core_saturates_mbps: [0, 1].map(|end| ends[end] as f64 / cost_us[end]),
        core_saturates_iops: 1e6 / cost_us[0],
        ms_per_mb: [0, 1].map(|end| cost_us[end] * 1e3 / ends[end] as f64),
        cells: cells.len(),
    })
}

fn line<'a>(cells: impl Iterator<Item = &'a CellFinding>, bound: Bound) -> Option<LineFit> {
    let points: Vec<(f64, f64)> = cells.map(|c| (kib(c.bs_bytes), cost_us(c, bound).unwrap_or(0.0))).collect();
    fit_line(&points)
}

/// Microseconds a request, in one bound.
fn cost_us(cell: &CellFinding, bound: Bound) -> Option<f64> {
    match bound {
        Bound::Charged => Some(cell.charged_us),
        Bound::Soaker => cell.soaker_us,
    }
}

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

/// The depth that stands for the path where depth matters: of those with a fit the one with most sizes in the
/// soaker's pass, then most sizes, then the deepest.
fn telling_depth(path: &Path<'_>) -> Option<u32> {
    let all = line(path.usable(), Bound::Charged)?;
    if all.scatter <= SCATTERED {
        return None;
    }
    let mut depths: Vec<u32> = path.usable().map(|cell| cell.iodepth).collect();
    depths.dedup();
    let at = |depth: u32| path.usable().filter(move |cell| cell.iodepth == depth);
    let fits: Vec<(u32, LineFit)> =
        depths.iter().filter_map(|depth| Some((*depth, line(at(*depth), Bound::Charged)?))).collect();
    let (squares, freedom) = fits.iter().fold((0.0, 0), |(squares, freedom), (_, fit)| {
        let own = fit.points.saturating_sub(2);
        (squares + fit.scatter.powi(2) * own as f64, freedom + own)
    });
    if freedom == 0 || (squares / freedom as f64).sqrt() > all.scatter / 2.0 {
        return None;
    }
    let soaked = |depth: u32| at(depth).filter(|cell| cell.soaker_us.is_some()).count();
    fits.into_iter().map(|(depth, fit)| (soaked(depth), fit.points, depth)).max().map(|(_, _, depth)| depth)
}
