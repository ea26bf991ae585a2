//! Defines how many runs a deciding cell gets.

use halfpower_spec::Question;

/// Half of the 95% interval, as a share of the mean, at which a cell is known well enough.
pub(crate) const SHARP: f64 = 0.05;
/// Runs of a deciding cell: the peak, the half-power bracket, the advised cell.
pub(crate) const DECIDING_RUNS: u32 = 5;

/// Runs of a deciding cell: five, or two more than `--repeats` if that is small.
pub(crate) fn deciding_runs(question: &Question) -> u32 {
    question.repeats.max(DECIDING_RUNS.min(question.repeats + 2))
}
