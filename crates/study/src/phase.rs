//! Defines a phase of a study: runs of one purpose that accompany the walks and take their time from the same budget.

use halfpower_record::Record;
use halfpower_spec::{Decides, Nanos, Run};

use crate::planner::Planner;

/// Runs of one purpose beside the walks.
pub(crate) trait Phase {
    /// Whether `run` is one of these runs.
    fn owns(&self, run: &Run) -> bool;

    /// What these runs decide.
    fn decides(&self) -> Decides;

    /// Records one of these runs. Returns the time to charge to the walks: none if it was reserved before.
    fn observe(&mut self, record: &Record) -> Nanos;

    /// Reserves time for what the walks have shown so far; returns what comes on top of earlier reservations.
    fn reserve(&mut self, _walks: &Planner) -> Nanos {
        Nanos(0)
    }

    /// Learns from a run of the walks, which `walks` has observed.
    fn follow(&mut self, _record: &Record, _walks: &Planner) {}

    /// The next run; `None` if none is left or it is not their turn.
    fn next(&self, walks: &Planner) -> Option<Run>;

    /// Cancels the remaining runs that are like `run`, which cannot be measured.
    fn give_up(&mut self, run: &Run);

    /// Most time that the remaining runs will take beyond `walks`, the time left to the walks.
    fn left(&self, _walks: Nanos) -> Nanos {
        Nanos(0)
    }
}
