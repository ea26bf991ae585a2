//! Says how long the window of a run of the walks is: slow cells get more of it.
//!
//! Many short windows beat few long ones: what differs from run to run is not averaged away within a run. But
//! throttles and cloud bursts work in slices of 100 ms, so that windows are shorter than that in tiny budgets alone.

use halfpower_spec::{Bytes, Nanos, Question};

use crate::repeats::{DECIDING_RUNS, deciding_runs};
use crate::slices::Slices;

/// The part of the budget that expected windows fill; preparation takes some, and noise asks for more runs.
const SHARE: f64 = 0.72;
/// Shortest and longest window, in nanoseconds.
const WINDOW_NS: (f64, f64) = (100e6, 1e9);
/// The shortest of a budget that does not hold a coarse answer in such windows.
const TINY_WINDOW_NS: f64 = 20e6;
/// Runs of a path's coarse answer.
const COARSE_RUNS: f64 = 10.0;
/// Cells of a curve that decide: its peak and both sides of half power.
const CELLS_A_CURVE: usize = 3;
/// Cells of a path beside them: seeds, and steps on the way to peak and half power.
const CELLS_BESIDE: usize = 8;
/// Cells of a direct path, on the average over all, that are measured because the first screen shows them.
const CELLS_SHOWN: usize = 2;
/// Runs beside the soaker that a path gets.
const SOAKER_RUNS: f64 = 6.0;

/// Requests that a window should see: what was in flight when it opened is then a small part of it.
const REQUESTS: f64 = 40.0;
/// The rate, in MB/s, that a cell is taken to give as long as nothing is known of it.
const UNSEEN_MBPS: f64 = 100.0;
/// However slow a cell, the budget holds so many of its windows.
const WINDOWS_A_BUDGET: u64 = 150;
/// The first window of a deepest cell, in nanoseconds, and as a share of the budget at most: long enough to see that
/// requests complete in waves.
const LOOK_NS: u64 = 500_000_000;
const LOOK_SHARE: u64 = 40;
/// How often the usual window a slow cell's may be doubled.
const DOUBLINGS: u32 = 3;

/// What is known of a cell before a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expectation {
    pub bs: Bytes,
    /// Bytes that it keeps in flight.
    pub queue_bytes: f64,
    /// The rate that it is expected to give.
    pub mbps: Option<f64>,
    /// The limit in slices that it stands behind.
    pub slices: Option<Slices>,
    /// Whether this run is to find out if there is one.
    pub looks: bool,
}

/// The window of a run: the usual one, doubled while fewer requests would pass in it than a rate needs, and long enough
/// for the slices of a limit.
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
