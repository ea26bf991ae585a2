//! Fits both ends' bills, fixed + marginal x KiB a request, where a witness tells of the far end.
//!
//! Table 11 and Figure 37 of Chung, Gray, Worthington, Horst (2000) have the two bills of a file server beside each other.
//! Each way of accounting is compared with itself: what processes were charged, what the machine's ticks show beyond what
//! it spends at rest, and what the soaker lost.

use halfpower_record::{Environment, FarEndMachine, Record};
use halfpower_spec::{Cache, Direction, Pattern};
use schemars::JsonSchema;
use serde::Serialize;

use crate::fit::{LineFit, fit_line, fit_line_to_scale};
use crate::path::{MeasuredPath, paths};
use crate::{Bound, CellFinding, Cost, FarCell, Interval};

/// What is found of the far end.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FarEndFinding {
    /// The machine there.
    pub machine: FarEndMachine,
    /// Runs whose far end is known.
    pub runs: usize,
    /// Both ends' bills, of each path by each way of accounting.
    pub cost: Vec<EndsCost>,
}

/// How time is accounted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Accounting {
    /// Charged to processes: here to halfpower, there to those that the witness was told to name.
    Charged,
    /// All that the machine's ticks show, less what it spends at rest.
    Machine,
    /// All that the soaker lost.
    Soaker,
}

/// A path's bill at both ends, by one way of accounting.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EndsCost {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Cache setting.
    pub cache: Cache,
    /// How it is accounted for.
    pub by: Accounting,
    /// This end's; `None` where it is not known.
    pub near: Option<CostLine>,
    /// The far end's; `None` where it is not known.
    pub far: Option<CostLine>,
}

/// Processor time a request = fixed + marginal x KiB.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CostLine {
    /// Microseconds a request whatever its size.
    pub fixed_us: Interval,
    /// Microseconds each KiB adds.
    pub marginal_us_per_kib: Interval,
    /// Milliseconds of processor time a decimal megabyte, at the smallest and the largest block size measured.
    pub ms_per_mb: [f64; 2],
    /// Cells that the fit rests on.
    pub cells: usize,
}

/// What is found of the far end; `None` where no witness told of it.
pub(crate) fn far_end(
    environment: &Environment,
    cells: &[CellFinding],
    costs: &[Cost],
    records: &[Record],
) -> Option<FarEndFinding> {
    let machine = environment.far_end.clone()?;
    let runs = records.iter().filter(|record| record.far_end.is_some()).count();
    let paths = paths(cells);
    let cost = paths.iter().flat_map(|path| costs_of(path, costs, &machine)).collect();
    Some(FarEndFinding { machine, runs, cost })
}

/// The bills of one path, by each way of accounting that the far end has.
fn costs_of(path: &MeasuredPath<'_>, costs: &[Cost], machine: &FarEndMachine) -> Vec<EndsCost> {
    let of = |figure: &dyn Fn(&CellFinding, &FarCell) -> Option<f64>| -> Vec<(f64, f64, f64)> {
        let point = |cell: &CellFinding| {
            let us = figure(cell, cell.far_end.as_ref()?)?;
            Some((cell.bs_bytes as f64 / 1024.0, us, cell.time_per_request_us()))
        };
        path.usable().filter_map(point).filter(|(_, _, time_us)| time_us.is_finite()).collect()
    };
    let known = |bound| costs.iter().find(|cost| cost.bound == bound && cost_is_of(cost, path)).map(CostLine::of);
    let at_rest = |cores: Option<f64>, far: &FarCell| cores.unwrap_or(0.0) * far.span_us;
    let far_machine = of(&|_, far| Some(far.machine_us - at_rest(machine.idle_cores, far)));
    let near_machine = of(&|_, far| Some(far.near_machine_us? - at_rest(machine.idle_cores_here, far)));
    let rows = [
        (Accounting::Charged, known(Bound::Charged), exact(&of(&|_, far| far.processes_us))),
        (Accounting::Machine, by_time(&near_machine), by_time(&far_machine)),
        (Accounting::Soaker, known(Bound::Soaker), by_time(&of(&|_, far| far.soaker_us))),
    ];
    let (rw, pattern, cache) = (path.settings.rw, path.settings.pattern, path.settings.cache);
    let has_far = rows.iter().any(|(_, _, far)| far.is_some());
    let told = rows.into_iter().filter(|(_, near, far)| has_far && (near.is_some() || far.is_some()));
    told.map(|(by, near, far)| EndsCost { rw, pattern, cache, by, near, far }).collect()
}

fn cost_is_of(cost: &Cost, path: &MeasuredPath<'_>) -> bool {
    (cost.rw, cost.pattern, cost.cache) == (path.settings.rw, path.settings.pattern, path.settings.cache)
}

/// The line through (KiB, microseconds, time between requests) of figures that err by a share of their own.
fn exact(points: &[(f64, f64, f64)]) -> Option<CostLine> {
    let line: Vec<(f64, f64)> = points.iter().map(|(kib, us, _)| (*kib, *us)).collect();
    fit_line(&line).map(|fit| CostLine::fitted(&fit, points))
}

/// The same of figures that err by a share of the time that goes by, as ticks and the soaker do.
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
