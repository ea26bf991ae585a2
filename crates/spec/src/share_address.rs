//! Parses and prints addresses of shares on file servers: `smb://...`, `nfs://...` and `s3://...`.

use std::fmt;

use crate::endpoint::{OF_ENDPOINT, host_and_port, without_password};
use crate::{Endpoint, EngineName, ParseError};

/// A protocol of file servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShareProtocol {
    /// SMB 2 and 3: Windows, Samba, most NAS.
    Smb,
    /// NFS version 3.
    Nfs,
    /// S3: objects in a bucket.
    S3,
}

impl ShareProtocol {
    /// The word before `://`.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Smb => "smb",
            Self::Nfs => "nfs",
            Self::S3 => "s3",
        }
    }

    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Smb => "SMB",
            Self::Nfs => "NFSv3",
            Self::S3 => "S3",
        }
    }

    /// The engine that speaks it.
    pub fn engine(self) -> EngineName {
        match self {
            Self::Smb => EngineName::Smb,
            Self::Nfs => EngineName::Nfs,
            Self::S3 => EngineName::S3,
        }
    }

    /// The default port.
    pub fn usual_port(self) -> u16 {
        match self {
            Self::Smb => 445,
            Self::Nfs => 2049,
            Self::S3 => 443,
        }
    }

    /// Whether a connection carries one request at a time, so that each request in flight needs its own connection.
    pub fn is_one_at_a_time(self) -> bool {
        self == Self::S3
    }

    /// Whether each write creates a new object and leaves the laid-out data unchanged.
    pub fn writes_objects(self) -> bool {
        self == Self::S3
    }

    /// Whether a separate flush request makes writes durable, unless each write is already durable.
    pub fn has_flush(self) -> bool {
        self != Self::S3
    }
}

/// A folder on a file server: `smb://[[domain;]user@]host[:port]/share[/folder]`, `nfs://host[:port]/export[/folder]`,
/// or of a bucket: `s3://bucket[/folder][?endpoint=URL]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareAddress {
    /// The protocol.
    pub protocol: ShareProtocol,
    /// The user's domain, if the address names one; SMB only.
    pub domain: Option<String>,
    /// The user, if the address names one; SMB only.
    pub user: Option<String>,
    /// The server's name or IP address, IPv6 without brackets; for S3, the bucket's name.
    pub host: String,
    /// The port, if the address names one.
    pub port: Option<u16>,
    /// SMB: the share and the folders in it. NFS: the folders of the export path, at least one. S3: the parts of the
    /// key prefix. No part is empty.
    pub path: Vec<String>,
    /// The S3 server, if it is not the usual one of the user's region; S3 only.
    pub endpoint: Option<Endpoint>,
}

impl ShareAddress {
    /// The port to connect to.
    pub fn reached_port(&self) -> u16 {
        self.port.unwrap_or(self.protocol.usual_port())
    }

    /// The server's name and port; `None` for S3 if the user's region determines it.
    pub fn server(&self) -> Option<(&str, u16)> {
        match (&self.endpoint, self.protocol) {
            (Some(endpoint), _) => Some((&endpoint.host, endpoint.reached_port())),
            (None, ShareProtocol::S3) => None,
            (None, _) => Some((&self.host, self.reached_port())),
        }
    }

    /// The same address without user and domain.
    pub fn place(&self) -> Self {
        Self { user: None, domain: None, ..self.clone() }
    }

    /// Parses the part after `SCHEME://` in `text`.
    ///
    /// # Errors
    /// A [`ParseError`] that points at the character, and never shows a password.
    pub(crate) fn parse(protocol: ShareProtocol, text: &str) -> Result<Self, ParseError> {
        if let Some(shown) = without_password(text) {
            let message = "an address must not hold a password, which others could see: put it into the environment, such \
                           as HALFPOWER_SMB_PASSWORD, or into a file for --credentials";
            return Err(ParseError::new(&shown, protocol.scheme().len() + 3, message));
        }
        let (bare, endpoint) = match text.split_once(OF_ENDPOINT).filter(|_| protocol == ShareProtocol::S3) {
            Some((bare, url)) => {
                let wrong = |error: ParseError| error.within(text, bare.len() + OF_ENDPOINT.len());
                (bare, Some(url.parse().map_err(wrong)?))
            }
            None => (text, None),
        };
        let start = protocol.scheme().len() + "://".len();
        let rest = &bare[start..];
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (account, server) = match authority.rsplit_once('@') {
            Some((account, server)) => (Some(account), server),
            None => (None, authority),
        };
        let wrong = |at: usize, message: &str| Err(ParseError::new(text, at, message));
        let (domain, user) = match account.map(|account| account.split_once(';').unwrap_or(("", account))) {
            Some(_) if protocol != ShareProtocol::Smb => return wrong(start, no_user(protocol)),
            Some((_, "")) => return wrong(start, "write a user before the @"),
            Some((domain, user)) => ((!domain.is_empty()).then(|| decoded(domain)), Some(decoded(user))),
            None => (None, None),
        };
        let server_at = start + authority.len() - server.len();
        let (host, port) = host_and_port(server).map_err(|message| ParseError::new(text, server_at, message))?;
        if protocol == ShareProtocol::S3 && (port.is_some() || !is_bucket(&host)) {
            let message = "name a bucket, such as s3://bucket/prefix --endpoint http://server:9000";
            return wrong(server_at, message);
        }
        let path: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(decoded).collect();
        match protocol {
            ShareProtocol::Smb if path.is_empty() => {
                return wrong(text.len(), "name a share, such as smb://server/share");
            }
            ShareProtocol::Nfs if path.is_empty() => {
                return wrong(text.len(), "name an export, such as nfs://server/srv/data");
            }
            _ => {}
        }
        if path.iter().any(|part| part == "." || part == ".." || part.contains(['\\', '\0'])) {
            return wrong(
                bare.len() - rest.len() + authority.len(),
                "a folder's name cannot be `.`, `..`, or hold a \\",
            );
        }
        Ok(Self { protocol, domain, user, host, port, path, endpoint })
    }
}

/// Why an address of this protocol must not name a user.
fn no_user(protocol: ShareProtocol) -> &'static str {
    match protocol {
        ShareProtocol::S3 => {
            "S3 takes its user from the environment (AWS_ACCESS_KEY_ID), a profile or --credentials: leave out what stands \
             before the @"
        }
        _ => "NFSv3 has no users to sign in: leave out what stands before the @",
    }
}

/// Whether `name` is a valid bucket name, usable in a path and in a server's name.
fn is_bucket(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) && !name.starts_with('.')
}

impl fmt::Display for ShareAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.protocol.scheme())?;
        if let Some(user) = &self.user {
            self.domain.iter().try_for_each(|domain| write!(f, "{};", encoded(domain)))?;
            write!(f, "{}@", encoded(user))?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?
        } else {
            f.write_str(&self.host)?
        }
        self.port.iter().try_for_each(|port| write!(f, ":{port}"))?;
        self.path.iter().try_for_each(|part| write!(f, "/{}", encoded(part)))?;
        self.endpoint.iter().try_for_each(|endpoint| write!(f, "{OF_ENDPOINT}{endpoint}"))
    }
}

/// Decodes percent-encoding such as `%20`; sequences that do not decode to text stay unchanged.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        let code = code.filter(|code| *byte == b'%' && *code != b'/');
        bytes.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_string())
}

/// Percent-encodes the characters that would end the text.
fn encoded(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || " %@:;?#".contains(c) {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| shown.push_str(&format!("%{byte:02X}")));
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smb(text: &str) -> Result<ShareAddress, ParseError> {
        ShareAddress::parse(ShareProtocol::Smb, text)
    }

    #[test]
    fn an_address_is_read_and_printed() {
        let address = smb("smb://WORK;ann@nas:1445/my%20share/a/b").unwrap();
        assert_eq!((address.domain.as_deref(), address.user.as_deref()), (Some("WORK"), Some("ann")));
        assert_eq!((address.host.as_str(), address.reached_port()), ("nas", 1445));
        assert_eq!(address.path, ["my share", "a", "b"]);
        assert_eq!(address.to_string(), "smb://WORK;ann@nas:1445/my%20share/a/b");
        assert_eq!(address.place().to_string(), "smb://nas:1445/my%20share/a/b");
        assert_eq!(smb("smb://[fe80::1]/s//x/").unwrap().to_string(), "smb://[fe80::1]/s/x");
        assert_eq!(smb("smb://[fe80::1]:446/s").unwrap().port, Some(446));
        let export = ShareAddress::parse(ShareProtocol::Nfs, "nfs://10.0.0.1/srv/data").unwrap();
        assert_eq!((export.reached_port(), export.to_string().as_str()), (2049, "nfs://10.0.0.1/srv/data"));
    }

    #[test]
    fn a_password_is_refused_and_not_shown() {
        for text in ["smb://ann:secret@nas/share", "smb://W;ann:se:cret@nas/s", "smb://ann:s/ecret@nas/share"] {
            let error = smb(text).unwrap_err().to_string();
            assert!(error.contains("HALFPOWER_SMB_PASSWORD") && error.contains("***"), "{error}");
            assert!(!error.contains("ecret"), "{error}");
        }
        assert_eq!(without_password("smb://nas:445/a@b"), None);
        assert_eq!(without_password("smb://ann@nas/a:b@c"), None);
        assert_eq!(without_password("/a/b"), None);
    }

    #[test]
    fn a_bucket_may_name_its_server() {
        let s3 = |text| ShareAddress::parse(ShareProtocol::S3, text);
        let address = s3("s3://lab-data/a%20b/c?endpoint=http://127.0.0.1:9000/").unwrap();
        assert_eq!((address.host.as_str(), &address.path[..]), ("lab-data", &["a b".to_string(), "c".to_string()][..]));
        assert_eq!(address.server(), Some(("127.0.0.1", 9000)));
        assert_eq!(address.to_string(), "s3://lab-data/a%20b/c?endpoint=http://127.0.0.1:9000");
        assert_eq!(s3("s3://lab-data").unwrap().server(), None, "the region says it");
        assert_eq!(s3("s3://lab-data/").unwrap().to_string(), "s3://lab-data");
        for (text, word) in [
            ("s3://", "name a"),
            ("s3://lab data/x", "name a"),
            ("s3://server:9000/bucket", "name a bucket"),
            ("s3://key@bucket/x", "AWS_ACCESS_KEY_ID"),
            ("s3://key:secret@bucket/x", "***"),
            ("s3://key:secret@bucket/x?endpoint=http://h", "***"),
            ("s3://b/x?endpoint=ftp://h", "http://"),
            ("s3://b/x?endpoint=http://key:secret@h", "***"),
        ] {
            let error = s3(text).unwrap_err().to_string();
            assert!(error.contains(word) && !error.contains("secret"), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_no_address_is_pointed_at() {
        assert_eq!(smb("smb://nas").unwrap_err().at, 9);
        assert_eq!(smb("smb://nas:x/share").unwrap_err().at, 6);
        assert!(smb("smb:///share").is_err() && smb("smb://@nas/share").is_err());
        assert!(smb("smb://nas/share/../x").is_err());
        let nfs = |text| ShareAddress::parse(ShareProtocol::Nfs, text).unwrap_err().to_string();
        assert!(nfs("nfs://ann@nas/x").contains("no users") && nfs("nfs://nas/").contains("name an export"));
    }
}
