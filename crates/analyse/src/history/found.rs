//! Defines what a history finds, as numbers and enums.
//!
//! Studies are named by their index in order of time. Rates, times and shares have the unit of their figure.

use halfpower_spec::{Direction, JsonSchema, Pattern};
use serde::Serialize;

use crate::{CellSettings, CheckDifference, ConditionFinding, SurroundingChange};

/// All studies of one target in order of time, and where their figures change.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// What was measured, in its canonical text; that of the last study.
    pub target: String,
    /// The studies, in order of time.
    pub studies: Vec<HistoryStudy>,
    /// The figures that at least one study has.
    pub figures: Vec<FigureHistory>,
    /// Where figures change, in order of time.
    pub changes: Vec<HistoryChange>,
    /// Conditions that the user set, with their results: the last level against the one before.
    pub fail_if: Vec<ConditionFinding>,
    /// Files that could not be read, and are left out.
    pub unread: Vec<UnreadStudy>,
}

/// A file that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnreadStudy {
    /// The file.
    pub name: String,
    /// Why, and what to do.
    pub why: String,
}

/// One study of a history.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HistoryStudy {
    /// Its file.
    pub name: String,
    /// When its first run began, in milliseconds of Unix time; of a study in virtual time, when its file was written.
    pub at_unix_ms: u64,
    /// Whether that is when it was measured.
    pub is_dated: bool,
    /// Runs that it holds.
    pub runs: usize,
}

/// A main figure of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HistoryFigure {
    /// Throughput of the typical cell, in percent of the study in the middle.
    TypicalCell,
    /// Random reads a second.
    RandomReadIops,
    /// 99th percentile of the latency of random reads, the shallowest, in nanoseconds.
    RandomReadP99,
    /// Random writes a second.
    RandomWriteIops,
    /// Throughput of sequential reads, in MB/s.
    SequentialReadMbps,
    /// Throughput of sequential writes, in MB/s.
    SequentialWriteMbps,
    /// Durable writes of one writer a second.
    Commits,
}

impl HistoryFigure {
    /// All of them, in the order of a screen.
    pub const ALL: [Self; 7] = [
        Self::TypicalCell,
        Self::RandomReadIops,
        Self::RandomReadP99,
        Self::RandomWriteIops,
        Self::SequentialReadMbps,
        Self::SequentialWriteMbps,
        Self::Commits,
    ];

    /// Pattern and direction of its requests; `None` if it is of no single path.
    pub fn access(self) -> Option<(Pattern, Direction)> {
        match self {
            Self::RandomReadIops | Self::RandomReadP99 => Some((Pattern::Random, Direction::Read)),
            Self::RandomWriteIops => Some((Pattern::Random, Direction::Write)),
            Self::SequentialReadMbps => Some((Pattern::Sequential, Direction::Read)),
            Self::SequentialWriteMbps => Some((Pattern::Sequential, Direction::Write)),
            Self::TypicalCell | Self::Commits => None,
        }
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        self != Self::RandomReadP99
    }
}

/// One figure over all studies that have it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FigureHistory {
    /// The figure.
    pub figure: HistoryFigure,
    /// The cell that it is of, the same in all studies; `null` if it is of no single cell.
    pub cell: Option<CellSettings>,
    /// Its value in each study that has it, in order of time.
    pub points: Vec<FigurePoint>,
    /// Its levels, in order of time: the stretches between its changes.
    pub levels: Vec<FigureLevel>,
    /// The two speeds between which the last level goes to and fro; `null` if it has one.
    pub two_speeds: Option<TwoSpeeds>,
}

/// A figure in one study.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FigurePoint {
    /// Index of the study.
    pub study: usize,
    /// The value.
    pub value: f64,
    /// Lower end of its 95% interval within this study; `null` if it has none.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// A stretch of studies between two changes of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FigureLevel {
    /// Index of its first study.
    pub first: usize,
    /// Index of its last study.
    pub last: usize,
    /// Studies in it that have the figure.
    pub studies: usize,
    /// Their median.
    pub median: f64,
    /// Lower end of the interval of the median, a value of one of the studies; `null` for fewer than six studies.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// How often such an interval holds the median of all studies that could have been made, from 0.95 on.
    pub coverage: Option<f64>,
}

/// Two speeds between which studies go to and fro.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TwoSpeeds {
    /// Median of the studies with the lower values.
    pub lower: f64,
    /// Number of these studies.
    pub lower_studies: usize,
    /// Median of the studies with the higher values.
    pub higher: f64,
    /// Number of these studies.
    pub higher_studies: usize,
}

/// A place in time where figures change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HistoryChange {
    /// Index of the first study after it.
    pub at: usize,
    /// Earliest study that may be the first after it, at 95%.
    pub earliest: usize,
    /// Latest one.
    pub latest: usize,
    /// The figures that change.
    pub figures: Vec<FigureChange>,
    /// What differs between the surroundings of the studies before `earliest` and at `latest`; of the neighbours, between the
    /// medians of the studies before and after, up to the next changes.
    pub surroundings: Vec<SurroundingChange>,
    /// What the checks of settings found differently there.
    pub checks: Vec<CheckDifference>,
}

/// How one figure changes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FigureChange {
    /// The figure.
    pub figure: HistoryFigure,
    /// Median of its level before.
    pub before: f64,
    /// Median of its level after.
    pub after: f64,
    /// `100 (after / before - 1)`.
    pub percent: f64,
    /// Probability that a history without changes shows one like this, corrected for all figures and places.
    pub p: f64,
}
