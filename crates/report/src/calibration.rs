//! Writes a fitted device as TOML, with the data behind it.

use halfpower_analyse::{CalibrateError, Calibration, NotFitted, PathSettings};

use crate::words::{calibrate, settings};

/// The fitted device as TOML, with a comment on each constant.
pub fn calibration_toml(calibration: &Calibration) -> String {
    calibrate::toml(calibration)
}

/// Says in a sentence what could not be fitted.
pub fn not_fitted_text(not_fitted: &NotFitted) -> String {
    calibrate::not_fitted(not_fitted)
}

/// Says why a study cannot be used for calibration, and what to do about it.
pub fn calibrate_error_text(error: &CalibrateError) -> String {
    calibrate::error(error)
}

/// A path in words, such as `random direct read`.
pub fn path_text(path: PathSettings) -> String {
    settings::path(path)
}
