//! Names what a run decides, for those who watch a study.

use crate::Experiment;

/// What a run of a study decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decides {
    /// Whether a limit hands out slices of time, so that windows must be longer.
    Slices,
    /// How a path looks from its corners.
    Outline,
    /// Which cells lead: peak, half power and advice.
    Leaders,
    /// Whether cells that lead by one run do so by luck.
    Luck,
    /// The figures of the headline, from runs that did not choose its cells.
    Headline,
    /// How much the runs of a cell differ.
    Scatter,
    /// Figures whose intervals are wide.
    Widest,
    /// Half power at depths that the answer does not lead with.
    OtherDepths,
    /// What a request costs the processor.
    Cost,
    /// How many threads fill the device.
    Threads,
    /// Whether the way of issuing requests is the limit.
    Issuing,
    /// What durable writes cost.
    Durable,
    /// The question of an experiment.
    Experiment(Experiment),
}
