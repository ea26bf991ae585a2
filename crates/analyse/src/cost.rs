//! Fits what a request costs the processor: fixed + marginal x KiB, for each path and bound.
//!
//! The two bounds are those of Chung, Gray, Worthington, Horst (2000), section 4.2: the lower bound is what the process
//! was charged, the upper bound what the soaker lost. Every cell has a charge but only a few have a soaker pass, so the
//! soaker's line is the charged line plus a line through the loss beyond the charge in the same pass. This makes the
//! two comparable, whichever cells each uses.

use crate::fit::{LineFit, fit_line, fit_line_to_scale};
use crate::interval::resampled;
use crate::path::{MeasuredPath, paths};
use crate::{Bound, CellFinding, Cost, Interval};

/// Scatter above which the line over all depths is checked depth by depth.
const SCATTERED: f64 = 0.1;

/// Processor time of a request on each path, lower and upper bound, for paths with at least two block sizes.
///
/// All depths enter one fit unless depth matters: if the line over all of them misses by more than 10% and a line for
/// each depth would miss by less than half of that, one depth represents the path.
pub fn costs(cells: &[CellFinding]) -> Vec<Cost> {
    let paths = paths(cells);
    let mut bills: Vec<Bill<'_>> = paths.iter().filter_map(Bill::of).collect();
    share_soaker_error(&mut bills);
    bills.iter().flat_map(Bill::costs).collect()
}

/// A path's two fits.
struct Bill<'a> {
    path: &'a MeasuredPath<'a>,
    /// The depth that represents the path, if depth matters.
    depth: Option<u32>,
    cells: Vec<&'a CellFinding>,
    charged: LineFit,
    /// What the soaker lost beyond the charge, and the number of cells behind it.
    unseen: Option<(LineFit, usize)>,
}

impl<'a> Bill<'a> {
    fn of(path: &'a MeasuredPath<'a>) -> Option<Self> {
        let of_depth = |depth: Option<u32>| {
            let chosen = |cell: &&CellFinding| {
                depth.is_none_or(|depth| cell.iodepth == depth) && cell.charged_us.is_some_and(|us| us > 0.0)
            };
            let cells: Vec<&CellFinding> = path.usable().filter(chosen).collect();
            Some((depth, line(cells.iter().copied())?, cells))
        };
        let (depth, charged, cells) = telling_depth(path).and_then(|depth| of_depth(Some(depth))).or(of_depth(None))?;
        let unseen = unseen(&cells).or_else(|| unseen(&path.usable().collect::<Vec<_>>()));
        Some(Self { path, depth, cells, charged, unseen })
    }

    fn costs(&self) -> Vec<Cost> {
        let [fixed, marginal] = self.charged_intervals();
        let charged = self.cost(Bound::Charged, fixed, marginal, self.cells.len());
        let soaker = self.unseen.as_ref().map(|(unseen, cells)| {
            let [fixed, marginal] = self.charged.sum(unseen);
            self.cost(Bound::Soaker, fixed, marginal, *cells)
        });
        std::iter::once(charged).chain(soaker).collect()
    }

    /// By resampling runs if every cell has enough of them, otherwise by regression.
    fn charged_intervals(&self) -> [Interval; 2] {
        let fixed = self.charged.intercept_interval();
        let marginal = self.charged.slope_interval();
        let runs: Vec<&[f64]> = self.cells.iter().map(|cell| cell.run_charged_us.as_slice()).collect();
        let sizes: Vec<f64> = self.cells.iter().map(|cell| kib(cell.bs_bytes)).collect();
        let of = |part: fn(&LineFit) -> f64| {
            resampled(&runs, |means| {
                let points: Vec<(f64, f64)> = sizes.iter().copied().zip(means.iter().copied()).collect();
                fit_line(&points).map(|fit| part(&fit))
            })
        };
        [(fixed, of(|fit| fit.intercept)), (marginal, of(|fit| fit.slope))].map(|(by_line, by_runs)| match by_runs {
            Some((low, high)) => {
                Interval { value: by_line.value, low: low.min(by_line.value), high: high.max(by_line.value) }
            }
            None => by_line,
        })
    }

    fn cost(&self, bound: Bound, fixed_us: Interval, marginal: Interval, cells: usize) -> Cost {
        let sizes = self.cells.iter().map(|cell| cell.bs_bytes);
        let ends = [sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0)];
        let cost_us = ends.map(|bytes| fixed_us.value + marginal.value * kib(bytes));
        Cost {
            path: self.path.settings,
            iodepth: self.depth,
            bound,
            fixed_us,
            marginal_us_per_kib: marginal,
            core_saturates_mbps: [0, 1].map(|end| ends[end] as f64 / cost_us[end]),
            core_saturates_iops: 1e6 / cost_us[0],
            ms_per_mb: [0, 1].map(|end| cost_us[end] * 1e3 / ends[end] as f64),
            cells,
        }
    }
}

fn line<'a>(cells: impl Iterator<Item = &'a CellFinding>) -> Option<LineFit> {
    let points: Vec<(f64, f64)> = cells.filter_map(|cell| Some((kib(cell.bs_bytes), cell.charged_us?))).collect();
    fit_line(&points)
}

/// Loss of the soaker beyond the charge, against size. The error of each cell is a share of the time between two of its
/// requests, because what disturbs the soaker depends on time.
fn unseen(cells: &[&CellFinding]) -> Option<(LineFit, usize)> {
    let soaked: Vec<(f64, f64, f64)> = cells
        .iter()
        .filter_map(|cell| Some((kib(cell.bs_bytes), cell.unseen_us?, cell.time_per_request_us())))
        .filter(|(_, _, time_us)| time_us.is_finite())
        .collect();
    let points: Vec<(f64, f64)> = soaked.iter().map(|(size, unseen, _)| (*size, *unseen)).collect();
    let scale: Vec<f64> = soaked.iter().map(|(_, _, time_us)| *time_us).collect();
    Some((fit_line_to_scale(&points, &scale)?, points.len()))
}

/// The soaker's error is the same share of time on every path, so all paths together estimate it: three sizes on one
/// path leave a single degree of freedom.
fn share_soaker_error(bills: &mut [Bill<'_>]) {
    let fits = bills.iter().filter_map(|bill| bill.unseen.as_ref());
    let (squares, freedom) = fits.fold((0.0, 0), |(squares, freedom), (fit, _)| {
        let own = fit.residuals();
        (squares + own.0, freedom + own.1)
    });
    if freedom > 0 {
        let of_point = squares / freedom as f64;
        bills
            .iter_mut()
            .filter_map(|bill| bill.unseen.as_mut())
            .for_each(|(fit, _)| *fit = fit.with_error(of_point, freedom));
    }
}

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

/// The depth that represents the path if depth matters: among those with a fit, the one with most sizes in the soaker's
/// pass, then most sizes, then the deepest.
fn telling_depth(path: &MeasuredPath<'_>) -> Option<u32> {
    let all = line(path.usable())?;
    if all.scatter <= SCATTERED {
        return None;
    }
    let mut depths: Vec<u32> = path.usable().map(|cell| cell.iodepth).collect();
    depths.dedup();
    let at = |depth: u32| path.usable().filter(move |cell| cell.iodepth == depth);
    let fits: Vec<(u32, LineFit)> = depths.iter().filter_map(|depth| Some((*depth, line(at(*depth))?))).collect();
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
