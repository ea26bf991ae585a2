//! Holds a fitted device, with the data behind each of its constants.

use std::collections::BTreeMap;

use halfpower_model::{Fitted, PathConstants};

use crate::{CellSettings, PathSettings, SharedCeiling};

/// Why a study cannot be used for a calibration.
#[derive(Debug, Clone, PartialEq)]
pub enum CalibrateError {
    /// It has no walks of block size and depth.
    NoWalks,
    /// No path can be fitted; the reason for each.
    TooLittle(Vec<NotFitted>),
    /// Half of the cells are too few to fit a model to.
    HalvesTooSmall,
}

/// To whom the ceilings in a study of one device belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ceilings {
    /// To the device: each further device adds another.
    #[default]
    Device,
    /// To a shared part: further devices share them, as with a link, an adapter or a quota.
    Shared,
}

/// A fitted device, and the data behind its constants.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The device; its `about` line is empty.
    pub fitted: Fitted,
    /// Runs behind it.
    pub runs: usize,
    /// What was measured, in its canonical text.
    pub target: String,
    /// What each constant rests on, by its key in the text, such as `path.random-direct-read.fixed_us`.
    pub remarks: BTreeMap<String, Remark>,
    /// How well each path was fitted.
    pub paths: Vec<FittedPath>,
    /// What could not be fitted.
    pub not_fitted: Vec<NotFitted>,
}

/// How well one path was fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedPath {
    /// The path.
    pub path: PathSettings,
    /// Its constants.
    pub constants: PathConstants,
    /// Cells that it was fitted to.
    pub cells: usize,
    /// Half of the cells are predicted within this share of the measurement.
    pub half_within: f64,
    /// Nine tenths of the cells are predicted within this share.
    pub most_within: f64,
}

/// What a part of the model rests on.
#[derive(Debug, Clone, PartialEq)]
pub enum Remark {
    /// How much of the target was measured.
    MeasuredSpan,
    /// How well the whole path was fitted.
    Path {
        /// The cells that it was fitted to.
        range: MeasuredRange,
        /// How well it was fitted.
        fitted: FittedPath,
        /// The cell with the largest error, and predicted over measured throughput there.
        farthest: Option<(CellSettings, f64)>,
    },
    /// How far predictions of a path may be off: its cells were drawn so often, with replacement, and fitted.
    Draws {
        /// Number of draws.
        draws: usize,
    },
    /// Fitted; the time of a request limits these cells.
    RequestTime {
        /// Number of cells.
        cells: usize,
    },
    /// Fitted to the median latency of these cells: a limit of rate holds back others of their requests.
    HeldBack {
        /// Number of cells.
        cells: usize,
    },
    /// The slice in which a limit lets requests through, by how long those wait that it holds back.
    Slice,
    /// The rate at which one request's bytes pass, in MB/s; `None` if size has no visible effect.
    ByteRate {
        /// The rate.
        mbps: Option<f64>,
    },
    /// Fitted; these cells gain nothing from more depth; `None` if no such cell was seen.
    SideBySide {
        /// Number of cells.
        cells: Option<usize>,
    },
    /// Fitted; the ceiling limits these cells.
    Ceiling {
        /// Number of cells.
        cells: usize,
    },
    /// The soaker's bound minus the charge, over these cells; `None` if no run was beside the soaker.
    Unseen {
        /// Number of cells.
        cells: Option<usize>,
    },
    /// The charge is not known at two sizes.
    ChargeUnknown,
    /// The charge, fitted to these cells of one depth.
    Charge {
        /// Number of cells.
        cells: usize,
        /// Their depth.
        iodepth: u32,
        /// Relative scatter around the line, if there are more than two sizes.
        scatter: Option<f64>,
    },
    /// The median extra charge of these shallower cells.
    Wait {
        /// Number of cells.
        cells: usize,
    },
    /// The highest of the ceilings of these paths, taken as what devices share.
    CeilingsOfPaths {
        /// Number of paths.
        paths: usize,
    },
    /// Measured with members together.
    Members(SharedCeiling),
    /// It is not known what several devices would share.
    SharedUnknown {
        /// Whether that holds for reads.
        reads: bool,
        /// Whether that holds for writes.
        writes: bool,
    },
}

/// Block sizes and depths of some cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredRange {
    /// Smallest and largest block size.
    pub bs_bytes: [u64; 2],
    /// Smallest and largest depth, over all threads.
    pub depths: [u64; 2],
}

/// What could not be fitted.
#[derive(Debug, Clone, PartialEq)]
pub enum NotFitted {
    /// A whole path.
    Path {
        /// The path.
        path: PathSettings,
        /// The reason.
        why: Unfittable,
    },
    /// The number of requests in parallel, because it limited no cell.
    SideBySide {
        /// The affected paths.
        paths: Vec<PathSettings>,
    },
    /// Processor time charged to no process, because no run was beside the soaker.
    UnseenTime {
        /// The affected paths.
        paths: Vec<PathSettings>,
    },
}

/// Why no model can be fitted to some cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfittable {
    /// Too few were usable.
    TooFewCells {
        /// Number that is needed.
        needed: usize,
        /// Number of usable ones.
        usable: usize,
    },
    /// All have one block size.
    OneSize {
        /// That size.
        bs_bytes: u64,
    },
    /// No line fits them.
    NoLine,
}
