//! Runs on a simulated path, in virtual time.
//!
//! A simulated path is a `Subject`: a disk of constants, a machine made of parts, or a device fitted to a study.

mod disk;
mod each;
mod fitted;
mod path;
mod subject;
mod system;
mod target;

pub use path::{SimulatedPath, simulated_path};
pub use target::SimulatedTarget;
