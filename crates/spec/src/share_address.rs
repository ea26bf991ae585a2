//! Parses and prints addresses of shares on file servers: `smb://...` and `nfs://...`.

use std::fmt;

use crate::{EngineName, ParseError};

/// How a file server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShareProtocol {
    /// SMB 2 and 3: Windows, Samba, most NAS.
    Smb,
    /// NFS version 3.
    Nfs,
}

impl ShareProtocol {
    /// The word before `://`.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Smb => "smb",
            Self::Nfs => "nfs",
        }
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Smb => "SMB",
            Self::Nfs => "NFSv3",
        }
    }

    /// The engine that speaks it.
    pub fn engine(self) -> EngineName {
        match self {
            Self::Smb => EngineName::Smb,
            Self::Nfs => EngineName::Nfs,
        }
    }

    /// The port where the address names none.
    pub fn usual_port(self) -> u16 {
        match self {
            Self::Smb => 445,
            Self::Nfs => 2049,
        }
    }
}

/// A folder on a file server: `smb://[[domain;]user@]host[:port]/share[/folder]` or `nfs://host[:port]/export[/folder]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareAddress {
    /// How the server is spoken to.
    pub protocol: ShareProtocol,
    /// The domain of the user, where the address names one; SMB alone has it.
    pub domain: Option<String>,
    /// The user, where the address names one; SMB alone has it.
    pub user: Option<String>,
    /// The server's name or number, an IPv6 one without its brackets.
    pub host: String,
    /// The port, where the address names one.
    pub port: Option<u16>,
    /// The share and the folders in it, or the folders of an NFS server's path; never empty, and no part is.
    pub path: Vec<String>,
}

impl ShareAddress {
    /// The port to connect to.
    pub fn reached_port(&self) -> u16 {
        self.port.unwrap_or(self.protocol.usual_port())
    }

    /// The same place whoever asks for it: without user and domain.
    pub fn place(&self) -> Self {
        Self { user: None, domain: None, ..self.clone() }
    }

    /// Reads what follows `SCHEME://` in `text`.
    ///
    /// # Errors
    /// A [`ParseError`] that points at the character, and never shows a password.
    pub(crate) fn parse(protocol: ShareProtocol, text: &str) -> Result<Self, ParseError> {
        let start = protocol.scheme().len() + "://".len();
        let rest = &text[start..];
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (account, server) = match authority.rsplit_once('@') {
            Some((account, server)) => (Some(account), server),
            None => (None, authority),
        };
        if let Some(shown) = without_password(text) {
            let message = "an address must not hold a password, which others could see: put it into \
                           HALFPOWER_SMB_PASSWORD, or into a file for --credentials";
            return Err(ParseError::new(&shown, start, message));
        }
        let wrong = |at: usize, message: &str| Err(ParseError::new(text, at, message));
        if account.is_some() && protocol == ShareProtocol::Nfs {
            return wrong(start, "NFSv3 has no users to sign in: leave out what stands before the @");
        }
        let (domain, user) = match account.map(|account| account.split_once(';').unwrap_or(("", account))) {
            Some((_, "")) => return wrong(start, "write a user before the @"),
            Some((domain, user)) => ((!domain.is_empty()).then(|| decoded(domain)), Some(decoded(user))),
            None => (None, None),
        };
        let server_at = start + authority.len() - server.len();
        let (host, port) = host_and_port(server).map_err(|message| ParseError::new(text, server_at, message))?;
        let path: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(decoded).collect();
        let example = match protocol {
            ShareProtocol::Smb => "name a share, such as smb://server/share",
            ShareProtocol::Nfs => "name an export, such as nfs://server/srv/data",
        };
        if path.is_empty() {
            return wrong(text.len(), example);
        }
        if path.iter().any(|part| part == "." || part == ".." || part.contains(['\\', '\0'])) {
            return wrong(
                text.len() - rest.len() + authority.len(),
                "a folder's name cannot be `.`, `..`, or hold a \\",
            );
        }
        Ok(Self { protocol, domain, user, host, port, path })
    }
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
        self.path.iter().try_for_each(|part| write!(f, "/{}", encoded(part)))
    }
}

/// The text of an address with `***` for its password; `None` where it holds none.
pub fn without_password(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let authority = rest.split('/').next().unwrap_or(rest);
    // A password may itself hold a `/`: an `@` further on then still ends it.
    let account = match authority.rsplit_once('@') {
        Some((account, _)) => account,
        None if has_port(authority) => return None,
        None => rest.rsplit_once('@')?.0,
    };
    let (user, _) = account.split_once(':')?;
    Some(format!("{scheme}://{user}:***@{}", &rest[account.len() + 1..]))
}

/// Whether what stands before the first `/` is a server, with a number after its colon or none.
fn has_port(authority: &str) -> bool {
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    authority.starts_with('[') || port.bytes().all(|byte| byte.is_ascii_digit())
}

fn host_and_port(server: &str) -> Result<(String, Option<u16>), &'static str> {
    let (host, port) = match server.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((host, ""))) => (host, None),
        Some(Some((host, rest))) => {
            (host, Some(rest.strip_prefix(':').ok_or("write a port after the ], as in ]:445")?))
        }
        Some(None) => return Err("an address of IPv6 ends with a ]"),
        None => server.split_once(':').map_or((server, None), |(host, port)| (host, Some(port))),
    };
    let is_wrong = |c: char| c.is_whitespace() || c.is_control();
    if host.is_empty() || host.contains(is_wrong) {
        return Err("name a server, such as smb://server/share");
    }
    let number = |port: &str| port.parse().ok().filter(|port| *port > 0).ok_or("a port is a number from 1 to 65535");
    Ok((host.to_string(), port.map(number).transpose()?))
}

/// The text with `%20` and its like as the bytes that they stand for; what stands for no text stays as it is.
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

/// The text with `%20` and its like for what would end it.
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
    fn what_is_no_address_is_pointed_at() {
        assert_eq!(smb("smb://nas").unwrap_err().at, 9);
        assert_eq!(smb("smb://nas:x/share").unwrap_err().at, 6);
        assert!(smb("smb:///share").is_err() && smb("smb://@nas/share").is_err());
        assert!(smb("smb://nas/share/../x").is_err());
        let nfs = |text| ShareAddress::parse(ShareProtocol::Nfs, text).unwrap_err().to_string();
        assert!(nfs("nfs://ann@nas/x").contains("no users") && nfs("nfs://nas/").contains("name an export"));
    }
}
