//! Holds what speaks against the steadiness of a run and of a cell.

use schemars::JsonSchema;
use serde::Serialize;

/// Why a cell was not steady: what its runs show.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Unsteady {
    /// What the first of them shows.
    #[serde(flatten)]
    pub objection: Objection,
    /// Runs that were not steady.
    pub unsteady_runs: usize,
    /// All plain runs that moved bytes.
    pub runs: usize,
}

/// What a run's series shows that a steady one does not. Rates are MB/s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Objection {
    /// The rate changed from one level to another.
    LevelChanged {
        /// Mean before.
        from_mbps: f64,
        /// Mean after.
        to_mbps: f64,
        /// When, in seconds of the window.
        after_s: f64,
    },
    /// The rate rose or fell over the window.
    Slope {
        /// Gain of the line through it over the window, as a share of the mean; below 0 where it fell.
        gain: f64,
    },
    /// The last third differs from the middle third.
    LastThird {
        /// Gain from the middle third to the last, as a share; below 0 where it was slower.
        gain: f64,
    },
    /// Fifths of the window differ.
    Spread {
        /// Mean of the slowest fifth.
        low_mbps: f64,
        /// Mean of the fastest.
        high_mbps: f64,
    },
    /// Requests complete in waves, and its windows hold too few of them.
    CutsWaves {
        /// From one wave to the next, in seconds.
        period_s: f64,
    },
}
