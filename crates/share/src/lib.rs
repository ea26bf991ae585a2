//! Speaks to file servers: SMB 2 and 3, NFS version 3.
//!
//! An address and credentials enter, a [`Share`] leaves, with a file of our own in it. A [`Pipeline`] then keeps many reads
//! and writes of that file in flight on one connection, in the caller's thread and the caller's buffers: nothing runs
//! beside it, and bytes go from the socket to the buffer and back without a copy, but where messages are signed or
//! encrypted.

mod bytes;
mod channel;
mod credentials;
mod error;
mod inbox;
mod nfs;
mod outbox;
mod pipeline;
mod protocol;
mod rehearsal;
mod share;
mod smb;

pub use credentials::{Credentials, CredentialsError};
pub use error::ShareError;
pub use pipeline::{LaneOptions, Pipeline, PipelineSource, wait};
pub use protocol::{Done, Limits, Op, Order, SlotBytes};
pub use rehearsal::Rehearsal;
pub use share::{Access, Share};
