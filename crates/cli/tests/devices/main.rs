//! Holds studies of real devices against what the devices were given: loop devices behind the kernel's own throttle.
//!
//! Needs root, loop devices and the blkio controller (either version of control groups); says aloud what is missing.

mod functional;
mod lab;
mod throttled;
