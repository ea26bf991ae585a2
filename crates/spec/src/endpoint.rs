//! Parses and prints the address of an S3 server, `http://server:port` or `https://server`, and finds a password in any
//! address.

use std::fmt;
use std::str::FromStr;

use crate::ParseError;

/// An S3 server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Whether connections use TLS.
    pub is_tls: bool,
    /// Host name or IP address; IPv6 without brackets.
    pub host: String,
    /// The port, if the address names one.
    pub port: Option<u16>,
}

impl Endpoint {
    /// The port to connect to.
    pub fn reached_port(&self) -> u16 {
        self.port.unwrap_or(if self.is_tls { 443 } else { 80 })
    }

    /// The server, with its port if one is named, as in the `Host` header of a request.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        self.port.map_or(host.clone(), |port| format!("{host}:{port}"))
    }
}

impl FromStr for Endpoint {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let example = "write a URL such as http://server:9000 or https://s3.example.org";
        if let Some(shown) = without_password(text) {
            let message = "a URL must not hold a password, which others could see: put it into the environment, such as \
                           AWS_SECRET_ACCESS_KEY, or into a file for --credentials";
            return Err(ParseError::new(&shown, 0, message));
        }
        let (is_tls, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            _ => return Err(ParseError::new(text, 0, example)),
        };
        let at = text.len() - rest.len();
        let server = rest.strip_suffix('/').unwrap_or(rest);
        if server.contains(['/', '?', '#', '@', '%', ';']) {
            let message = "an endpoint is a server and its port alone: put the bucket and its folders behind s3://";
            return Err(ParseError::new(text, at, message));
        }
        let (host, port) = host_and_port(server).map_err(|_| ParseError::new(text, at, example))?;
        Ok(Self { is_tls, host, port })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.is_tls { "https" } else { "http" }, self.authority())
    }
}

/// Separates the address of a bucket from that of its server.
pub(crate) const OF_ENDPOINT: &str = "?endpoint=";

/// The text of an address with `***` instead of its password; `None` if it holds no password.
pub fn without_password(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    if let Some((bare, url)) = text.split_once(OF_ENDPOINT) {
        let shown = (without_password(bare), without_password(url));
        return (shown.0.is_some() || shown.1.is_some()).then(|| {
            let bare = shown.0.unwrap_or_else(|| bare.into());
            let url = shown.1.unwrap_or_else(|| url.into());
            format!("{bare}{OF_ENDPOINT}{url}")
        });
    }
    let authority = rest.split('/').next().unwrap_or(rest);
    // A password may contain a `/`; a later `@` still ends it.
    let account = match authority.rsplit_once('@') {
        Some((account, _)) => account,
        None if has_port(authority) => return None,
        None => rest.rsplit_once('@')?.0,
    };
    let (user, _) = account.split_once(':')?;
    Some(format!("{scheme}://{user}:***@{}", &rest[account.len() + 1..]))
}

/// Whether the part before the first `/` is a server, with or without a port number.
fn has_port(authority: &str) -> bool {
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    authority.starts_with('[') || port.bytes().all(|byte| byte.is_ascii_digit())
}

/// A server's name and the port behind it.
pub(crate) fn host_and_port(server: &str) -> Result<(String, Option<u16>), &'static str> {
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
        return Err("name a server");
    }
    let number = |port: &str| port.parse().ok().filter(|port| *port > 0).ok_or("a port is a number from 1 to 65535");
    Ok((host.to_string(), port.map(number).transpose()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_and_printed() {
        for (text, shown, port) in [
            ("http://127.0.0.1:9000/", "http://127.0.0.1:9000", 9000),
            ("https://s3.example.org", "https://s3.example.org", 443),
            ("http://[::1]:80", "http://[::1]:80", 80),
            ("http://nas", "http://nas", 80),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!((endpoint.to_string().as_str(), endpoint.reached_port()), (shown, port));
        }
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        for text in ["", "nas:9000", "ftp://nas", "http://", "http://nas/bucket", "http://nas:x", "http://a@nas"] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
        let error = "https://key:hidden@nas".parse::<Endpoint>().unwrap_err().to_string();
        assert!(error.contains("***") && !error.contains("hidden"), "{error}");
    }
}
