//! Fits a small model of a device to a study, and measures how well it predicts.

mod bill;
mod calibration;
mod device;
mod held_out;
mod path_constants;
mod typical;

pub use calibration::{
    CalibrateError, Calibration, Ceilings, FittedPath, MeasuredRange, NotFitted, Remark, Unfittable,
};
pub use device::calibrate;
pub use held_out::{HeldOut, HeldOutPath, check};
