//! Finds the keys and region for S3 in the places where Amazon's own tools look.

use std::io::Read;
use std::path::{Path, PathBuf};

use halfpower_spec::{Endpoint, ParseError};

use crate::credentials::{Credentials, CredentialsError, read_alone};

/// Environment variables.
const KEY: &str = "AWS_ACCESS_KEY_ID";
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
const TOKEN: &str = "AWS_SESSION_TOKEN";
const PROFILE: &str = "AWS_PROFILE";
const ENDPOINTS: [&str; 2] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];
const REGIONS: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];
const USUAL_REGION: &str = "us-east-1";
/// Size limit of a profile file.
const MOST_BYTES: u64 = 1 << 20;

/// Returns the value of an environment variable.
type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The S3 endpoint that the environment names, if any.
///
/// # Errors
/// If the value is not the URL of a server.
pub fn endpoint_of_environment() -> Result<Option<Endpoint>, ParseError> {
    let named = ENDPOINTS.iter().find_map(|name| std::env::var(name).ok().filter(|url| !url.is_empty()));
    named.map(|url| url.parse()).transpose()
}

/// The keys from `file` if it is given, else from the environment, else from the profile. Without keys, requests are
/// anonymous.
pub(crate) fn find(file: Option<&Path>, variable: Variable<'_>) -> Result<Credentials, CredentialsError> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let asked_profile = variable(PROFILE);
    let profile = asked_profile.clone().unwrap_or_else(|| "default".to_string());
    let home = variable("HOME").map(PathBuf::from).unwrap_or_default();
    let of_home = |name: &str, usual: &str| variable(name).map_or_else(|| home.join(usual), PathBuf::from);
    let mut found = match file {
        Some(path) => {
            let text = read_alone(path)?;
            let found = Section::read(&text, |name| name.is_empty() || name == profile);
            found.map_err(|line| CredentialsError::Line { path: path.to_path_buf(), line })?
        }
        None => Section { key: variable(KEY), secret: variable(SECRET), token: variable(TOKEN), region: None },
    };
    let config = section(&of_home("AWS_CONFIG_FILE", ".aws/config"), |name| {
        name.strip_prefix("profile ").unwrap_or(name) == profile
    });
    if file.is_none() && found.key.is_none() && found.secret.is_none() {
        let shared = section(&of_home("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"), |name| name == profile);
        let shared = shared.or(config.clone().filter(|section| section.key.is_some()));
        if shared.is_none() && config.is_none() && asked_profile.is_some() {
            return wrong(format!("{PROFILE} names the profile {profile}, and no file has it; name another one"));
        }
        found = shared.unwrap_or_default();
    }
    let region = REGIONS.iter().find_map(|name| variable(name)).or(found.region);
    let region = region.or(config.and_then(|section| section.region)).unwrap_or_else(|| USUAL_REGION.to_string());
    let (user, password) = match (found.key, found.secret, file) {
        (Some(key), Some(secret), _) => (key, secret),
        // Whoever names a file does not mean to be anonymous.
        (None, None, Some(path)) => {
            return wrong(format!(
                "--credentials {}: it has no keys for the profile {profile}; write aws_access_key_id= and \
                 aws_secret_access_key= there, or name another profile with {PROFILE}",
                path.display()
            ));
        }
        (None, None, None) => Default::default(),
        (Some(_), None, _) => return wrong(format!("there is an access key without its secret key; set {SECRET} too")),
        (None, Some(_), _) => return wrong(format!("there is a secret key without its access key; set {KEY} too")),
    };
    let token = found.token.unwrap_or_default();
    // These go into header lines, which a line break would corrupt.
    if [&user, &token, &region].iter().any(|word| !word.bytes().all(|byte| byte.is_ascii_graphic())) {
        return wrong("an access key, session token or region holds what none of them can; look at them".to_string());
    }
    Ok(Credentials { user, password, token, region, domain: String::new() })
}

fn wrong(what: String) -> Result<Credentials, CredentialsError> {
    Err(CredentialsError::Aws { what })
}

/// The settings of a profile.
#[derive(Clone, Default)]
struct Section {
    key: Option<String>,
    secret: Option<String>,
    token: Option<String>,
    region: Option<String>,
}

impl Section {
    /// Reads the settings of the sections for which `ours` is true; lines before the first section belong to one with
    /// an empty name. The error is the number of a line that is not a setting.
    fn read(text: &str, ours: impl Fn(&str) -> bool) -> Result<Self, usize> {
        let mut found = Self::default();
        let mut is_ours = ours("");
        for (line, setting) in (1_usize..).zip(text.lines()) {
            let setting = setting.trim();
            if let Some(name) = setting.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                is_ours = ours(name.trim());
            } else if is_ours && !setting.is_empty() && !setting.starts_with(['#', ';']) {
                let (name, value) = setting.split_once('=').ok_or(line)?;
                let value = Some(value.trim().to_string()).filter(|value| !value.is_empty());
                match name.trim() {
                    "aws_access_key_id" | "username" => found.key = value,
                    "aws_secret_access_key" | "password" => found.secret = value,
                    "aws_session_token" => found.token = value,
                    "region" => found.region = value,
                    _ => {}
                }
            }
        }
        Ok(found)
    }
}

/// The section of this name in a profile file; `None` if there is no such section or file.
fn section(path: &Path, ours: impl Fn(&str) -> bool) -> Option<Section> {
    let mut text = String::new();
    std::fs::File::open(path).ok()?.take(MOST_BYTES + 1).read_to_string(&mut text).ok()?;
    if text.len() as u64 > MOST_BYTES {
        return None;
    }
    let has_it = text.lines().any(|line| {
        let name = line.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        name.is_some_and(|name| ours(name.trim()))
    });
    // Lines outside of our section need not be valid.
    Section::read(&text, |name| !name.is_empty() && ours(name)).ok().filter(|_| has_it)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        set: Vec<(&'static str, String)>,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join(".aws")).unwrap();
            let home = folder.path().display().to_string();
            Self { folder, set: vec![("HOME", home)] }
        }

        fn file(&self, name: &str, text: &str) -> PathBuf {
            let path = self.folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            path
        }

        fn with(mut self, name: &'static str, value: &str) -> Self {
            self.set.push((name, value.to_string()));
            self
        }

        fn find(&self, file: Option<&Path>) -> Result<Credentials, CredentialsError> {
            let of = |name: &str| self.set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
            find(file, &of)
        }
    }

    const SHARED: &str = "[default]\naws_access_key_id = AK1\naws_secret_access_key = hidden1\n\n[lab]\n\
                          aws_access_key_id=AK2\naws_secret_access_key=hid=den2\naws_session_token=T\nregion=eu-west-2\n";

    #[test]
    fn nobody_is_anonymous_in_the_usual_region() {
        let found = Place::new().find(None).unwrap();
        assert_eq!((found.user.as_str(), found.region.as_str()), ("", "us-east-1"));
    }

    #[test]
    fn the_environment_comes_before_the_profile_and_a_named_file_before_both() {
        let place = Place::new().with(KEY, "AK0").with(SECRET, "hidden0").with("AWS_REGION", "ap-south-1");
        place.file(".aws/credentials", SHARED);
        let found = place.find(None).unwrap();
        assert_eq!((found.user.as_str(), found.region.as_str()), ("AK0", "ap-south-1"));
        assert!(!format!("{found:?}").contains("hidden"));
        let named = place.file("mine", "username=AK3\npassword=hidden3\n");
        assert_eq!(place.find(Some(&named)).unwrap().user, "AK3");
        std::fs::set_permissions(&named, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = place.find(Some(&named)).unwrap_err().to_string();
        assert!(error.contains("chmod 600") && !error.contains("hidden"), "{error}");
    }

    #[test]
    fn a_profile_is_found_by_its_name() {
        let place = Place::new().with(PROFILE, "lab");
        place.file(".aws/credentials", SHARED);
        let found = place.find(None).unwrap();
        let Credentials { user, password, token, region, .. } = &found;
        assert_eq!([user, password, token, region], ["AK2", "hid=den2", "T", "eu-west-2"]);
        let place = Place::new();
        place.file(".aws/credentials", SHARED);
        place.file(".aws/config", "[default]\nregion = eu-north-1\n[profile lab]\nregion=x\n");
        let found = place.find(None).unwrap();
        assert_eq!((found.user.as_str(), found.region.as_str()), ("AK1", "eu-north-1"));
        let error = Place::new().with(PROFILE, "nobody").find(None).unwrap_err().to_string();
        assert!(error.contains("nobody"), "{error}");
    }

    #[test]
    fn a_named_file_without_keys_for_the_profile_is_refused() {
        let place = Place::new().with(PROFILE, "lab");
        let named = place.file("mine", "[default]\naws_access_key_id=AK\naws_secret_access_key=hidden\n");
        let error = place.find(Some(&named)).unwrap_err().to_string();
        assert!(error.contains("mine: it has no keys for the profile lab") && !error.contains("hidden"), "{error}");
    }

    #[test]
    fn half_of_a_pair_and_broken_lines_are_refused() {
        let error = Place::new().with(KEY, "AK0").find(None).unwrap_err().to_string();
        assert!(error.contains(SECRET), "{error}");
        let place = Place::new().with(KEY, "AK\r\nX: y").with(SECRET, "hidden");
        let error = place.find(None).unwrap_err().to_string();
        assert!(error.contains("access key") && !error.contains("hidden"), "{error}");
    }
}
