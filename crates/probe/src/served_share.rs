//! Describes a share that is spoken to without a mount: this machine, the network and the server.

use std::net::SocketAddr;

use halfpower_record::{Environment, MemberIdentity, PlaceIdentity};

use crate::identity::machine_place;
use crate::levels::{End, levels};
use crate::mount_table;
use crate::{Root, probe_machine};

/// Name of the last level of a share, where the network before it has a known limit.
const SERVER: &str = "file server";
/// The same where it has none.
const NETWORK_OR_SERVER: &str = "network or file server";

/// A share that is reached without a mount.
#[derive(Debug, Clone)]
pub struct ServedShare {
    /// Its address without a user.
    pub address: String,
    /// What is spoken, such as SMB.
    pub protocol: &'static str,
    /// Where the server is.
    pub server: Option<SocketAddr>,
    /// What both sides agreed on.
    pub facts: String,
}

/// The place that a share is: this machine, the network, the server.
pub fn probe_share(root: &Root, share: &ServedShare) -> Environment {
    let mounts = mount_table::mounts(root);
    let address = share.server.map(|server| server.ip());
    let mut levels = levels(root, &mounts, &End::Server { kind: share.protocol.to_string(), address });
    // What stops requests at their far end cannot be told apart from here, unless the network has a limit that is known.
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
