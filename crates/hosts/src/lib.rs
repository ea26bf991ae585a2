//! Lets many processes, on one host or many, make the runs of one study together.
//!
//! Process 0 plans, keeps the study file and reports. It sees all processes as one
//! [`halfpower_measure::TargetBackend`], a [`HostsTarget`]. The others [`serve`] it: they lay out what it asks for,
//! open their windows at the same time, and send their parts of the record, which are merged on the way to process 0.
//! They exchange messages through [`Ranks`].

mod crew;
mod error;
mod failures;
mod in_process;
mod launcher;
mod lead;
mod meeting;
#[cfg(feature = "mpi")]
mod mpi_ranks;
mod notes;
mod part;
mod ranks;
mod serve;
mod target;
mod tree;

pub use error::HostsError;
pub use in_process::InProcess;
pub use launcher::{Launched, join};
pub use lead::Lead;
pub use meeting::{Opened, Opening, Turn};
pub use ranks::Ranks;
pub use serve::serve;
pub use target::HostsTarget;
pub use tree::{bring_together, tell};
