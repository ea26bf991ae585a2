//! Writes a fitted device as TOML, and says what it rests on.

use halfpower_analyse::{CalibrateError, Calibration, NotFitted, PathSettings};

use crate::words::{calibrate, settings};

/// The fitted device as TOML, with a remark on each constant.
pub fn calibration_toml(calibration: &Calibration) -> String {
    calibrate::toml(calibration)
}

/// What could not be fitted, in a sentence.
pub fn not_fitted_text(not_fitted: &NotFitted) -> String {
    calibrate::not_fitted(not_fitted)
}

/// Why a study cannot be calibrated from, and what to do about it.
pub fn calibrate_error_text(error: &CalibrateError) -> String {
    calibrate::error(error)
}

/// A path in words, such as `random direct read`.
pub fn path_text(path: PathSettings) -> String {
    settings::path(path)
}
