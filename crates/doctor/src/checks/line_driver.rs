//! Checks what the driver of the interface to a server tells: offloads, the speeds that both ends offer, and frames that
//! interfaces below do not take.

use halfpower_probe::Missing;

use super::line::{card, speed_of};
use crate::check::Check;
use crate::outcome::{Finding, Look, above_bytes, all, only_if};
use crate::parsed::field;
use crate::{Outcome, Place};

const APPLIES: &str = "files on a server that is reached by a network card";

/// What the driver of the interface tells, a line each.
fn told(place: &Place) -> Result<(&str, String), Outcome> {
    let (name, _) = card(place, "")?;
    let text = place.root.network_card(name).map_err(|missing| match missing {
        Missing::Absent => Outcome::NotApplicable,
        Missing::RootOnly => Outcome::Unread { what: format!("settings of {name} (ethtool)"), root_can: true },
        Missing::Refused(error) => Outcome::untold(format!("settings of {name} (ethtool): {error}")),
    })?;
    Ok((name, text))
}

pub(crate) const OFFLOADS: Check = Check {
    code: "line-offloads",
    title: "Offloads of the network card",
    reads: &["settings of INTERFACE (ethtool)"],
    applies: APPLIES,
    costs: "Without generic receive and segmentation offload each frame goes through the kernel by itself, several dozen \
            times as often as with them: processor time, unknown. Any card can do these two. What the card itself may \
            lack (TCP segmentation, checksums, scatter-gather) is a note.",
    source: "https://docs.kernel.org/networking/segmentation-offloads.html",
    change: "`ethtool -K INTERFACE gro on gso on tso on`, and back with `off`.",
    look: |place| all([offloads(place)]),
};

/// Offloads, with their short names, and whether any card can do them.
const NAMES: [(&str, &str, bool); 6] = [
    ("generic-receive-offload", "gro", true),
    ("generic-segmentation-offload", "gso", true),
    ("tcp-segmentation-offload", "tso", false),
    ("scatter-gather", "sg", false),
    ("tx-checksumming", "tx", false),
    ("rx-checksumming", "rx", false),
];

fn offloads(place: &Place) -> Look {
    let (name, text) = told(place)?;
    only_if(NAMES.iter().any(|(long, ..)| field(&text, long).is_some()))?;
    let is_off = |(long, ..): &&(&str, &str, bool)| field(&text, long) == Some("off");
    let off: Vec<&(&str, &str, bool)> = NAMES.iter().filter(is_off).collect();
    if off.is_empty() {
        return Ok(Outcome::Fine);
    }
    let long: Vec<&str> = off.iter().map(|(long, ..)| *long).collect();
    let words = |to: &str| -> String { off.iter().flat_map(|(_, short, _)| [" ", *short, " ", to]).collect() };
    let what = format!("off: {}", long.join(", "));
    let is_setting = off.iter().any(|(.., any_card)| *any_card);
    let finding = if is_setting { Finding::warn(name, what) } else { Finding::note(name, what) };
    finding
        .saw(&format!("ethtool -k {name}"), format!("{} off", long.join(", ")))
        .change(format!("ethtool -K {name}{}", words("on")))
        .back(format!("ethtool -K {name}{}", words("off")))
        .end()
}

pub(crate) const NEGOTIATED: Check = Check {
    code: "line-negotiation",
    title: "Speed that both ends offer",
    reads: &["/sys/class/net/INTERFACE/speed", "link modes of INTERFACE (ethtool)"],
    applies: "network cards at 1 Gbit/s or more (for less see line-speed) whose driver tells what they can do",
    costs: "A line below what the card can do: all above its rate. Which end offers less is named.",
    source: "https://docs.kernel.org/networking/ethtool-netlink.html (LINKMODES_GET)",
    change: "A faster port or a better cable; `ethtool -s INTERFACE autoneg on` if this end was told to offer less.",
    look: |place| all([negotiated(place)]),
};

fn negotiated(place: &Place) -> Look {
    let (name, text) = told(place)?;
    let most = |which: &str| -> Option<f64> {
        let speeds = field(&text, which)?.split_whitespace().filter_map(|speed| speed.parse::<f64>().ok());
        speeds.reduce(f64::max)
    };
    let able = most("supported").ok_or(Outcome::NotApplicable)?;
    let now = speed_of(place).filter(|mbit| *mbit >= 1000.0).ok_or(Outcome::NotApplicable)?;
    if now >= able {
        return Ok(Outcome::Fine);
    }
    let offers_less = |which: &str| most(which).filter(|offered| *offered < able);
    let why = match (offers_less("advertised"), offers_less("partner")) {
        (Some(offered), _) => format!("this end offers {offered}"),
        (None, Some(offered)) => format!("the other end offers {offered}"),
        (None, None) if field(&text, "negotiated") == Some("off") => "it was set so".to_string(),
        (None, None) => "why is not told".to_string(),
    };
    Finding::warn(name, format!("the line runs at {now} of {able} Mbit/s: {why}"))
        .saw(&format!("sys/class/net/{name}/speed"), now)
        .saw(&format!("ethtool {name}"), format!("supported {able}"))
        .costs(above_bytes(now * 1e6 / 8.0, "reads and writes", "the line's rate"))
        .change(format!("use a faster port or a better cable; ethtool {name} shows what both ends offer"))
        .end()
}

pub(crate) const FITS: Check = Check {
    code: "line-mtu",
    title: "Frames that interfaces below do not take",
    reads: &["/sys/class/net/INTERFACE/{mtu,lower_*}", "/sys/class/net/LOWER/mtu", "/proc/net/route (MTU)"],
    applies: "files on a server that is reached by an interface over others, such as a bond, bridge or VLAN",
    costs: "Frames larger than an interface below takes are lost or cut, until TCP finds out: stalls, unknown. A route \
            with a smaller MTU than its interface is a note: that end of the network takes no larger frames.",
    source: "https://docs.kernel.org/networking/bonding.html; RFC 4821",
    change: "`ip link set LOWER mtu FIGURE`, the same on all of them and on the switch, and back with the old figure.",
    look: |place| all([fits(place)]),
};

fn fits(place: &Place) -> Look {
    let (name, file) = card(place, "mtu")?;
    let own: u32 = place.figure(&file)?;
    for below in place.root.names(format!("sys/class/net/{name}")) {
        let Some(lower) = below.strip_prefix("lower_") else { continue };
        let its_file = format!("sys/class/net/{lower}/mtu");
        let Some(mtu) = place.number::<u32>(&its_file).filter(|mtu| *mtu < own) else { continue };
        return Finding::bad(name, format!("it sends frames of {own} bytes over {lower}, which takes {mtu}"))
            .saw(&file, own)
            .saw(&its_file, mtu)
            .change(format!("ip link set {lower} mtu {own}, if the switch takes it; else ip link set {name} mtu {mtu}"))
            .back(format!("ip link set {lower} mtu {mtu}"))
            .end();
    }
    match route_mtu(&place.text("proc/net/route").unwrap_or_default(), name) {
        Some(mtu) if mtu < own => {
            Finding::note(name, format!("a route takes frames of {mtu} bytes, the interface {own}"))
                .saw("proc/net/route", format!("MTU {mtu}"))
                .end()
        }
        _ => Ok(Outcome::Fine),
    }
}

/// The least MTU of the routes through an interface; 0 is none.
fn route_mtu(table: &str, interface: &str) -> Option<u32> {
    let of = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let mtu = fields.get(8)?.parse().ok().filter(|mtu| *mtu > 0)?;
        (fields[0] == interface).then_some(mtu)
    };
    table.lines().filter_map(of).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_mtu_of_a_route_counts() {
        let table = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
                     eth0 0 0 1 0 0 0 0 0 0 0\neth0 0 0 1 0 0 0 0 1400 0 0\neth1 0 0 1 0 0 0 0 900 0 0\n";
        assert_eq!((route_mtu(table, "eth0"), route_mtu(table, "eth2")), (Some(1400), None));
    }
}
