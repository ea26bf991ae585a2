//! Defines whether two studies differ, and what prevents their comparison.

use schemars::JsonSchema;
use serde::Serialize;

/// Whether two studies differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Both contain the same records.
    SameRecords,
    /// No cell was run more than once in both, so chance is unknown.
    ChanceUnknown,
    /// They have no cell in common.
    NothingInCommon,
    /// No test found a difference.
    NoDifference,
    /// Something is different.
    Different,
}

/// A difference besides the figures, or something that prevents their comparison.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Note {
    /// They were made in different places.
    PlaceDiffers {
        /// The difference.
        aspect: PlaceAspect,
    },
    /// They used parts of the target of different size.
    SpanDiffers {
        /// Bytes in A.
        a_bytes: u64,
        /// Bytes in B.
        b_bytes: u64,
    },
    /// In one study the used part is spread over the whole target, or over another number of bytes than in the other.
    SpreadDiffers {
        /// Bytes over which it is spread in A; `None` if it is one contiguous part.
        a_bytes: Option<u64>,
        /// The same in B.
        b_bytes: Option<u64>,
    },
    /// Cells differ beyond chance, but others used the disk during the worse measurement, so they are not called
    /// different.
    OthersUsedTheDisk {
        /// Such cells.
        cells: usize,
    },
    /// Cells that were run once in A or in B have no interval.
    RunOnce {
        /// Such cells.
        cells: usize,
        /// All common cells.
        of_cells: usize,
    },
    /// Cells were not steady within their runs in A or in B.
    NotSteady {
        /// Such cells.
        cells: usize,
        /// All common cells.
        of_cells: usize,
    },
    /// Only one study has these cells.
    InOneAlone {
        /// Cells that only A has.
        a: usize,
        /// Cells that only B has.
        b: usize,
    },
    /// Common cells were left out.
    CellsLeftOut {
        /// Number of cells.
        cells: usize,
        /// The study with the flaw of the first of them.
        study: InStudy,
        /// The flaw.
        flaw: Flaw,
        /// Whether all of them have this flaw.
        all_alike: bool,
    },
    /// Runs vary so much that a cell must differ by more than the practical threshold to count; in percent, `None` for
    /// a figure with less noise.
    Noise {
        /// Throughput.
        throughput_percent: Option<f64>,
        /// 99th percentile of latency.
        p99_percent: Option<f64>,
        /// Charged processor time a request.
        cost_percent: Option<f64>,
    },
}

/// Difference between two places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceAspect {
    /// The targets.
    Targets,
    /// Number or model of the processors.
    Processors,
    /// The kernels.
    Kernels,
    /// Kinds of file system.
    FileSystems,
    /// Models or names of the devices.
    Devices,
    /// Engines that carried the runs.
    Engines,
}

/// One of two studies, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InStudy {
    /// The baseline.
    A,
    /// The study compared with the baseline.
    B,
    /// Both.
    Both,
}

/// Why a cell allows no conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flaw {
    /// Requests failed in it.
    RequestsFailed,
    /// A cache answered it.
    CacheAnswered,
    /// Nothing was moved in it.
    NothingMoved,
}
