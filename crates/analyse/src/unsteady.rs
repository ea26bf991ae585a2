//! Describes why a run or a cell is not steady.

use schemars::JsonSchema;
use serde::Serialize;

/// Why a cell was not steady, from its runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Unsteady {
    /// The objection to the first of them.
    #[serde(flatten)]
    pub objection: UnsteadyReason,
    /// Runs that were not steady.
    pub unsteady_runs: usize,
    /// All plain runs that moved bytes.
    pub runs: usize,
}

/// How a run's series differs from a steady one. Rates are MB/s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum UnsteadyReason {
    /// The rate changed from one level to another.
    LevelChanged {
        /// Mean before.
        from_mbps: f64,
        /// Mean after.
        to_mbps: f64,
        /// Time of the change, in seconds of the window.
        after_s: f64,
    },
    /// The rate rose or fell over the window.
    Slope {
        /// Gain of the fitted line over the window, as a share of the mean; below 0 if it fell.
        gain: f64,
    },
    /// The last third differs from the middle third.
    LastThird {
        /// Gain from the middle third to the last, as a share; below 0 if the last was slower.
        gain: f64,
    },
    /// Fifths of the window differ.
    Spread {
        /// Mean of the slowest fifth.
        low_mbps: f64,
        /// Mean of the fastest.
        high_mbps: f64,
    },
    /// Requests complete in waves, and the cell's windows contain too few of them.
    CutsWaves {
        /// Time from one wave to the next, in seconds.
        period_s: f64,
    },
}
