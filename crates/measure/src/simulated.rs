//! Runs on a simulated path, in virtual time.
//!
//! What is simulated is a `Subject`: a disk of constants, a machine made of parts, or a device as a study saw it.

mod disk;
mod each;
mod fitted;
mod subject;
mod system;
mod target;

pub use target::SimulatedTarget;
