//! Defines the urgency of runs, the most urgent first.

/// Urgency of a run, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// The fewest runs of cells that the headline and the advice report once chosen, and that the first screen shows.
    Confirm,
    /// Further runs of cells that the headline and the advice report, until they are known well.
    ConfirmAgain,
    /// A run that shows whether a limit in slices requires longer windows; made alone, before all others.
    Look,
    /// The coarse look.
    Seed,
    /// Cells that would be reported now, until they have the fewest runs.
    Choose,
    /// Cells that decide peak, half power and advice.
    Explore,
    /// First run with the soaker.
    Soaker,
    /// The fewest runs that a cell gets.
    Repeat,
    /// The runs that a deciding cell gets.
    Decide,
    /// Deciding cells with a wide interval, or near half power.
    Sharpen,
    /// Further runs with the soaker.
    SoakerAgain,
    /// Half power at the depths of a path that keeps its own depth.
    Complete,
    /// All other cells with a wide interval.
    Widest,
}
