//! Implements clients of file servers: SMB 2 and 3, NFS version 3, S3.
//!
//! [`Share::connect`] takes an address and credentials, and makes our own file on the share. A [`Pipeline`] then keeps
//! many reads and writes of that file in flight on one connection. It runs in the caller's thread and uses the caller's
//! buffers; bytes are copied only if messages are signed or encrypted.

mod aws;
mod bytes;
mod channel;
mod chunks;
mod credentials;
mod error;
mod inbox;
mod nfs;
mod outbox;
mod own_names;
mod peer;
mod pipeline;
mod pipelines;
mod polling;
mod protocol;
mod rehearsal;
mod resolving;
mod s3;
mod share;
mod sign_in;
mod smb;
#[cfg(feature = "s3")]
mod tls;
mod told;

pub use aws::endpoint_of_environment;
pub use credentials::{Credentials, CredentialsError};
pub use error::ShareError;
pub use pipeline::{LaneOptions, Pipeline, PipelineSource, Purpose, wait};
pub use pipelines::Pipelines;
pub use protocol::{Done, Limits, Op, Order, SlotBytes};
pub use rehearsal::Rehearsal;
pub use share::{Access, Share, server_of};
