//! `alignment`: what do requests lose that begin off the boundaries of chunks, pages and blocks?

use halfpower_spec::{Bytes, Workload, WorkloadOptions};

use super::rows::{AlignmentRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::{Ratio, Scale};
use crate::section::{Axis, Line, Picture, PictureKind, Point, Told};
use halfpower_analyse::ExperimentCell;
use halfpower_analyse::Interval;
use halfpower_text::format;
use halfpower_text::path_words;

/// Losses that the answer names one by one; the report's table has all of them.
const NAMED: usize = 3;

/// A shifted cell and what it is of the aligned one.
struct Shifted<'a> {
    cell: &'a ExperimentCell<'a>,
    of_aligned: Ratio,
}

pub(super) fn tell(evidence: &ExperimentData, rows: &mut Rows) -> Told {
    let scale = Scale::of(evidence.sound());
    let mut cells: Vec<&ExperimentCell> = evidence.sound().collect();
    // The smallest direct requests first, each kind by its shift.
    cells.sort_by_key(|cell| (!cell.workload.cache.direct(), cell.workload.bs, cell.workload));
    let ratio = |cell: &ExperimentCell| {
        let aligned = cells.iter().find(|other| other.workload == aligned(&cell.workload))?;
        (shift(cell) > 0).then(|| scale.times(&[cell], &[aligned]))?
    };
    rows.alignment.extend(cells.iter().map(|cell| row(cell, ratio(cell))));
    let shifted: Vec<Shifted> =
        cells.iter().filter_map(|cell| Some(Shifted { cell, of_aligned: ratio(cell)? })).collect();
    let pictures = [shares(&shifted), rates(&cells)];
    Told { answer: answer(&shifted), pictures: pictures.into_iter().flatten().collect() }
}

fn shift(cell: &ExperimentCell) -> u64 {
    cell.workload.options.misalign.0
}

fn aligned(workload: &Workload) -> Workload {
    Workload { options: WorkloadOptions { misalign: Bytes(0), ..workload.options }, ..*workload }
}

fn row(cell: &ExperimentCell, of_aligned: Option<Ratio>) -> AlignmentRow {
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
        of_aligned: of_aligned.map(|ratio| ratio.interval()),
    }
}

/// `random direct writes of 4 KiB, 8 deep`.
fn kind(cell: &ExperimentCell) -> String {
    let finding = &cell.finding;
    let path = path_words(finding.pattern, finding.cache, finding.rw);
    format!("{path}s of {}, {} deep", format::size(finding.bs_bytes as f64), finding.iodepth)
}

fn answer(shifted: &[Shifted]) -> String {
    if shifted.is_empty() {
        return "No request could be set beside an aligned one.".to_string();
    }
    let kinds = worst_of_each_kind(shifted);
    let is_lossy = |one: &&&Shifted| one.of_aligned.is_less() && !one.of_aligned.is_one();
    let mut lose: Vec<&Shifted> = kinds.iter().filter(is_lossy).copied().collect();
    lose.sort_by(|one, other| one.of_aligned.interval().value.total_cmp(&other.of_aligned.interval().value));
    let (of, alike) = (kinds.len(), kinds.iter().filter(|one| one.of_aligned.is_one()).count());
    let is_faster = |one: &&&Shifted| one.of_aligned.is_more() && !one.of_aligned.is_one();
    let faster = kinds.iter().filter(is_faster).count();
    let mut clauses = Vec::new();
    if !lose.is_empty() {
        let named: Vec<String> = lose.iter().take(NAMED).map(|one| loss(one)).collect();
        let more = lose.len().saturating_sub(NAMED);
        let more = if more > 0 { format!("; {more} more kinds lose less than these") } else { String::new() };
        clauses.push(named.join("; ") + &more);
    }
    if faster > 0 {
        clauses.push(format!("{faster} of {of} kinds of shifted requests are faster than aligned ones"));
    }
    let open = of - lose.len() - alike - faster;
    let rest = match (alike, open) {
        (0, 0) => "no kind of shifted requests comes within 10% of aligned ones".to_string(),
        (alike, 0) => format!("{alike} of {of} kinds of shifted requests come within 10% of aligned ones"),
        (0, open) if open == of => {
            format!("these runs cannot tell whether any of {of} kinds of shifted requests loses")
        }
        (0, open) => format!("of {open} of {of} kinds of shifted requests these runs cannot tell"),
        (alike, open) => format!(
            "{alike} of {of} kinds of shifted requests come within 10% of aligned ones, and of {open} these runs cannot \
             tell"
        ),
    };
    if alike + open > 0 || faster == 0 {
        clauses.push(rest);
    }
    crate::section::sentence(&clauses.join("; "))
}

/// Of each kind of request the shift that keeps least.
fn worst_of_each_kind<'a>(shifted: &'a [Shifted<'a>]) -> Vec<&'a Shifted<'a>> {
    let same = |one: &Shifted, other: &Shifted| aligned(&one.cell.workload) == aligned(&other.cell.workload);
    let kept = |one: &Shifted| one.of_aligned.interval().value;
    let is_worst = |one: &&Shifted| shifted.iter().all(|other| !same(one, other) || kept(one) <= kept(other));
    let mut worst: Vec<&Shifted> = shifted.iter().filter(is_worst).collect();
    worst.dedup_by(|one, other| same(one, other));
    worst
}

/// What one kind keeps.
fn loss(one: &Shifted) -> String {
    let by = format::size(shift(one.cell) as f64);
    format!("{}, keep {} of their rate when they begin {by} later", kind(one.cell), one.of_aligned.share())
}

/// A line a kind, a bar a shift: `of` makes the value of a cell. The names of kinds are long, and shifts are not.
fn lines<'a>(
    cells: impl Iterator<Item = &'a ExperimentCell<'a>> + Clone,
    of: impl Fn(&ExperimentCell) -> Interval,
) -> Vec<Line> {
    let begin = |cell: &ExperimentCell| match shift(cell) {
        0 => "aligned".to_string(),
        shift => format!("{} later", format::size(shift as f64)),
    };
    let mut kinds: Vec<&ExperimentCell> = cells.clone().collect();
    kinds.dedup_by_key(|cell| aligned(&cell.workload));
    let line = |of_kind: &&ExperimentCell| Line {
        name: kind(of_kind),
        points: cells
            .clone()
            .filter(|cell| aligned(&cell.workload) == aligned(&of_kind.workload))
            .map(|cell| Point::named(begin(cell), of(cell)))
            .collect(),
    };
    kinds.iter().map(line).collect()
}

fn shares(shifted: &[Shifted]) -> Option<Picture> {
    let percent = |cell: &ExperimentCell| {
        let of = shifted.iter().find(|one| one.cell.workload == cell.workload);
        let Interval { value, low, high } = of.map_or(Interval::exact(0.0), |one| one.of_aligned.interval());
        Interval { value: value * 100.0, low: low * 100.0, high: high * 100.0 }
    };
    (!shifted.is_empty()).then(|| Picture {
        title: "What shifted requests keep".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Where requests begin"),
        y: Axis::even("% of aligned"),
        lines: lines(shifted.iter().map(|one| one.cell), percent),
    })
}

fn rates(cells: &[&ExperimentCell]) -> Option<Picture> {
    (!cells.is_empty()).then(|| Picture {
        title: "Throughput, aligned and shifted".to_string(),
        kind: PictureKind::Bars,
        x: Axis::even("Where requests begin"),
        y: Axis::even("MB/s"),
        lines: lines(cells.iter().copied(), |cell| cell.finding.mbps),
    })
}
