//! The operating system behind safe types; the only crate with `unsafe` in it.
//!
//! Plain values enter (paths, sizes, slots), owned handles and plain values leave; what the system refuses is an
//! [`OsError`] of one sentence.

pub mod aio;
pub mod buffers;
pub mod clock;
pub mod data_file;
mod device;
mod error;
pub mod extents;
mod fault;
mod growth;
pub mod interrupt;
pub mod loops;
pub mod mapping;
pub mod memory;
pub mod mounts;
pub mod page_cache;
pub mod polling;
pub mod processor;
pub mod ring;
mod ring_entrance;
mod ring_entry;
mod ring_setup;
mod run_file;
#[cfg(test)]
mod skip;
mod trace_events;
mod trace_instance;
mod trace_page;
pub mod tracing;
mod transfer;

pub use aio::Aio;
pub use buffers::Buffers;
pub use clock::Clock;
pub use data_file::{Alignment, DataFile, Kind};
pub use device::DeviceNumber;
pub use error::OsError;
pub use loops::{Streams, Vectors};
pub use mapping::Mapping;
pub use memory::Arena;
pub use ring::{Ring, RingForm};
pub use ring_setup::available as io_uring_available;
pub use run_file::{Mode, ReadOrder, RunFile};
pub use transfer::{Action, Reaped, Transfer, file_of_slot};
