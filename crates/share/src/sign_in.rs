//! Finds the user and password for a file server: in a file, in the environment, or by asking the user.
//!
//! A password is never taken from the command line.

use std::io;
use std::path::Path;

use halfpower_spec::{ShareAddress, ShareProtocol, escaped};

use crate::credentials::{Credentials, CredentialsError, read_alone};

/// Environment variables.
const USER: &str = "HALFPOWER_SMB_USER";
const PASSWORD: &str = "HALFPOWER_SMB_PASSWORD";
const DOMAIN: &str = "HALFPOWER_SMB_DOMAIN";

impl Credentials {
    /// Finds the credentials for `address`: in `file` if given, else in the environment; `ask` shows the user the given words and
    /// returns the password that is still missing, or `None` if nobody answers. A user and domain in the address take precedence.
    ///
    /// # Errors
    /// If the file cannot be used, there is no password and nobody to ask, or `ask` fails.
    pub fn find(
        address: &ShareAddress,
        file: Option<&Path>,
        ask: impl FnOnce(&str) -> io::Result<Option<String>>,
    ) -> Result<Self, CredentialsError> {
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
            let place = address.place().to_string();
            let prompt = format!("Password of {} for {}: ", escaped(&found.user), escaped(&place));
            let asked = if named || file.is_none() { ask(&prompt) } else { Ok(None) };
            let asked = asked.map_err(|error| CredentialsError::NotAsked { user: found.user.clone(), error })?;
            has_password = asked.is_some();
            found.password = asked.unwrap_or_default();
        }
        if !has_password && !found.user.is_empty() {
            return Err(CredentialsError::NoPassword { address: address.place().to_string(), user: found.user });
        }
        Ok(found)
    }

    /// Credentials from the environment, and whether they include a password.
    fn of_environment(variable: impl Fn(&str) -> Option<String>) -> (Self, bool) {
        let password = variable(PASSWORD);
        let has_password = password.is_some();
        let of = |name| variable(name).unwrap_or_default();
        (
            Self { user: of(USER), password: password.unwrap_or_default(), domain: of(DOMAIN), ..Self::default() },
            has_password,
        )
    }

    /// Credentials from a file in the format of `mount.cifs`, and whether they include a password.
    fn read(path: &Path) -> Result<(Self, bool), CredentialsError> {
        let text = read_alone(path)?;
        let mut found = Self::default();
        let mut has_password = false;
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use halfpower_spec::Target;

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
    fn what_is_missing_is_asked_for_and_an_interruption_ends_it() {
        let target = Target::parse("smb://ann@server/share", |_| Err(io::ErrorKind::NotFound.into())).unwrap();
        let Target::Share(address) = target else { panic!("{target}") };
        let (_folder, path) = file("domain=WORK", 0o600);
        let of = |answer: io::Result<Option<String>>| {
            Credentials::find(&address, Some(path.as_path()), |prompt| {
                assert_eq!(prompt, "Password of ann for smb://server/share: ");
                answer
            })
        };
        let found = of(Ok(Some("secret".to_string()))).unwrap();
        assert_eq!((found.user.as_str(), found.domain.as_str(), found.password.as_str()), ("ann", "WORK", "secret"));
        assert!(matches!(of(Ok(None)), Err(CredentialsError::NoPassword { .. })));
        let said = of(Err(io::ErrorKind::Interrupted.into())).unwrap_err().to_string();
        assert!(said.contains("ann") && said.contains("interrupted"), "{said}");
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
