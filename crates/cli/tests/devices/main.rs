//! Compares studies of real devices with their known limits: loop devices behind the kernel's own throttle.
//!
//! Needs root, loop devices and the blkio controller (either version of control groups); prints what is missing.

mod functional;
mod lab;
mod throttled;
mod tries;
