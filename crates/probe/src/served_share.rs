//! Describes a share that halfpower reaches without a mount: this machine, the network and the server.

use std::net::SocketAddr;

use halfpower_record::{Environment, MemberIdentity, PlaceIdentity};

use crate::identity::machine_place;
use crate::levels::{End, levels};
use crate::mount_table;
use crate::{Root, probe_machine};

/// Name of a share's last level if the network's limit is known.
const SERVER: &str = "file server";
/// Name of a share's last level if the network's limit is unknown.
const NETWORK_OR_SERVER: &str = "network or file server";

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
    let mounts = mount_table::mounts(root);
    let address = share.server.map(|server| server.ip());
    let mut levels = levels(root, &mounts, &End::Server { kind: share.protocol.to_string(), address });
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
