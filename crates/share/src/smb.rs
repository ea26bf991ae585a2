//! Speaks SMB 2 and 3 (MS-SMB2).

mod file;
mod head;
mod negotiation;
mod rehearsal;
mod requests;
mod seal;
mod session;
mod session_keys;
mod status;

pub(crate) use file::{SmbFile, SmbShare};
pub(crate) use rehearsal::rehearse;
pub(crate) use seal::SealKind;

/// A number that nobody else has.
pub(crate) fn random() -> u64 {
    negotiation::random(0)
}
