//! Holds the credentials for a file server, and reads files that only their owner may read. `Debug` hides the password.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// At most this many bytes of a credentials file are read.
const MOST_BYTES: u64 = 64 << 10;

/// The user that signs in; without a user, a guest.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The user, for S3 the access key; empty for a guest.
    pub user: String,
    /// The user's password, for S3 the secret key.
    pub password: String,
    /// The user's domain; empty for the server's own.
    pub domain: String,
    /// The session token of temporary S3 keys; empty if there is none.
    pub token: String,
    /// The S3 region that requests are signed for.
    pub region: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials {{ user: {:?}, domain: {:?}, password: ***, token: *** }}", self.user, self.domain)
    }
}

/// Why there are no usable credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file cannot be read.
    #[error("--credentials {}: it cannot be read ({error}); name a file with lines such as username=ann", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// Others can read the file.
    #[error("--credentials {}: others may read it (its mode is {mode:04o}); make it yours alone with chmod 600", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A line of the file is not a known setting.
    #[error(
        "--credentials {}: line {line} is no setting that is known here; write username=, password= or domain=, or for S3 \
         those of a profile",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
    },
    /// The settings for S3 are incomplete or invalid.
    #[error("{what}")]
    Aws {
        /// What is wrong, and what to do.
        what: String,
    },
    /// The user was asked for the password, and did not come to answer.
    #[error("no password was given for {user}: {error}")]
    NotAsked {
        /// The user.
        user: String,
        /// Why, such as an interruption.
        error: std::io::Error,
    },
    /// A user without a password, and no terminal to ask on.
    #[error(
        "{address}: no password is known for {user}; set HALFPOWER_SMB_PASSWORD, name a file with --credentials, or leave \
         the user out to come as a guest"
    )]
    NoPassword {
        /// The share.
        address: String,
        /// The user.
        user: String,
    },
}

/// Reads a file, unless others may read it too.
pub(crate) fn read_alone(path: &Path) -> Result<String, CredentialsError> {
    let unreadable = |error| CredentialsError::Unreadable { path: path.to_path_buf(), error };
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(CredentialsError::Open { path: path.to_path_buf(), mode });
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}
