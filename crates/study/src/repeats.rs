//! Says how many runs a cell gets that the answer hangs on.

use halfpower_spec::Question;

/// Half of a 95% interval, as a share of its mean, at which a cell has been measured well enough.
pub(crate) const SHARP: f64 = 0.05;
/// Runs that a deciding cell gets: the peak, the half-power bracket, the advised cell.
pub(crate) const DECIDING_RUNS: u32 = 5;

/// Runs of a deciding cell: five, or two more than the others get where few are asked for.
pub(crate) fn deciding_runs(question: &Question) -> u32 {
    question.repeats.max(DECIDING_RUNS.min(question.repeats + 2))
}
