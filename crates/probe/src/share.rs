//! Describes what a mounted share means for requests, and the place of a share that is reached without a mount.
//!
//! For a mounted share it says which caches direct I/O bypasses, how much one message carries, and how far is read
//! ahead; for the other one it gives this machine, the network and the server.

use std::net::{IpAddr, SocketAddr};

use halfpower_os::mounts::Mount;
use halfpower_record::{Environment, MemberIdentity, PlaceIdentity};
use halfpower_spec::Bytes;

use crate::backing::backing_device;
use crate::identity::machine_place;
use crate::levels::{End, levels};
use crate::root::mounts;
use crate::{Root, probe_machine};

/// Name of a share's last level if the network's limit is known.
const SERVER: &str = "file server";
/// Name of a share's last level if the network's limit is unknown.
const NETWORK_OR_SERVER: &str = "network or file server";

/// The server's address in the mount options.
pub fn address(mount: &Mount) -> Option<IpAddr> {
    option(mount, "addr")?.parse().ok()
}

/// Whether the client may open connections over further cards and to further addresses of the server: multichannel of SMB,
/// trunking of NFS (nfs(5)).
pub(crate) fn may_use_several_cards(mount: &Mount) -> bool {
    let addresses = option(mount, "max_connect").and_then(|most| most.parse::<u32>().ok());
    has(mount, "multichannel") || has(mount, "trunkdiscovery") || addresses.is_some_and(|most| most > 1)
}

/// One or more sentences without the last full stop; `None` for a file system with local files.
pub(crate) fn note(root: &Root, mount: &Mount) -> Option<String> {
    let how = match mount.kind.as_str() {
        "cifs" | "smb3" => smb(mount),
        "nfs" | "nfs4" => nfs(root, mount),
        "9p" => plan9(mount),
        "virtiofs" => {
            "it is a folder of the host. Direct I/O passes the page cache of this machine; whether the host's \
                       answers is the host's setting"
                .to_string()
        }
        kind => format!(
            "a program serves it{}. Direct I/O passes the page cache of this machine; what that program caches, and \
             where its data lie, is not seen here{}",
            program(kind)?,
            most(mount, "max_read", "a read of it carries")
        ),
    };
    let ahead = backing_device(root, mount).and_then(|device| root.number::<u64>(format!("{device}/read_ahead_kb")));
    let ahead = match ahead.and_then(|kib| kib.checked_mul(1024)) {
        Some(0) => ". Buffered reads read nothing ahead".to_string(),
        Some(bytes) => format!(". Buffered reads read up to {} ahead", Bytes(bytes)),
        None => String::new(),
    };
    Some(format!("{} is mounted from {}: {how}{ahead}", mount.point.display(), mount.source))
}

/// The kernel's options of SMB: Documentation/admin-guide/cifs/usage.rst.
fn smb(mount: &Mount) -> String {
    let version = option(mount, "vers").map_or("SMB".to_string(), |version| format!("SMB {version}"));
    let caches = match option(mount, "cache") {
        Some("none") => "nothing is cached on this machine, direct or not; the server's cache answers where it can",
        Some("loose") => {
            "direct I/O passes the page cache of this machine and not the server's. cache=loose lets buffered data be \
             older than the server's"
        }
        _ => "direct I/O passes the page cache of this machine and not the server's",
    };
    let sealed = if has(mount, "seal") { ". Messages are encrypted, which costs both ends" } else { "" };
    let signed = option(mount, "sec").is_some_and(|kind| kind.ends_with('i')) || has(mount, "sign");
    let signed = if signed { ". Messages are signed, which costs both ends" } else { "" };
    format!("{version}; {caches}{}{signed}{sealed}", messages(mount))
}

/// nfs(5), and the transports that /proc/self/mountstats lists.
fn nfs(root: &Root, mount: &Mount) -> String {
    let version = option(mount, "vers").unwrap_or(if mount.kind == "nfs4" { "4" } else { "3" });
    let stats = root.text("proc/self/mountstats").unwrap_or_default();
    let over = match transports(&stats, mount) {
        Some((protocol, 1)) => format!(" over one {} connection", protocol.to_uppercase()),
        Some((protocol, count)) => format!(" over {count} {} connections", protocol.to_uppercase()),
        None => String::new(),
    };
    let sync = if has(mount, "sync") { ". Each buffered write waits for the server (sync)" } else { "" };
    format!(
        "NFS {version}{over}; direct I/O passes the page cache of this machine and not the server's{}{sync}",
        messages(mount)
    )
}

/// The program behind a FUSE mount, as far as its kind names it; `None` for any other kind.
fn program(kind: &str) -> Option<String> {
    match kind.strip_prefix("fuse")? {
        "" => Some(String::new()),
        name => Some(format!(" ({})", name.strip_prefix('.')?)),
    }
}

fn plan9(mount: &Mount) -> String {
    let transport = option(mount, "trans").map_or(String::new(), |transport| format!(" over {transport}"));
    let most = most(mount, "msize", "one message carries");
    format!("9p{transport}; direct I/O passes the page cache of this machine and not the server's{most}")
}

/// Protocol and number of the connections of an NFS mount, from the `xprt:` lines of the part that begins with `device
/// SOURCE mounted on POINT with fstype`.
pub fn transports(stats: &str, mount: &Mount) -> Option<(String, usize)> {
    let begins = format!("device {} mounted on {} with fstype nfs", mount.source, mount.point.display());
    let mut lines = stats.lines().skip_while(|line| !line.starts_with(&begins));
    lines.next()?;
    let of_mount = lines.take_while(|line| !line.starts_with("device "));
    let protocols: Vec<&str> =
        of_mount.filter_map(|line| line.trim_start().strip_prefix("xprt:")?.split_whitespace().next()).collect();
    Some(((*protocols.first()?).to_string(), protocols.len()))
}

/// How much one message carries in each direction.
fn messages(mount: &Mount) -> String {
    match (size(mount, "rsize"), size(mount, "wsize")) {
        (Some(read), Some(write)) => {
            format!(". One message carries {read} read and {write} written at most; larger requests become several")
        }
        _ => String::new(),
    }
}

fn most(mount: &Mount, name: &str, what: &str) -> String {
    size(mount, name).map_or(String::new(), |bytes| format!(". At most {bytes} is what {what}"))
}

/// The value of `name=BYTES`, if it is a size.
pub fn size(mount: &Mount, name: &str) -> Option<Bytes> {
    option(mount, name)?.parse().ok().filter(|bytes| *bytes > 0 && *bytes < u64::from(u32::MAX)).map(Bytes)
}

/// The value of `name=value`; the last if there are several.
pub fn option<'a>(mount: &'a Mount, name: &str) -> Option<&'a str> {
    mount.options.split(',').filter_map(|option| option.strip_prefix(name)?.strip_prefix('=')).next_back()
}

/// Whether this option, without a value, is among the mount's.
pub fn has(mount: &Mount, name: &str) -> bool {
    mount.options.split(',').any(|option| option == name)
}

/// A share that is reached without a mount.
#[derive(Debug, Clone)]
pub struct ServedShare {
    /// Its address without a user.
    pub address: String,
    /// The protocol, such as SMB.
    pub protocol: &'static str,
    /// Address of the server.
    pub server: Option<SocketAddr>,
    /// What client and server negotiated.
    pub facts: String,
}

/// Probes the place of a share: this machine, the network and the server.
pub fn probe_share(root: &Root, share: &ServedShare) -> Environment {
    let mounts = mounts(root);
    let address = share.server.map(|server| server.ip());
    let mut levels =
        levels(root, &mounts, &End::Server { kind: share.protocol.to_string(), address, by_several: false });
    // From here, network and server cannot be told apart as the limit unless the network's limit is known.
    let is_known = levels.iter().any(|level| level.name == "network" && level.pap.is_some());
    if let Some(server) = levels.last_mut() {
        server.name = if is_known { SERVER } else { NETWORK_OR_SERVER }.to_string();
    }
    let member = MemberIdentity { path: share.address.clone(), device: None, filesystem: None };
    Environment {
        machine: probe_machine(root),
        levels,
        notes: vec![format!("the share was spoken to without a mount: {}", share.facts)],
        place: PlaceIdentity { members: vec![member], ..machine_place(root) },
        ..Environment::default()
    }
}
