//! Compares requests that begin off the boundaries of chunks, pages and blocks with the same requests aligned.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{Bytes, Workload, WorkloadOptions};

use super::answer::{AlignmentAnswer, ShiftedKind};
use super::rows::{AlignmentRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::Scale;
use crate::ratio_finding::RatioFinding;

/// A shifted cell, and its rate as a share of the aligned cell's.
struct Shifted<'a> {
    cell: &'a ExperimentCell<'a>,
    of_aligned: RatioFinding,
}

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, AlignmentAnswer) {
    let scale = Scale::of(data.sound());
    let mut cells: Vec<&ExperimentCell> = data.sound().collect();
    // Direct requests before buffered ones, then smallest first, each kind sorted by shift.
    cells.sort_by_key(|cell| (!cell.workload.cache.direct(), cell.workload.bs, cell.workload));
    let ratio = |cell: &ExperimentCell| {
        let aligned = cells.iter().find(|other| other.workload == aligned(&cell.workload))?;
        (shift(cell) > 0).then(|| scale.times(&[cell], &[aligned]))?
    };
    let rows = Rows { alignment: cells.iter().map(|cell| row(cell, ratio(cell))).collect() };
    let shifted: Vec<Shifted> =
        cells.iter().filter_map(|cell| Some(Shifted { cell, of_aligned: ratio(cell)? })).collect();
    (rows, answer(&shifted))
}

fn shift(cell: &ExperimentCell) -> u64 {
    cell.workload.options.misalign.0
}

fn aligned(workload: &Workload) -> Workload {
    Workload { options: WorkloadOptions { misalign: Bytes(0), ..workload.options }, ..*workload }
}

fn row(cell: &ExperimentCell, of_aligned: Option<RatioFinding>) -> AlignmentRow {
    let Interval { value, low, high } = cell.finding.mbps;
    AlignmentRow {
        shift_bytes: shift(cell),
        bs_bytes: cell.finding.bs_bytes,
        cache: cell.finding.cache,
        rw: cell.finding.rw,
        pattern: cell.finding.pattern,
        iodepth: cell.finding.iodepth,
        mbps: value,
        low,
        high,
        iops: cell.finding.iops,
        of_aligned: of_aligned.map(|ratio| ratio.interval),
    }
}

fn answer(shifted: &[Shifted]) -> AlignmentAnswer {
    let kinds = worst_of_each_kind(shifted);
    let count = |is_so: fn(&RatioFinding) -> bool| kinds.iter().filter(|one| is_so(&one.of_aligned)).count();
    let is_lossy = |one: &&&Shifted| one.of_aligned.is_less() && !one.of_aligned.is_alike();
    let mut lose: Vec<ShiftedKind> = kinds.iter().filter(is_lossy).map(|one| kind(one)).collect();
    lose.sort_by(|one, other| one.of_aligned.interval.value.total_cmp(&other.of_aligned.interval.value));
    let alike = count(RatioFinding::is_alike);
    let faster = count(|ratio| ratio.is_more() && !ratio.is_alike());
    let unclear = kinds.len() - lose.len() - alike - faster;
    AlignmentAnswer { kinds: kinds.len(), lose, alike, faster, unclear }
}

/// For each kind of request, the shift that keeps the smallest share of the rate.
fn worst_of_each_kind<'a>(shifted: &'a [Shifted<'a>]) -> Vec<&'a Shifted<'a>> {
    let same = |one: &Shifted, other: &Shifted| aligned(&one.cell.workload) == aligned(&other.cell.workload);
    let kept = |one: &Shifted| one.of_aligned.interval.value;
    let is_worst = |one: &&Shifted| shifted.iter().all(|other| !same(one, other) || kept(one) <= kept(other));
    let mut worst: Vec<&Shifted> = shifted.iter().filter(is_worst).collect();
    worst.dedup_by(|one, other| same(one, other));
    worst
}

fn kind(one: &Shifted) -> ShiftedKind {
    let finding = &one.cell.finding;
    ShiftedKind {
        pattern: finding.pattern,
        cache: finding.cache,
        rw: finding.rw,
        bs_bytes: finding.bs_bytes,
        iodepth: finding.iodepth,
        shift_bytes: shift(one.cell),
        of_aligned: one.of_aligned,
    }
}
