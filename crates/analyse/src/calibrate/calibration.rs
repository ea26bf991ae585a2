//! Holds a fitted device with what each of its constants rests on.

use std::collections::BTreeMap;

use halfpower_model::{Fitted, PathConstants};

use crate::{CellSettings, PathSettings, SharedCeiling};

/// Why a study cannot be calibrated from.
#[derive(Debug, Clone, PartialEq)]
pub enum CalibrateError {
    /// No walks of block size and depth.
    NoWalks,
    /// No path can be fitted, each for a reason of its own.
    TooLittle(Vec<NotFitted>),
    /// Half of the cells are too few to fit a model to.
    HalvesTooSmall,
}

/// Whose the ceilings are that a study of one device shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ceilings {
    /// Each further device brings another.
    #[default]
    Device,
    /// Further devices share them: a link, an adapter, a quota.
    Shared,
}

/// A fitted device, and what its constants rest on.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The device; its line about itself is empty.
    pub fitted: Fitted,
    /// Runs that it rests on.
    pub runs: usize,
    /// What was measured, in its canonical text.
    pub target: String,
    /// What each constant rests on, by its place in the text, such as `path.random-direct-read.fixed_us`.
    pub remarks: BTreeMap<String, Remark>,
    /// How well each path was met.
    pub paths: Vec<FittedPath>,
    /// What could not be fitted.
    pub not_fitted: Vec<NotFitted>,
}

/// How well one path was met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedPath {
    /// Which.
    pub path: PathSettings,
    /// Its constants.
    pub constants: PathConstants,
    /// Cells that it was fitted to.
    pub cells: usize,
    /// Half of them are predicted within this share of what was measured.
    pub half_within: f64,
    /// Nine tenths are.
    pub most_within: f64,
}

/// What a part of the model rests on.
#[derive(Debug, Clone, PartialEq)]
pub enum Remark {
    /// How much of the target was measured.
    MeasuredSpan,
    /// How well the whole path was met.
    Path {
        /// The cells that it was fitted to.
        range: MeasuredRange,
        /// How well it was met.
        fitted: FittedPath,
        /// The cell farthest off, and predicted over measured throughput there.
        farthest: Option<(CellSettings, f64)>,
    },
    /// Fitted; the time of a request bounds so many cells.
    RequestTime {
        /// Those cells.
        cells: usize,
    },
    /// The rate at which one request's bytes pass, in MB/s; `None` where no effect of the size was seen.
    ByteRate {
        /// That rate.
        mbps: Option<f64>,
    },
    /// Fitted; more depth does not speed up so many cells; `None` where that was not seen.
    SideBySide {
        /// Those cells.
        cells: Option<usize>,
    },
    /// Fitted; the ceiling bounds so many cells.
    Ceiling {
        /// Those cells.
        cells: usize,
    },
    /// The soaker's bound less the charge, over so many cells; `None` where no run was beside the soaker.
    Unseen {
        /// Those cells.
        cells: Option<usize>,
    },
    /// The charge is not known of two sizes.
    ChargeUnknown,
    /// The charge, fitted to so many cells of one depth.
    Charge {
        /// Those cells.
        cells: usize,
        /// Their depth.
        iodepth: u32,
        /// Relative scatter around the line, where more than two sizes tell it.
        scatter: Option<f64>,
    },
    /// The median of what so many shallower cells are charged beyond that.
    Wait {
        /// Those cells.
        cells: usize,
    },
    /// The most of the ceilings of so many paths, taken for what devices share.
    CeilingsOfPaths {
        /// Those paths.
        paths: usize,
    },
    /// Measured of members together.
    Members(SharedCeiling),
    /// What several devices would share is not known.
    SharedUnknown {
        /// Of reads.
        reads: bool,
        /// Of writes.
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
        /// Which.
        path: PathSettings,
        /// Why.
        why: Unfittable,
    },
    /// How many requests go side by side, since no cell was bound by it.
    SideBySide {
        /// The paths of which it is not known.
        paths: Vec<PathSettings>,
    },
    /// Processor time that nobody is charged for, since no run was beside the soaker.
    UnseenTime {
        /// The paths of which it is not known.
        paths: Vec<PathSettings>,
    },
}

/// Why cells bear no model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfittable {
    /// Too few could be used.
    TooFewCells {
        /// How many it takes.
        needed: usize,
        /// How many there are.
        usable: usize,
    },
    /// All have one block size.
    OneSize {
        /// That size.
        bs_bytes: u64,
    },
    /// They lie on no line.
    NoLine,
}
