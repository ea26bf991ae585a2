//! Asks again what an application asked: of files on a real target, or of a model in virtual time.
//!
//! Both take the same scripts ([`halfpower_record::Captured::scripts`]) and give a capture of what came of them, so that one
//! comparison serves both.

mod commits;
mod ended;
mod error;
mod files;
mod lane;
mod pace;
mod real;
mod simulated;
mod touched;
mod turns;
mod waits;

pub use error::ReplayError;
pub use files::{ReplayPlace, has_one_file};
pub use pace::Pace;
pub use real::{ReplaySettings, Replayed, laid_out_bytes, replay};
pub use simulated::{FlushBy, Processors, SimulatedPlace, SimulatedRound, UsedProcessors, simulated_round};
