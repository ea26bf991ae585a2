//! Implements SMB 2 and 3 (MS-SMB2).

mod dialect;
mod encryption;
mod file;
mod head;
mod key_derivation;
mod negotiation;
mod ntlm;
mod random;
mod rehearsal;
mod requests;
mod seal;
mod session;
mod session_keys;
mod signature;
mod status;

pub(crate) use file::{SmbFile, SmbShare};
pub(crate) use random::random;
pub(crate) use rehearsal::rehearse;
pub(crate) use seal::SealKind;
