//! Compares studies of real devices with their known limits: loop devices behind the kernel's own throttle, and disks in
//! user space.
//!
//! Needs root, loop devices, the blkio controller (either version of control groups) and FUSE; prints what is missing.

mod functional;
mod lab;
mod throttled;
mod tries;
