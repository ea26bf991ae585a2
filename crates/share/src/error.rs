//! Says what keeps a share from being reached or used, in a sentence that never holds a password.

use std::io;

use crate::credentials::CredentialsError;

/// What a file server, or the way to it, refused.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// The server or the share does not take what was asked.
    #[error("{address}: {what}")]
    Refused {
        /// The share.
        address: String,
        /// What, why, and what to do.
        what: String,
    },
    /// Nothing came for too long.
    #[error(
        "{address}: the server has not answered for {seconds:.0} s; look at the server and the network, or give it more \
         time with --timeout"
    )]
    Silent {
        /// The share.
        address: String,
        /// How long was waited.
        seconds: f64,
    },
    /// The connection broke.
    #[error(
        "{address}: the connection to the server was lost ({error}); look at the server and the network, and start again"
    )]
    Lost {
        /// The share.
        address: String,
        /// What the system says.
        error: io::Error,
    },
    /// What came is no answer of this protocol.
    #[error(
        "{address}: the server sent what is no answer of {protocol} ({what}); see that it is a server of {protocol}"
    )]
    Garbage {
        /// The share.
        address: String,
        /// What is spoken.
        protocol: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// The credentials cannot be had.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

impl ShareError {
    /// A refusal of what was asked of `address`.
    pub(crate) fn refused(address: &str, what: impl Into<String>) -> Self {
        Self::Refused { address: address.to_string(), what: what.into() }
    }
}
