//! Implements NFS version 3 (RFC 1813) over RPC (RFC 5531).

mod file;
mod left_over;
mod rehearsal;
mod requests;
mod rpc;

pub(crate) use file::{NfsFile, NfsShare};
pub(crate) use rehearsal::rehearse;
