//! Fits the processor cost at both ends, fixed + marginal x KiB a request, if a witness reports the far end.
//!
//! Table 11 and Figure 37 of Chung, Gray, Worthington, Horst (2000) show the two costs of a file server side by side.
//! Each kind of accounting is compared with itself: the charge of processes, the machine's ticks beyond its idle load,
//! and the loss of the soaker.

use halfpower_record::{Environment, FarEndMachine, Record};
use halfpower_spec::JsonSchema;
use serde::Serialize;

use crate::fit::{LineFit, fit_line, fit_line_to_scale};
use crate::path::{MeasuredPath, paths};
use crate::{Bound, CellFinding, Cost, FarCell, Interval, PathSettings};

/// The far end's findings.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FarEndFinding {
    /// The machine there.
    pub machine: FarEndMachine,
    /// Runs with a report from the far end.
    pub runs: usize,
    /// Cost at both ends, for each path and kind of accounting.
    pub cost: Vec<EndsCost>,
}

/// How time is accounted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Accounting {
    /// Charged to processes: here to halfpower, at the far end to those named to the witness.
    Charged,
    /// All that the machine's ticks show, less its idle load.
    Machine,
    /// All that the soaker lost.
    Soaker,
}

/// Cost of a path at both ends, by one kind of accounting.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EndsCost {
    /// The path.
    #[serde(flatten)]
    pub path: PathSettings,
    /// How it is accounted for.
    pub by: Accounting,
    /// This end's; `None` if not known.
    pub near: Option<CostLine>,
    /// The far end's; `None` if not known.
    pub far: Option<CostLine>,
}

/// Processor time a request = fixed + marginal x KiB.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CostLine {
    /// Microseconds a request, independent of its size.
    pub fixed_us: Interval,
    /// Microseconds each KiB adds.
    pub marginal_us_per_kib: Interval,
    /// Milliseconds of processor time a decimal megabyte, at the smallest and the largest measured block size.
    pub ms_per_mb: [f64; 2],
    /// Cells that the fit rests on.
    pub cells: usize,
}

/// The far end's findings; `None` if no witness reported.
pub(crate) fn far_end(
    environment: &Environment,
    cells: &[CellFinding],
    costs: &[Cost],
    records: &[Record],
) -> Option<FarEndFinding> {
    let machine = environment.far_end.clone()?;
    let runs = records.iter().filter(|record| record.far_end.is_some()).count();
    let paths = paths(cells);
    // What this end does at rest was counted on one of its computers, and is taken for that of each.
    let computers = environment.computers().len() as f64;
    let idle_cores_here = machine.idle_cores_here.map(|cores| cores * computers);
    let at_rest = [idle_cores_here, machine.idle_cores].map(Option::unwrap_or_default);
    let cost = paths.iter().flat_map(|path| costs_of(path, costs, at_rest)).collect();
    Some(FarEndFinding { machine, runs, cost })
}

/// The costs of one path, for each kind of accounting that the far end has. `at_rest` are the processors that this end and the far
/// end keep busy while nothing is asked.
fn costs_of(path: &MeasuredPath<'_>, costs: &[Cost], at_rest: [f64; 2]) -> Vec<EndsCost> {
    let of = |figure: &dyn Fn(&CellFinding, &FarCell) -> Option<f64>| -> Vec<(f64, f64, f64)> {
        let point = |cell: &CellFinding| {
            let us = figure(cell, cell.far_end.as_ref()?)?;
            Some((cell.bs_bytes as f64 / 1024.0, us, cell.time_per_request_us()))
        };
        path.usable().filter_map(point).filter(|(_, _, time_us)| time_us.is_finite()).collect()
    };
    let known = |bound| costs.iter().find(|cost| cost.bound == bound && cost_is_of(cost, path)).map(CostLine::of);
    let [here, there] = at_rest;
    let far_machine = of(&|_, far| Some(far.machine_us - there * far.span_us));
    let near_machine = of(&|_, far| Some(far.near_machine_us? - here * far.span_us));
    let rows = [
        (Accounting::Charged, known(Bound::Charged), exact(&of(&|_, far| far.processes_us))),
        (Accounting::Machine, by_time(&near_machine), by_time(&far_machine)),
        (Accounting::Soaker, known(Bound::Soaker), by_time(&of(&|_, far| far.soaker_us))),
    ];
    let path = path.settings;
    let has_far = rows.iter().any(|(_, _, far)| far.is_some());
    let reported = rows.into_iter().filter(|(_, near, far)| has_far && (near.is_some() || far.is_some()));
    reported.map(|(by, near, far)| EndsCost { path, by, near, far }).collect()
}

fn cost_is_of(cost: &Cost, path: &MeasuredPath<'_>) -> bool {
    (cost.rw, cost.pattern, cost.cache) == (path.settings.rw, path.settings.pattern, path.settings.cache)
}

/// The line through (KiB, microseconds, time between requests) for figures with a relative error.
fn exact(points: &[(f64, f64, f64)]) -> Option<CostLine> {
    let line: Vec<(f64, f64)> = points.iter().map(|(kib, us, _)| (*kib, *us)).collect();
    fit_line(&line).map(|fit| CostLine::fitted(&fit, points))
}

/// The same for figures whose error is a share of elapsed time, as with ticks and the soaker.
fn by_time(points: &[(f64, f64, f64)]) -> Option<CostLine> {
    let line: Vec<(f64, f64)> = points.iter().map(|(kib, us, _)| (*kib, *us)).collect();
    let scale: Vec<f64> = points.iter().map(|(_, _, time_us)| *time_us).collect();
    fit_line_to_scale(&line, &scale).map(|fit| CostLine::fitted(&fit, points))
}

impl CostLine {
    fn fitted(fit: &LineFit, points: &[(f64, f64, f64)]) -> Self {
        let sizes = points.iter().map(|(kib, _, _)| *kib);
        let ends = [sizes.clone().fold(f64::INFINITY, f64::min), sizes.fold(0.0, f64::max)];
        Self {
            fixed_us: fit.intercept_interval(),
            marginal_us_per_kib: fit.slope_interval(),
            ms_per_mb: ends.map(|kib| fit.at(kib) * 1e3 / (kib * 1024.0)),
            cells: points.len(),
        }
    }

    fn of(cost: &Cost) -> Self {
        let Cost { fixed_us, marginal_us_per_kib, ms_per_mb, cells, .. } = *cost;
        Self { fixed_us, marginal_us_per_kib, ms_per_mb, cells }
    }
}
