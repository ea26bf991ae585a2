//! Divides a buffered request's processor time into three terms per direction: the call, the copy of each byte, and the
//! kernel's other work for each 64 KiB.
//!
//! Source: Chung, Gray, Worthington, Horst (2000), section 8.2. The first two terms are charged to the process and come
//! from a line fitted over block sizes. The third is what the soaker lost beyond that charge.

use halfpower_spec::{Direction, JsonSchema, Pass};
use serde::Serialize;

use halfpower_analyse::{Bound, CellFinding, Cost, ExperimentCell, Interval, costs};

/// A page of memory. Smaller writes read their page first, so they are left out of these terms.
pub(crate) const PAGE_BYTES: u64 = 4096;
/// The unit of the third term: how much the papers' systems wrote behind at a time.
pub(super) const UNIT_BYTES: f64 = 65_536.0;

/// The cost terms of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BufferedCostRow {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Charged per request, whatever its size, in microseconds.
    pub call_us: Interval,
    /// Charged per byte, in nanoseconds: the copy, and the work for each page.
    pub copy_ns_per_byte: Interval,
    /// Time per 64 KiB that is charged to no process, in microseconds: interrupts, read-ahead, write-behind; `null`
    /// without a soaker pass.
    pub behind_us_per_64kib: Option<Interval>,
    /// Block size from which direct requests cost less processor time; `null` if the intervals do not show one.
    pub break_even_bytes: Option<f64>,
    /// Which requests cost less processor time.
    pub cheaper: Cheaper,
    /// The cost bound behind `cheaper`: the soaker's, or the charge alone if the soaker's decides nothing.
    pub cheaper_by: Option<Bound>,
}

/// Which requests cost less processor time, as far as the intervals show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cheaper {
    /// Buffered requests up to a block size, direct ones from there on.
    DirectFromASize,
    /// Direct requests at any block size.
    Direct,
    /// Buffered requests at any block size.
    Buffered,
    /// The intervals do not decide.
    Unknown,
}

/// The terms of reads and of writes, if the walk has enough cells for a line.
pub(crate) fn terms(cells: &[&ExperimentCell]) -> Vec<BufferedCostRow> {
    let whole = |cell: &&&ExperimentCell| cell.workload.options.is_default() && cell.workload.bs.0 >= PAGE_BYTES;
    let walk: Vec<&ExperimentCell> = cells.iter().filter(whole).copied().collect();
    let findings: Vec<CellFinding> = walk.iter().map(|cell| cell.finding.clone()).collect();
    let lines = costs(&findings);
    Direction::ALL.iter().filter_map(|rw| of(*rw, &walk, &lines)).collect()
}

fn of(rw: Direction, walk: &[&ExperimentCell], lines: &[Cost]) -> Option<BufferedCostRow> {
    let line = |direct: bool, bound: Bound| {
        lines.iter().find(|line| line.rw == rw && line.cache.direct() == direct && line.bound == bound)
    };
    let charged = line(false, Bound::Charged)?;
    let verdict = |bound: Bound| {
        let (cheaper, bytes) = cheaper(line(false, bound)?, line(true, bound)?)?;
        Some((cheaper, bytes, Some(bound)))
    };
    let verdict = verdict(Bound::Soaker).or_else(|| verdict(Bound::Charged));
    let (cheaper, break_even_bytes, cheaper_by) = verdict.unwrap_or((Cheaper::Unknown, None, None));
    let copy = charged.marginal_us_per_kib;
    let ns = |us_per_kib: f64| us_per_kib * 1e3 / 1024.0;
    Some(BufferedCostRow {
        rw,
        call_us: charged.fixed_us,
        copy_ns_per_byte: Interval { value: ns(copy.value), low: ns(copy.low), high: ns(copy.high) },
        behind_us_per_64kib: behind(rw, walk),
        break_even_bytes,
        cheaper,
        cheaper_by,
    })
}

/// Time per 64 KiB beyond the charge: the mean over the soaker's runs; `None` with fewer than two.
fn behind(rw: Direction, walk: &[&ExperimentCell]) -> Option<Interval> {
    let buffered = walk.iter().filter(|cell| cell.finding.rw == rw && !cell.workload.cache.direct());
    let records = buffered.flat_map(|cell| &cell.records);
    let soaked = records.filter(|record| record.run.pass == Pass::Soaker && record.cpu.ios > 0);
    let each = soaked.filter_map(|record| {
        let lost_ns = record.cpu.soaker.as_ref()?.lost_ns as f64;
        let bytes = record.cpu.ios as f64 * record.run.workload.bs.0 as f64;
        Some((lost_ns - record.cpu.charged_ns() as f64) / 1e3 / bytes * UNIT_BYTES)
    });
    let each: Vec<f64> = each.collect();
    (each.len() > 1).then(|| Interval::of_means(&each))
}

/// Compares two lines over block size by intercept and slope; `None` if the intervals do not decide.
fn cheaper(buffered: &Cost, direct: &Cost) -> Option<(Cheaper, Option<f64>)> {
    let less = |one: &Interval, other: &Interval| one.high < other.low;
    let begins = |cost: &Cost| cost.fixed_us;
    let rises = |cost: &Cost| cost.marginal_us_per_kib;
    // A line through two points fits exactly, so its error is unknown.
    if buffered.cells.min(direct.cells) <= 2 {
        return None;
    }
    let is_less = |one: &Cost, other: &Cost| [begins, rises].map(|part| less(&part(one), &part(other)));
    match (is_less(buffered, direct), is_less(direct, buffered)) {
        ([true, false], [false, true]) => {
            let gain_us = begins(direct).value - begins(buffered).value;
            let kib = gain_us / (rises(buffered).value - rises(direct).value);
            Some((Cheaper::DirectFromASize, Some(kib * 1024.0)))
        }
        ([true, true], _) => Some((Cheaper::Buffered, None)),
        (_, [true, true]) => Some((Cheaper::Direct, None)),
        _ => None,
    }
}
