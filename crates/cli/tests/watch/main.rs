//! Watches applications of known limits on loop devices, and kills watches: no tracing stays on.
//!
//! Needs root, loop devices, fio, PostgreSQL and control groups (either version); prints what is missing.

mod killed;
mod lab;
mod postgres;
#[allow(dead_code, reason = "the tests of studies use all of it")]
#[path = "../program/mod.rs"]
mod program;
mod recorded;
mod subjects;
#[allow(dead_code, reason = "the tests of limited devices use all of it")]
#[path = "../devices/throttled.rs"]
mod throttled;
