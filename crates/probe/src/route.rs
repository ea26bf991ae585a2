//! Describes a share on a file server: the way to the server, and what its network card advertises.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use halfpower_record::{Environment, Level, MemberIdentity, PlaceIdentity};
use halfpower_spec::Rate;

use crate::identity::machine_place;
use crate::levels::{End, levels};
use crate::machine::virtual_machine;
use crate::mount_table;
use crate::{Root, probe_machine};

/// Bytes around the packets of Ethernet: preamble, head, checksum and the gap behind (IEEE 802.3).
const FRAME_BYTES: f64 = 38.0;
/// Bytes of TCP's head with time stamps (RFC 9293, RFC 7323), and of IP's.
const TCP_BYTES: f64 = 32.0;
const IPV4_BYTES: f64 = 20.0;
const IPV6_BYTES: f64 = 40.0;

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
    let mut levels = levels(root, &mounts, &End::Server(share.protocol.to_string()));
    if let Some(server) = share.server {
        levels.iter_mut().filter(|level| level.name == "network").for_each(|level| *level = network(root, server.ip()));
    }
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

/// The card that the way to the server goes through, and how much of its speed is payload.
fn network(root: &Root, server: IpAddr) -> Level {
    let unknown = |source: String| Level { name: "network".to_string(), source, ..Level::default() };
    let Some(card) = card(root, server) else {
        return unknown("the card towards the server is not known".to_string());
    };
    if card == "lo" {
        return unknown("the server is on this machine, and the loopback interface has no speed".to_string());
    }
    let folder = format!("sys/class/net/{card}");
    let megabits = root.number::<f64>(format!("{folder}/speed")).filter(|speed| *speed > 0.0);
    let Some(megabits) = megabits else { return unknown(format!("{card}, which does not tell its speed")) };
    if !root.exists(format!("{folder}/device")) {
        return unknown(format!("{card} names {megabits} Mbit/s, which is no ceiling: it is no card, but software"));
    }
    if let Some(guest) = virtual_machine(root) {
        return unknown(format!("{card} names {megabits} Mbit/s, which is no ceiling: a {guest} may name any figure"));
    }
    let mtu = root.number::<f64>(format!("{folder}/mtu")).unwrap_or(1500.0);
    let head = TCP_BYTES + if server.is_ipv4() { IPV4_BYTES } else { IPV6_BYTES };
    let (payload, frame) = (mtu - head, mtu + FRAME_BYTES);
    let rate = megabits * 1e6 / 8.0;
    Level {
        pap: Some(Rate(rate)),
        attainable: (payload > 0.0).then_some(Rate(rate * payload / frame)),
        ..unknown(format!("{card} at {megabits} Mbit/s, on which {payload} of {frame} bytes are payload of TCP"))
    }
}

/// The name of the card that packets to `server` leave through.
fn card(root: &Root, server: IpAddr) -> Option<String> {
    if server.is_loopback() {
        return Some("lo".to_string());
    }
    let IpAddr::V4(server) = server else { return None };
    longest_match(&root.text("proc/net/route")?, server)
}

/// The card of the narrowest route of `/proc/net/route` that holds `server`.
fn longest_match(table: &str, server: Ipv4Addr) -> Option<String> {
    let routes = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok().map(u32::from_be);
        let (network, mask) = (number(1)?, number(7)?);
        (u32::from(server) & mask == network).then(|| (mask.count_ones(), fields[0].to_string()))
    });
    routes.max_by_key(|(bits, _)| *bits).map(|(_, card)| card)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_route_tells_the_card() {
        let table = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
                     eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                     wire\t00004D0A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";
        if cfg!(target_endian = "little") {
            assert_eq!(longest_match(table, Ipv4Addr::new(10, 77, 0, 2)).as_deref(), Some("wire"));
            assert_eq!(longest_match(table, Ipv4Addr::new(8, 8, 8, 8)).as_deref(), Some("eth0"));
        }
        assert_eq!(longest_match("Iface\n", Ipv4Addr::LOCALHOST), None);
    }
}
