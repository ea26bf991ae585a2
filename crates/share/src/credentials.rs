//! Finds the user and password for a server of files: environment, a file, or a question on the terminal.
//!
//! The password never stands on a command line, and `Debug` hides it.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use halfpower_spec::{ShareAddress, ShareProtocol};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

/// Longest file of credentials that is read.
const MOST_BYTES: u64 = 64 << 10;
/// Names of the environment.
const USER: &str = "HALFPOWER_SMB_USER";
const PASSWORD: &str = "HALFPOWER_SMB_PASSWORD";
const DOMAIN: &str = "HALFPOWER_SMB_DOMAIN";

/// Who signs in. Without a user a guest does.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The user, of S3 the access key; empty is a guest.
    pub user: String,
    /// The user's password, of S3 the secret key.
    pub password: String,
    /// The user's domain; empty is the server's own.
    pub domain: String,
    /// What says of a user of S3, beside the password, that it is let in for a while; empty is none.
    pub token: String,
    /// The region of S3 that requests are signed for.
    pub region: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials {{ user: {:?}, domain: {:?}, password: ***, token: *** }}", self.user, self.domain)
    }
}

/// Why credentials cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file cannot be read.
    #[error("--credentials {}: it cannot be read ({error}); name a file with lines such as username=ann", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
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
    /// A line of the file is no setting.
    #[error(
        "--credentials {}: line {line} is no setting that is known here; write username=, password= or domain=, or for S3 \
         those of a profile",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
    /// What is found for S3 does not go together.
    #[error("{what}")]
    Aws {
        /// What, and what to do.
        what: String,
    },
    /// A user without a password, and nobody to ask.
    #[error(
        "{address}: no password is known for {user}; set HALFPOWER_SMB_PASSWORD, name a file with --credentials, or leave \
         the user out to come as a guest"
    )]
    NoPassword {
        /// The share.
        address: String,
        /// Who wants in.
        user: String,
    },
}

impl Credentials {
    /// Those for `address`: of the file where one is named, else of the environment, else as the user says who is asked on
    /// the terminal. What the address says of user and domain comes first.
    ///
    /// # Errors
    /// Where the file cannot be used, or a user has no password and there is no terminal to ask on.
    pub fn find(address: &ShareAddress, file: Option<&Path>) -> Result<Self, CredentialsError> {
        match address.protocol {
            ShareProtocol::Smb => {}
            ShareProtocol::Nfs => return Ok(Self::default()),
            ShareProtocol::S3 => return crate::aws::find(file, &|name| std::env::var(name).ok()),
        }
        let (mut found, mut has_password) = match file {
            Some(file) => Self::read(file)?,
            None => Self::of_environment(|name| std::env::var(name).ok()),
        };
        let named = address.user.is_some();
        found.user = address.user.clone().unwrap_or(found.user);
        found.domain = address.domain.clone().unwrap_or(found.domain);
        if !has_password && !found.user.is_empty() {
            let asked = if named || file.is_none() { ask(&address.place().to_string(), &found.user) } else { None };
            has_password = asked.is_some();
            found.password = asked.unwrap_or_default();
        }
        if !has_password && !found.user.is_empty() {
            return Err(CredentialsError::NoPassword { address: address.place().to_string(), user: found.user });
        }
        Ok(found)
    }

    /// What the environment says, and whether there was a password.
    fn of_environment(variable: impl Fn(&str) -> Option<String>) -> (Self, bool) {
        let password = variable(PASSWORD);
        let has_password = password.is_some();
        let of = |name| variable(name).unwrap_or_default();
        (
            Self { user: of(USER), password: password.unwrap_or_default(), domain: of(DOMAIN), ..Self::default() },
            has_password,
        )
    }

    /// What a file as for `mount.cifs` says, and whether there was a password.
    fn read(path: &Path) -> Result<(Self, bool), CredentialsError> {
        let text = read_alone(path)?;
        let (mut found, mut has_password) = (Self::default(), false);
        for (line, setting) in (1..).zip(text.lines()) {
            let wrong = || CredentialsError::Line { path: path.to_path_buf(), line };
            if setting.trim().is_empty() || setting.trim_start().starts_with('#') {
                continue;
            }
            // A password may begin or end with a space; a key does not.
            let (key, value) = setting.split_once('=').ok_or_else(wrong)?;
            match key.trim() {
                "username" | "user" => found.user = value.trim().to_string(),
                "password" | "pass" => (found.password, has_password) = (value.to_string(), true),
                "domain" | "dom" | "workgroup" => found.domain = value.trim().to_string(),
                _ => return Err(wrong()),
            }
        }
        Ok((found, has_password))
    }
}

/// The text of a file that nobody else may read.
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

/// Asks for a password on the terminal, without showing it; `None` where there is none.
fn ask(address: &str, user: &str) -> Option<String> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    let before = tcgetattr(&terminal).ok()?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    hidden.local_modes.insert(LocalModes::ECHONL);
    write!(&terminal, "Password of {} for {}: ", halfpower_spec::escaped(user), halfpower_spec::escaped(address))
        .ok()?;
    tcsetattr(&terminal, OptionalActions::Flush, &hidden).ok()?;
    let mut line = String::new();
    let read = BufReader::new(&terminal).read_line(&mut line);
    let _ = tcsetattr(&terminal, OptionalActions::Flush, &before);
    read.ok().filter(|bytes| *bytes > 0)?;
    Some(line.trim_end_matches(['\n', '\r']).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    #[test]
    fn a_file_of_mount_cifs_is_read() {
        let (_folder, path) = file("# a comment\nusername = ann\npassword= se=cret \n\ndomain=WORK\n", 0o600);
        let (found, has_password) = Credentials::read(&path).unwrap();
        assert!(has_password);
        assert_eq!((found.user.as_str(), found.domain.as_str(), found.password.as_str()), ("ann", "WORK", " se=cret "));
        assert!(!format!("{found:?}").contains("cret"));
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        for mode in [0o640, 0o604, 0o660] {
            let (_folder, path) = file("password=secret", mode);
            let error = Credentials::read(&path).unwrap_err().to_string();
            assert!(error.contains("chmod 600") && !error.contains("secret"), "{error}");
        }
        let (_folder, path) = file("username=ann\npasswort=secret", 0o600);
        let error = Credentials::read(&path).unwrap_err().to_string();
        assert!(error.contains("line 2") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn the_environment_is_read_and_an_empty_password_is_one() {
        let of = |known: &'static [(&str, &str)]| {
            let value =
                move |name: &str| known.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string());
            Credentials::of_environment(value)
        };
        let (found, has_password) = of(&[(USER, "ann"), (PASSWORD, "secret")]);
        assert_eq!((found.user.as_str(), found.password.as_str(), has_password), ("ann", "secret", true));
        assert_eq!(of(&[(PASSWORD, "")]), (Credentials::default(), true));
        assert_eq!(of(&[]), (Credentials::default(), false));
    }
}
