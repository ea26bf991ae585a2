//! Holds studies of real devices against what the devices were given: loop devices behind the kernel's own throttle.
//!
//! Needs root, loop devices and the blkio controller (either version of control groups); says aloud what is missing.

mod calibration;
mod credit;
mod limits;
mod shared_path;
mod throttled;
