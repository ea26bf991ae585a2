//! Measures two targets in turns, cell by cell, until every cell is decided or the budget is spent.
//!
//! All cells go on together: each gets A B B A, then the next one, so that every cell sees the weather of the whole time and
//! a budget that is too short leaves all of them with as many pairs. A cell that is decided leaves its time to the others.

use halfpower_analyse::{DuetCell, DuetDoubt, DuetFigure, Looks, PairedFigure};
use halfpower_spec::{Nanos, Workload};

use crate::sliced_target::{SliceError, SlicedTarget};
use crate::turns::{SeenPairs, Side, Slice};

/// Pairs of a cell before the next cell has its turn.
const PAIRS_IN_TURN: usize = 2;
/// A slice that follows another target or another cell has requests before it, for this part of a slice, that are not
/// measured.
const RAMP: u64 = 5;

/// What is said of a cell of which no slice saw a request end.
const NO_REQUEST: &str = "no request ends within a slice: give a longer --slice";

/// What a duet measures, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct DuetPlan {
    /// The cells.
    pub cells: Vec<Workload>,
    /// Length of a slice.
    pub slice: Nanos,
    /// Longest time of all runs, by the clocks of the targets.
    pub budget: Nanos,
}

/// How far a duet is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuetProgress {
    /// The workload whose turn it is.
    pub workload: Workload,
    /// Number of its pair, from 1.
    pub pair: u32,
    /// Cells that need no further pair.
    pub done: usize,
    /// Time that all runs took so far.
    pub spent: Nanos,
}

/// Both targets, and which of them went last.
struct Bench<'t, 'a> {
    targets: &'t mut [SlicedTarget<'a>; 2],
    slice: Nanos,
    /// The side and the index of the cell of the last run.
    last: Option<(Side, usize)>,
}

/// What the pairs of one cell gave.
struct CellPairs {
    workload: Workload,
    seen: SeenPairs,
    latency_p50: PairedFigure,
    latency_p99: PairedFigure,
    /// Where and why a run failed.
    failed: Option<String>,
}

/// Measures the cells of a plan on two targets, A and B, and returns what each gave; all of them, if the user stops it.
pub fn conduct_duet(
    targets: &mut [SlicedTarget<'_>; 2],
    plan: &DuetPlan,
    mut shows: impl FnMut(&DuetProgress),
) -> Vec<DuetCell> {
    let looks = Looks::of_a_duet(plan.cells.len());
    let mut cells: Vec<CellPairs> = plan.cells.iter().map(|workload| CellPairs::new(*workload, looks)).collect();
    let mut bench = Bench { targets, slice: plan.slice, last: None };
    let mut goes_on = true;
    while goes_on {
        goes_on = false;
        for at in 0..cells.len() {
            for _ in 0..PAIRS_IN_TURN {
                if !cells[at].is_open() || bench.spent() >= plan.budget || bench.is_stopped() {
                    break;
                }
                goes_on = true;
                let done = cells.iter().filter(|cell| !cell.is_open()).count();
                let CellPairs { workload, seen, .. } = &cells[at];
                shows(&DuetProgress { workload: *workload, pair: seen.number(), done, spent: bench.spent() });
                cells[at].pair(at, &mut bench);
            }
        }
    }
    cells.into_iter().map(CellPairs::found).collect()
}

impl Bench<'_, '_> {
    fn spent(&self) -> Nanos {
        Nanos(self.targets.iter().map(|target| target.spent().0).sum())
    }

    fn is_stopped(&self) -> bool {
        self.targets.iter().any(SlicedTarget::is_stopped)
    }

    /// Measures a slice of this cell; an error says on which side.
    fn slice(&mut self, side: Side, cell: usize, workload: Workload) -> Result<Slice, String> {
        let [a, b] = &mut *self.targets;
        let target = if side == Side::A { a } else { b };
        let mut measured = || -> Result<Slice, SliceError> {
            if self.last != Some((side, cell)) {
                target.run(workload, Nanos(self.slice.0 / RAMP))?;
            }
            target.slice(workload, self.slice)
        };
        let slice = measured().map_err(|error| format!("{}: {error}", side.letter()));
        self.last = Some((side, cell));
        slice
    }
}

impl CellPairs {
    fn new(workload: Workload, looks: Looks) -> Self {
        Self {
            workload,
            seen: SeenPairs::looked_at(looks),
            latency_p50: PairedFigure::default(),
            latency_p99: PairedFigure::default(),
            failed: None,
        }
    }

    fn is_open(&self) -> bool {
        self.failed.is_none() && self.seen.is_open()
    }

    fn pair(&mut self, at: usize, bench: &mut Bench<'_, '_>) {
        let workload = self.workload;
        match self.seen.pair(|side| bench.slice(side, at, workload)) {
            Ok(Some([a, b])) => {
                self.latency_p50.add(a.latency_ns_p50, b.latency_ns_p50);
                self.latency_p99.add(a.latency_ns_p99, b.latency_ns_p99);
            }
            Ok(None) => {}
            // A pair that the user cut short is no failure.
            Err(_) if bench.is_stopped() => {}
            Err(what) => self.failed = Some(what),
        }
    }

    fn found(mut self) -> DuetCell {
        let is_complete = self.seen.pairs.len() >= self.seen.pairs.looks().most_pairs();
        let is_disturbed = self.seen.is_too_disturbed();
        let others = self.seen.others_share().unwrap_or(0.0);
        let is_idle = is_disturbed && self.seen.pairs.is_empty() && others == 0.0;
        self.seen.pairs.end();
        let pairs = &self.seen.pairs;
        let looks = pairs.looks();
        let doubt = match self.failed {
            Some(what) => Some(DuetDoubt::Failed { what }),
            None if pairs.verdict().is_decided() => None,
            None if is_idle => Some(DuetDoubt::Failed { what: NO_REQUEST.to_string() }),
            None if is_disturbed => Some(DuetDoubt::Disturbed),
            None if is_complete => Some(DuetDoubt::Noise),
            None => Some(DuetDoubt::TimeOver),
        };
        DuetCell {
            workload: self.workload,
            decided: pairs.verdict(),
            doubt,
            pairs: pairs.len() as u32,
            disturbed_pairs: self.seen.disturbed,
            others_share: self.seen.others_share(),
            mbps: DuetFigure::of(&pairs.rates().times(1e-6), looks),
            latency_ns_p50: DuetFigure::of(&self.latency_p50, looks),
            latency_ns_p99: DuetFigure::of(&self.latency_p99, looks),
        }
    }
}
