//! Watches an application that runs: what it does, where it waits, who else is at work. It puts no load on the
//! machine, but for a few single reads where a probe is asked for.
//!
//! A [`Session`] attaches to processes, a control group or a disk, takes the kernel's events and counters, and gives a
//! [`halfpower_record::Watched`] at any time, and at the end, where a [`Recording`] was asked for, the operations themselves as
//! a [`halfpower_record::Captured`]. A [`Fold`] makes operations and waits of events, and is pure.

mod error;
mod fold;
mod groups;
mod session;

pub use error::WatchError;
pub use fold::{FileSeen, Files, Fold, Recording, Sources, Who};
pub use session::{Asked, Session, Settings};
