//! Computes the window of a run of the walks: slow cells get longer windows.
//!
//! Many short windows are better than few long ones, because variation from run to run does not average out within a
//! run. But throttles and cloud bursts work in slices of 100 ms, so only tiny budgets have shorter windows.

use halfpower_spec::{Bytes, Nanos, Question};

use crate::observed_cell::{DECIDING_RUNS, deciding_runs};
use crate::slices::Slices;

/// Share of the budget for expected windows; the rest is for preparation and for runs that noise requires.
const SHARE: f64 = 0.72;
/// Shortest and longest window, in nanoseconds.
const WINDOW_NS: (f64, f64) = (100e6, 1e9);
/// Shortest window in nanoseconds if the budget does not hold a coarse answer otherwise.
const TINY_WINDOW_NS: f64 = 20e6;
/// Runs that a path's coarse answer needs.
const COARSE_RUNS: f64 = 10.0;
/// Cells of a curve that decide: its peak and both sides of half power.
const CELLS_A_CURVE: usize = 3;
/// Further cells of a path: seeds, and steps on the way to peak and half power.
const CELLS_BESIDE: usize = 8;
/// Mean number of cells per direct path that are measured because the first screen shows them.
const CELLS_SHOWN: usize = 2;
/// Runs with the soaker per path.
const SOAKER_RUNS: f64 = 6.0;

/// Requests that a window should hold, so that those in flight when it opened are a small part.
const REQUESTS: f64 = 40.0;
/// Assumed rate of an unmeasured cell, in MB/s.
const UNSEEN_MBPS: f64 = 100.0;
/// Fewest windows of any cell, however slow, that the budget must hold.
const WINDOWS_A_BUDGET: u64 = 150;
/// First window of a deepest cell, in nanoseconds, and its largest share of the budget: long enough to see whether
/// requests complete in waves.
const LOOK_NS: u64 = 500_000_000;
const LOOK_SHARE: u64 = 40;
/// Most doublings of the usual window for a slow cell.
const DOUBLINGS: u32 = 3;

/// The long window of a confirmed cell, in nanoseconds, and its largest share of the budget: what lies behind the target
/// may hand out a credit after each pause, which short windows count as its rate.
const LONG_NS: u64 = 3_000_000_000;
const LONG_SHARE: u64 = 60;

/// Expectations of a cell before a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expectation {
    pub bs: Bytes,
    /// Bytes in flight.
    pub queue_bytes: f64,
    /// Expected rate in MB/s.
    pub mbps: Option<f64>,
    /// The limit in slices on its requests, if known.
    pub slices: Option<Slices>,
    /// Whether this run must find out whether there is such a limit.
    pub looks: bool,
}

/// The window of a run: the usual one, doubled while it would hold too few requests, and long enough for the slices of
/// a limit.
pub(crate) fn runtime_for(question: &Question, cell: &Expectation) -> Nanos {
    let Expectation { bs, queue_bytes, mbps, slices, looks } = *cell;
    if let Some(asked) = question.runtime {
        return asked;
    }
    let usual = runtime(question);
    let longest = (WINDOW_NS.1 as u64).min(question.budget.0 / WINDOWS_A_BUDGET).max(usual.0);
    let needed_ns = REQUESTS * bs.0 as f64 / mbps.unwrap_or(UNSEEN_MBPS) * 1e3;
    let doubled = (0..DOUBLINGS).fold(usual.0, |ns, _| if (ns as f64) < needed_ns { ns * 2 } else { ns });
    let look = if looks { LOOK_NS.min(question.budget.0 / LOOK_SHARE) } else { 0 };
    let usual = Nanos(doubled.min(longest).max(look));
    slices.map_or(usual, |slices| slices.window(usual, mbps, queue_bytes, question.budget))
}

/// The window of the first run that confirms a cell: at least `usual`, and long enough to tell a credit from a rate.
pub(crate) fn long_runtime(question: &Question, usual: Nanos) -> Nanos {
    match question.runtime {
        Some(asked) => asked,
        None => usual.max(Nanos(LONG_NS.min(question.budget.0 / LONG_SHARE))),
    }
}

/// The usual window of a study.
pub(crate) fn runtime(question: &Question) -> Nanos {
    if let Some(asked) = question.runtime {
        return asked;
    }
    let paths_a_cache = (question.patterns().count() * question.directions.len()) as f64;
    let expected: f64 =
        question.cache.iter().map(|cache| paths_a_cache * expected_runs(question, cache.direct())).sum();
    let paths = paths_a_cache * question.cache.len() as f64;
    let tiny = question.budget.0 as f64 * SHARE / (paths * COARSE_RUNS).max(1.0);
    let least = tiny.clamp(TINY_WINDOW_NS, WINDOW_NS.0);
    let ns = (question.budget.0 as f64 * SHARE / expected.max(1.0)).clamp(least, WINDOW_NS.1);
    Nanos((ns / 1e6).round() as u64 * 1_000_000)
}

/// Runs that a path is expected to need.
fn expected_runs(question: &Question, direct: bool) -> f64 {
    let curves = if direct { question.iodepth.len() } else { question.iodepth.len().min(2) };
    let all = question.iodepth.len() * question.bs.len();
    let deciding = (curves * CELLS_A_CURVE.min(question.bs.len())).min(all);
    let shown = if direct { CELLS_SHOWN } else { 0 };
    let beside = (CELLS_BESIDE + shown).min(all - deciding);
    let runs = deciding * deciding_runs(question) as usize + beside * question.repeats.min(DECIDING_RUNS) as usize;
    runs as f64 + SOAKER_RUNS
}
