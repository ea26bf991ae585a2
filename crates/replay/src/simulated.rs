//! Asks a capture of a model of a storage path, in virtual time.
//!
//! Each lane does its script. What needed no disk (a read from the page cache, a write into it) takes the time that was
//! captured, wherever it is asked; every other read, and a direct write, is a request to the path. A write into the page
//! cache leaves its pages dirty. A sync writes back the dirty pages of its file, adjacent ones together, all at once; it
//! waits for those, and for what other syncs of the file write back already, then for a flush, which `sync_file_range` has none
//! of. A write that is durable by itself is a request and a flush. Pages that nobody syncs are never written back.
//!
//! A lane that has ended its script begins again at once, until the slowest lane has ended it once: that is a round. A pause
//! that is a wait for another lane's sync ([`crate::waits`]) lasts until that sync has ended here, and commits that lanes share
//! ([`crate::commits`]) are shared as the syncs here allow. Where the capture tells what processors did, lanes share them here,
//! too ([`Processors`]).

mod address;
mod dirty;
mod place;
mod processors;
mod round;
mod thinking;

pub use place::{FlushBy, SimulatedPlace};
pub use processors::Processors;
pub use round::{SimulatedRound, UsedProcessors, simulated_round};
