//! Finds the block size from which a path gives half of its best throughput, for each depth.
//!
//! Half power is RAP >= PAP/2 (Riedel, van Ingen, Gray, 1998). It is reported twice: as the smallest measured size that
//! reaches half of the curve's own peak, and as n1/2 = a/b of the fit time = a + b x size (R. Hockney, The n1/2 method,
//! 1982), which does not depend on the choice of sizes.

use halfpower_spec::Question;

use crate::fit::{LineFit, fit_line};
use crate::interval::resampled;
use crate::ladder::narrowest_pap;
use crate::path::{MeasuredPath, leading, paths};
use crate::regime::{Regimes, regimes};
use crate::{CellFinding, Curve, PathLevel};

/// Rounding error allowed in half of a peak.
const ROUNDING: f64 = 1e-9;

/// Throughput against block size, a curve for each pattern, direction, cache setting and depth of `cells`.
///
/// Cells that a cache answered are not on a curve, unless it has no others. A depth at which nothing was moved without
/// errors has no curve. `levels` are those of [`crate::levels`].
pub fn curves(question: &Question, levels: &[PathLevel], cells: &[CellFinding]) -> Vec<Curve> {
    let of_path = |path: MeasuredPath<'_>| {
        let regimes = regimes(path.usable());
        curves_of(question, levels, &path, &regimes)
    };
    paths(cells).into_iter().flat_map(of_path).collect()
}

pub(crate) fn curves_of(
    question: &Question,
    levels: &[PathLevel],
    path: &MeasuredPath<'_>,
    regimes: &Regimes<'_>,
) -> Vec<Curve> {
    let mut depths: Vec<u32> = path.cells.iter().map(|cell| cell.iodepth).collect();
    depths.dedup();
    depths.into_iter().filter_map(|iodepth| curve(question, levels, path, regimes, iodepth)).collect()
}

fn curve(
    question: &Question,
    levels: &[PathLevel],
    path: &MeasuredPath<'_>,
    regimes: &Regimes<'_>,
    iodepth: u32,
) -> Option<Curve> {
    let at_depth = path.cells.iter().copied().filter(|cell| cell.iodepth == iodepth);
    let moved: Vec<&CellFinding> = at_depth.filter(|cell| cell.mbps.value > 0.0 && cell.errors == 0).collect();
    let any_usable = moved.iter().any(|cell| cell.usable());
    let on_curve: Vec<&CellFinding> = moved.into_iter().filter(|cell| cell.usable() || !any_usable).collect();
    let peak = leading(on_curve.iter().copied())?;
    let half = peak.mbps.value / 2.0 * (1.0 - ROUNDING);
    let reaching = on_curve.iter().filter(|cell| cell.mbps.value >= half).map(|cell| cell.bs_bytes);
    let half_power_bs_bytes = reaching.min().expect("the peak reaches half of itself");
    let falls_below = |cell: &&CellFinding| cell.bs_bytes > half_power_bs_bytes && cell.mbps.value < half;
    let half_power_holds = !on_curve.iter().any(falls_below);
    let line = depth_line(regimes, iodepth);
    let interval = resampled_n_half(regimes, iodepth).or_else(|| line.and_then(|line| line.ratio_interval()));
    let repeated = any_usable && peak.run_mbps.len() > 1;
    let pap = narrowest_pap(levels, path.settings.rw).filter(|_| any_usable);
    Some(Curve {
        path: path.settings,
        iodepth,
        peak_mbps: peak.mbps.value,
        peak_bs_bytes: peak.bs_bytes,
        half_power_bs_bytes,
        half_power_bracketed: next_smaller(question, half_power_bs_bytes)
            .is_some_and(|smaller| on_curve.iter().any(|cell| cell.bs_bytes == smaller)),
        half_power_holds,
        n_half_bytes: line.and_then(|line| line.ratio()),
        n_half_low_bytes: interval.map(|(low, _)| low),
        n_half_high_bytes: interval.map(|(_, high)| high),
        rap_over_pap: pap.map(|pap| peak.mbps.value / pap),
        rap_over_pap_low: pap.filter(|_| repeated).map(|pap| peak.mbps.low.max(0.0) / pap),
        rap_over_pap_high: pap.filter(|_| repeated).map(|pap| peak.mbps.high / pap),
    })
}

/// Time between completions against size at one depth, in microseconds and bytes, over the cells that no ceiling
/// limits: under a ceiling, the time does not describe the request.
pub(crate) fn depth_line(regimes: &Regimes<'_>, iodepth: u32) -> Option<LineFit> {
    let points: Vec<(f64, f64)> =
        own(regimes, iodepth).map(|cell| (cell.bs_bytes as f64, cell.time_per_request_us())).collect();
    fit_line(&points)
}

/// The cells of one depth that no ceiling limits.
fn own<'a>(regimes: &'a Regimes<'_>, iodepth: u32) -> impl Iterator<Item = &'a CellFinding> {
    let own = regimes.cells.iter().filter(move |(cell, regime)| cell.iodepth == iodepth && regime.is_own());
    own.map(|(cell, _)| *cell)
}

/// The interval of n1/2 by resampling runs, if every cell behind it has enough of them.
fn resampled_n_half(regimes: &Regimes<'_>, iodepth: u32) -> Option<(f64, f64)> {
    let (sizes, runs): (Vec<f64>, Vec<&[f64]>) =
        own(regimes, iodepth).map(|cell| (cell.bs_bytes as f64, cell.run_mbps.as_slice())).unzip();
    let value = depth_line(regimes, iodepth)?.ratio()?;
    let (low, high) = resampled(&runs, |means| {
        let points: Vec<(f64, f64)> = sizes.iter().zip(means).map(|(size, mbps)| (*size, size / mbps)).collect();
        fit_line(&points)?.ratio()
    })?;
    Some((low.min(value), high.max(value)))
}

fn next_smaller(question: &Question, bs_bytes: u64) -> Option<u64> {
    question.bs.iter().map(|bs| bs.0).filter(|bs| *bs < bs_bytes).max()
}
