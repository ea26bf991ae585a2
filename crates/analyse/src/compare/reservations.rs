//! Holds whether two studies differ, and what keeps them from being compared.

use schemars::JsonSchema;
use serde::Serialize;

/// Whether two studies differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Both hold the same records.
    SameRecords,
    /// No cell was run more than once in both, so chance is unknown.
    ChanceUnknown,
    /// They have no cell in common.
    NothingInCommon,
    /// Nothing that was tested is different.
    NoDifference,
    /// Something is different.
    Different,
}

/// What differs between two studies besides their figures, or keeps figures from being compared.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Note {
    /// They were taken in different places.
    PlaceDiffers {
        /// In what.
        aspect: PlaceAspect,
    },
    /// They used parts of the target that differ in size.
    SpanDiffers {
        /// Bytes in A.
        a_bytes: u64,
        /// Bytes in B.
        b_bytes: u64,
    },
    /// The part of the target that was used lies in pieces over all of it in one of them, or over another number of bytes.
    SpreadDiffers {
        /// Bytes over which it lies in A; `None` where it is one part.
        a_bytes: Option<u64>,
        /// The same in B.
        b_bytes: Option<u64>,
    },
    /// Cells differ beyond chance, but others used the disk while the worse figure was measured: they are not called
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
    /// Cells are in one study alone.
    InOneAlone {
        /// Cells that A alone has.
        a: usize,
        /// Cells that B alone has.
        b: usize,
    },
    /// Common cells are left out.
    CellsLeftOut {
        /// How many.
        cells: usize,
        /// Where the first of them has its flaw.
        study: InStudy,
        /// What is wrong with it.
        flaw: Flaw,
        /// Whether that is so of all of them.
        all_alike: bool,
    },
    /// Runs vary so much that a cell has to differ by more than the practical threshold to count; in percent, `None`
    /// for a figure of which that is not so.
    Noise {
        /// Throughput.
        throughput_percent: Option<f64>,
        /// 99th percentile of latency.
        p99_percent: Option<f64>,
        /// Charged processor time a request.
        cost_percent: Option<f64>,
    },
}

/// What two places differ in.
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
    /// The study that changes are counted from.
    A,
    /// The one that is held against it.
    B,
    /// Both.
    Both,
}

/// Why a cell bears no conclusion.
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
