//! Breaks down the processors' time of each path, including the time that no process was charged for.
//!
//! The kernel accounts for the machine in whole ticks, too coarse for one cell, so only paths are reported. The soaker
//! ran in a separate pass at another rate; its time a request is scaled to the rate of the plain runs.

use crate::Attribution;
use crate::cells::{CellWithRecords, Processors};
use crate::mean::quotient;
use crate::path::MeasuredPath;

/// One for each path whose plain runs include the machine's accounting.
pub(crate) fn attribution(gathered: &[CellWithRecords], paths: &[MeasuredPath<'_>]) -> Vec<Attribution> {
    let of_path = |path: &MeasuredPath<'_>| {
        let same = |cell: &&CellWithRecords| cell.finding.path() == path.settings && cell.finding.usable();
        let reported: Vec<&CellWithRecords> =
            gathered.iter().filter(same).filter(|cell| cell.processors.span_ns > 0.0).collect();
        // If the soaker had a pass, both bounds use the same cells.
        let soaked: Vec<&CellWithRecords> =
            reported.iter().copied().filter(|cell| cell.finding.unseen_us.is_some()).collect();
        attribute(path, if soaked.is_empty() { &reported } else { &soaked })
    };
    paths.iter().filter_map(of_path).collect()
}

fn attribute(path: &MeasuredPath<'_>, cells: &[&CellWithRecords]) -> Option<Attribution> {
    let sum = |of: &dyn Fn(&CellWithRecords) -> f64| cells.iter().map(|cell| of(cell)).sum::<f64>();
    let span_ns = sum(&|cell| cell.processors.span_ns);
    let cores = |of: fn(&Processors) -> f64| quotient(sum(&|cell| of(&cell.processors)), span_ns);
    let idle = quotient(sum(&|cell| cell.processors.idle_cores.unwrap_or(0.0) * cell.processors.span_ns), span_ns);
    let charged = cores(|p| p.charged_ns);
    let irq = cores(|p| p.irq_ns);
    let softirq = cores(|p| p.softirq_ns);
    let elsewhere = (cores(|p| p.own_kinds_ns) - charged - idle).max(0.0);
    let unseen_ns = |cell: &CellWithRecords| {
        let a_second = cell.finding.unseen_us.unwrap_or(0.0) * cell.finding.iops / 1e6;
        a_second * cell.processors.span_ns
    };
    let soaked = cells.iter().any(|cell| cell.finding.unseen_us.is_some());
    let soaker = soaked.then(|| charged + quotient(sum(&unseen_ns).max(0.0), span_ns));
    let known = charged + elsewhere + irq + softirq;
    (!cells.is_empty() && known.is_finite()).then(|| Attribution {
        path: path.settings,
        charged_cores: charged,
        elsewhere_cores: elsewhere,
        irq_cores: irq,
        softirq_cores: softirq,
        unattributed_cores: soaker.map(|soaker| (soaker - known).max(0.0)),
        soaker_cores: soaker,
        cells: cells.len(),
    })
}
