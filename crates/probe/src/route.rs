//! Finds the interface through which an address is reached, and the share of its speed that is payload.
//!
//! It reads the kernel's main routing tables, /proc/net/route and /proc/net/ipv6_route, and the addresses of this machine itself,
//! which no card carries; policy routing rules are ignored.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use halfpower_record::{HostLink, Level};
use halfpower_spec::Rate;

use crate::Root;
use crate::machine::virtual_machine;

/// Bytes around each Ethernet frame's payload: preamble 8, header 14, check 4, gap 12 (IEEE 802.3, 3.1 and 4.4.2).
const ETHERNET: f64 = 38.0;
/// TCP's header with time stamps, as Linux sends it (RFC 9293, RFC 7323).
const TCP: f64 = 32.0;
const IPV4: f64 = 20.0;
const IPV6: f64 = 40.0;
const LOOPBACK: &str = "lo";
/// The flag of a route to an address of this machine (RTF_LOCAL, include/uapi/linux/ipv6_route.h).
const LOCAL: u32 = 0x8000_0000;

/// The level of the network towards `address`; `None` if no route to it is known.
pub(crate) fn network_level(root: &Root, address: IpAddr) -> Option<Level> {
    let card = interface_to(root, address)?;
    let name = "network".to_string();
    let folder = format!("sys/class/net/{card}");
    let is_card = root.exists(format!("{folder}/device")) || root.exists(format!("{folder}/bonding"));
    let speed = root.number::<f64>(format!("{folder}/speed")).filter(|speed| (1.0..1e9).contains(speed) && is_card);
    let Some(megabits) = speed else {
        let source = format!("{address} is reached by {card}, which tells no speed of a line");
        return Some(Level { name, source, ..Level::default() });
    };
    let source = format!("{address} is reached by {card} at {megabits} Mbit/s");
    if let Some(guest) = virtual_machine(root) {
        let source = format!("{source}; not taken for a ceiling, since a {guest} may name any figure");
        return Some(Level { name, source, ..Level::default() });
    }
    let line = megabits * 1e6 / 8.0;
    let mtu =
        root.number::<f64>(format!("{folder}/mtu")).filter(|mtu| *mtu > 576.0 && mtu.is_finite()).unwrap_or(1500.0);
    let share = payload_share(mtu, address);
    let source = format!(
        "{source}; of that {:.1}% is payload: {} of {} bytes a frame with an MTU of {mtu} over TCP/IPv{}, before the \
         headers of the file protocol",
        share * 100.0,
        mtu - headers(address),
        mtu + ETHERNET,
        if address.is_ipv4() { 4 } else { 6 }
    );
    Some(Level { name, pap: Some(Rate(line)), attainable: Some(Rate(line * share)), source, ..Level::default() })
}

/// The interface through which `address` is reached, with the speed that its driver reports; `None` if no route is
/// known.
pub fn link_to(root: &Root, address: IpAddr) -> Option<HostLink> {
    let interface = interface_to(root, address)?;
    let megabits = root.number::<f64>(format!("sys/class/net/{interface}/speed"));
    let bits_per_second = megabits.filter(|speed| (1.0..1e9).contains(speed)).map(|speed| (speed * 1e6) as u64);
    Some(HostLink { interface, bits_per_second })
}

fn headers(address: IpAddr) -> f64 {
    TCP + if address.is_ipv4() { IPV4 } else { IPV6 }
}

/// The share of the line rate that is payload, for full frames.
fn payload_share(mtu: f64, address: IpAddr) -> f64 {
    (mtu - headers(address)) / (mtu + ETHERNET)
}

/// The interface of the most specific route; among equal routes the one with the lowest metric. This machine's own addresses are
/// reached by `lo`, whatever card has them.
fn interface_to(root: &Root, address: IpAddr) -> Option<String> {
    let is_own = |address| root.text("proc/net/fib_trie").is_some_and(|text| is_local(&text, address));
    match address {
        address if address.is_loopback() => Some(LOOPBACK.to_string()),
        IpAddr::V4(address) if is_own(address) => Some(LOOPBACK.to_string()),
        IpAddr::V4(address) => ipv4_interface(&root.text("proc/net/route")?, address),
        IpAddr::V6(address) => ipv6_interface(&root.text("proc/net/ipv6_route")?, address),
    }
}

/// Whether the tree of IPv4 routes has the address as one of this machine: below a line `|-- 10.0.0.7` stand lines such as
/// `/32 host LOCAL`.
fn is_local(text: &str, address: Ipv4Addr) -> bool {
    let mut at = Ipv4Addr::UNSPECIFIED;
    text.lines().map(str::trim).any(|line| {
        if let Some(own) = line.strip_prefix("|-- ").and_then(|own| own.parse().ok()) {
            at = own;
        }
        let length =
            line.strip_prefix('/').and_then(|route| route.strip_suffix(" LOCAL")?.split(' ').next()?.parse().ok());
        let length: Option<u32> = length.filter(|length| *length <= 32);
        length.is_some_and(|length| {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            u32::from(address) & mask == u32::from(at) & mask
        })
    })
}

/// Each line has name, destination, gateway, flags, two counters, metric and mask; numbers are hexadecimal, in memory
/// order.
fn ipv4_interface(text: &str, address: Ipv4Addr) -> Option<String> {
    let address = u32::from(address);
    let route = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |field: usize| Some(u32::from_be(u32::from_str_radix(fields.get(field)?, 16).ok()?));
        let destination = number(1)?;
        let mask = number(7)?;
        let metric: u32 = fields.get(6)?.parse().ok()?;
        (address & mask == destination).then(|| (mask.leading_ones(), u32::MAX - metric, fields[0].to_string()))
    };
    text.lines().filter_map(route).max().map(|(_, _, name)| name)
}

/// Each line has destination and its length, source and its length, gateway, metric, two counters, flags and name, in
/// hexadecimal.
fn ipv6_interface(text: &str, address: Ipv6Addr) -> Option<String> {
    let address = u128::from(address);
    let route = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let destination = u128::from_str_radix(fields.first()?, 16).ok()?;
        let length = u32::from_str_radix(fields.get(1)?, 16).ok().filter(|length| *length <= 128)?;
        let metric = u32::from_str_radix(fields.get(5)?, 16).ok()?;
        let mask = if length == 0 { 0 } else { u128::MAX << (128 - length) };
        let flags = u32::from_str_radix(fields.get(8)?, 16).ok()?;
        let name = fields.get(9).filter(|_| address & mask == destination)?;
        let name = if flags & LOCAL == 0 { *name } else { LOOPBACK };
        Some((length, u32::MAX - metric, name.to_string()))
    };
    text.lines().filter_map(route).max().map(|(_, _, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_route_decides() {
        let table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n\
            eth0\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\n\
            wlan0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\n\
            eth1\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\n\
            eth2\t0002000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\n";
        let to = |address: [u8; 4]| ipv4_interface(table, address.into());
        assert_eq!(to([10, 0, 2, 9]).as_deref(), Some("eth2"));
        assert_eq!(to([10, 9, 2, 9]).as_deref(), Some("eth1"));
        assert_eq!(to([192, 168, 7, 7]).as_deref(), Some("eth0"), "the cheaper of two");
        assert_eq!(ipv4_interface("", [10, 0, 0, 1].into()), None);
        let table = "fd000000000000000000000000000000 08 0 00 0 00000100 1 0 00000001 eth6\n\
            00000000000000000000000000000000 00 0 00 0 00000400 1 0 00000003 eth0\nodd\n";
        let to = |address: &str| ipv6_interface(table, address.parse().unwrap());
        assert_eq!((to("fd00::1").as_deref(), to("2001:db8::1").as_deref()), (Some("eth6"), Some("eth0")));
    }

    #[test]
    fn an_address_of_this_machine_is_its_own_whatever_card_has_it() {
        let tree = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n\
            \x20    +-- 127.0.0.0/8 2 0 2\n        |-- 127.0.0.0\n           /8 host LOCAL\n\
            \x20    +-- 192.168.1.0/24 2 0 2\n        |-- 192.168.1.0\n           /24 link UNICAST\n\
            \x20       |-- 192.168.1.5\n           /32 host LOCAL\n        |-- 192.168.1.255\n           /32 link BROADCAST\n";
        let own = [[192, 168, 1, 5], [127, 3, 2, 1]];
        let others = [[192, 168, 1, 0], [192, 168, 1, 6], [192, 168, 1, 255], [8, 8, 8, 8]];
        assert!(own.iter().all(|address| is_local(tree, Ipv4Addr::from(*address))));
        assert!(!others.iter().any(|address| is_local(tree, Ipv4Addr::from(*address))));
        let table = "fd000000000000000000000000000000 40 0 00 0 00000100 1 0 00000001 eth0\n\
            fd000000000000000000000000000002 80 0 00 0 00000000 4 0 80200001 eth0\n";
        let to = |address: &str| ipv6_interface(table, address.parse().unwrap());
        assert_eq!((to("fd00::2").as_deref(), to("fd00::3").as_deref()), (Some("lo"), Some("eth0")));
    }

    #[test]
    fn payload_is_what_headers_leave() {
        let share = |mtu, address: &str| payload_share(mtu, address.parse().unwrap());
        assert!((share(1500.0, "10.0.0.1") - 1448.0 / 1538.0).abs() < 1e-9);
        assert!((share(9000.0, "fd00::1") - 8928.0 / 9038.0).abs() < 1e-9);
    }
}
