//! Parses the server and port of an address, and finds a password in it.

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
