//! Lists how urgent runs can be, the most urgent first.

/// How urgent a run is, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// What the headline and the advice report, once they are chosen, and what the first screen shows: the few runs that
    /// a figure rests on at least.
    Confirm,
    /// What the headline and the advice report, until it is known well.
    ConfirmAgain,
    /// What shows whether a limit in slices sets how long windows must be, each alone before all others.
    Look,
    /// The coarse look.
    Seed,
    /// What would be reported as it stands, until it has the fewest runs.
    Choose,
    /// What peak, half power and advice hang on.
    Explore,
    /// Beside the soaker, once a cell.
    Soaker,
    /// The fewest runs that a cell gets.
    Repeat,
    /// The runs that a deciding cell gets.
    Decide,
    /// Deciding cells that are still wide, or near half power.
    Sharpen,
    /// Beside the soaker again.
    SoakerAgain,
    /// Half power at the depths of a path that keeps its own depth.
    Complete,
    /// All other cells that are still wide.
    Widest,
}
