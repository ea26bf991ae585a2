//! Who else was at work while a cell was measured? The noise of its records enters, shares leave.

use record::{CpuTimes, Record};

use crate::cells::{quotient, some_mean};
use crate::warnings::{Grounds, count, words};
use crate::{CellFinding, NoiseFinding, format};

/// Share of the processors' time, or of the bytes moved, above which others are said to have been at work.
const NOTED: f64 = 0.01;

/// What the records of a cell's runs tell, each share over those runs that tell it.
pub(crate) fn noise(records: &[&Record]) -> NoiseFinding {
    NoiseFinding {
        steal_share: share(records, |r| Some((steal_ns(r)?, machine_ns(r)))),
        pressure_io_share: share(records, |r| Some((r.noise.pressure_io_ns? as f64, r.cpu.span_ns as f64))),
        pressure_cpu_share: share(records, |r| Some((r.noise.pressure_cpu_ns? as f64, r.cpu.span_ns as f64))),
        foreign_share: share(records, |r| Some((r.foreign_bytes()? as f64, ours(r)))),
        cpu_mhz: some_mean(records.iter().filter_map(|r| r.noise.cpu_mhz)),
    }
}

/// Sums of a part over sums of the whole; `None` where no record tells the part or there is no whole.
fn share(records: &[&Record], of: impl Fn(&Record) -> Option<(f64, f64)>) -> Option<f64> {
    let told: Vec<(f64, f64)> = records.iter().filter_map(|record| of(record)).collect();
    let (part, whole) = told.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (whole > 0.0).then(|| quotient(part, whole)).filter(|share| share.is_finite())
}

fn machine_ns(record: &Record) -> f64 {
    record.cpu.span_ns as f64 * record.cpu.machine.len() as f64
}

fn steal_ns(record: &Record) -> Option<f64> {
    let of = |times: &CpuTimes| times.steal_ns as f64;
    (!record.cpu.machine.is_empty()).then(|| record.cpu.machine.iter().map(of).sum())
}

/// Bytes of all requests that were submitted: the device moved those too that the window no longer counted.
fn ours(record: &Record) -> f64 {
    record.cpu.ios as f64 * record.run.workload.bs.0 as f64
}

/// A sentence each for time that the hypervisor took and for bytes that the device moved for others, or did not
/// move for us.
pub(crate) fn others_at_work(grounds: &Grounds<'_>) -> Vec<String> {
    [stolen(grounds), foreign(grounds), missing(grounds)].into_iter().flatten().collect()
}

/// Ticks are too coarse for a cell, so the study's share decides, and the cell is named that suffered most.
fn stolen(grounds: &Grounds<'_>) -> Option<String> {
    let all: Vec<&Record> = grounds.records.iter().collect();
    let steal = noise(&all).steal_share.filter(|steal| *steal > NOTED)?;
    let share = |cell: &CellFinding| cell.noise.steal_share.unwrap_or(0.0);
    let worst = grounds.cells.iter().max_by(|one, other| share(one).total_cmp(&share(other)))?;
    Some(format!(
        "The hypervisor took {} of the processors' time while this was measured, most in {}: {}. Throughput is lower \
         and latency higher than on a machine of one's own.",
        format::percent(steal),
        words(worst),
        format::percent(share(worst))
    ))
}

fn foreign(grounds: &Grounds<'_>) -> Option<String> {
    let share = |cell: &CellFinding| cell.noise.foreign_share.unwrap_or(0.0);
    let (cells, worst) = beyond(grounds.cells, share)?;
    Some(format!(
        "The device moved over {} more bytes than were asked of it in {}; most in {}: {} more. Somebody else used it, \
         or the file system wrote for itself.",
        format::percent(NOTED),
        count(cells, "cell"),
        words(worst),
        format::percent(share(worst))
    ))
}

fn missing(grounds: &Grounds<'_>) -> Option<String> {
    let share = |cell: &CellFinding| -cell.noise.foreign_share.unwrap_or(0.0);
    let (cells, worst) = beyond(grounds.cells, share)?;
    Some(format!(
        "The device moved over {} fewer bytes than were asked for in {} of direct I/O; most in {}: {} fewer. A cache or \
         the file system answered them, and they never reached the device.",
        format::percent(NOTED),
        count(cells, "cell"),
        words(worst),
        format::percent(share(worst))
    ))
}

/// How many cells are beyond what is noted, and the one that is most.
fn beyond(cells: &[CellFinding], share: impl Fn(&CellFinding) -> f64) -> Option<(usize, &CellFinding)> {
    let over: Vec<&CellFinding> = cells.iter().filter(|cell| share(cell) > NOTED).collect();
    let worst = over.iter().copied().max_by(|one, other| share(one).total_cmp(&share(other)))?;
    Some((over.len(), worst))
}
