//! Lets many processes make the runs of one study, on many hosts or on one.
//!
//! Process 0 plans, keeps the study file and reports; to it all of them are a [`halfpower_measure::TargetBackend`] like any
//! other, a [`HostsTarget`]. The others [`serve`] it: they make ready what it asks for, open their windows with it, and
//! give their parts of a record, which are put together on the way. What they need of each other is [`Ranks`]: messages.

mod clocks;
mod crew;
mod error;
mod failures;
mod in_process;
mod join;
mod launcher;
mod lead;
mod meeting;
mod merge;
#[cfg(feature = "mpi")]
mod mpi_ranks;
mod notes;
mod order;
mod part;
#[cfg(feature = "mpi")]
mod patience;
mod ranks;
mod serve;
mod target;
mod tree;

pub use error::HostsError;
pub use in_process::InProcess;
pub use join::join;
pub use launcher::Launched;
pub use lead::Lead;
pub use meeting::{Opened, Opening, Turn};
pub use ranks::Ranks;
pub use serve::serve;
pub use target::HostsTarget;
pub use tree::{bring_together, tell};
