//! Defines the errors of reaching and using a share; no message contains a password.

use std::io;

use crate::credentials::CredentialsError;

/// Why a share cannot be reached or used.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// The server refused a request.
    #[error("{address}: {what}")]
    Refused {
        /// The share.
        address: String,
        /// What it refused, why, and what to do.
        what: String,
    },
    /// No whole answer came for too long.
    #[error(
        "{address}: the server has not answered in full for {seconds} s; look at the server and the network, or give \
         it more time with --timeout"
    )]
    Silent {
        /// The share.
        address: String,
        /// How long we waited, in seconds.
        seconds: f64,
    },
    /// The connection broke.
    #[error(
        "{address}: the connection to the server was lost ({error}); look at the server and the network, and start again"
    )]
    Lost {
        /// The share.
        address: String,
        /// The system's error.
        error: io::Error,
    },
    /// The server's answer does not follow the protocol.
    #[error(
        "{address}: the server sent what is no answer of {protocol} ({what}); see that it is a server of {protocol}"
    )]
    Garbage {
        /// The share.
        address: String,
        /// The protocol.
        protocol: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// There are no usable credentials.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

impl ShareError {
    /// A [`ShareError::Refused`] of the share at `address`.
    pub(crate) fn refused(address: &str, what: impl Into<String>) -> Self {
        Self::Refused { address: address.to_string(), what: what.into() }
    }
}
