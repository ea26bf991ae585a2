//! Reads the negotiated speed of the links to a disk: SAS, USB, Fibre Channel and the network.
//!
//! A disk's sysfs path contains a folder for every link on the way, so the path itself lists the links. Rates are bytes
//! a second in one direction, after line coding and before packet headers.

use std::path::Path;

use halfpower_spec::Rate;

use crate::Root;
use crate::ata;
use crate::pcie;
use crate::sysfs_path::{Link, folders, last_numbered, leading, name, numbered};

/// Speed of the slowest USB 3.
const USB_3_MEGABITS: f64 = 5000.0;

/// The links on one way that end at this disk or its controller, from the processor outwards.
pub(crate) fn links(root: &Root, way: &Path) -> Vec<Link> {
    let found =
        [pcie::endpoint(root, way), fibre_channel(root, way), sas(root, way), ata::link(root, way), usb(root, way)];
    found.into_iter().flatten().collect()
}

/// Serial attached SCSI: the sum over the phys of the port; 8b/10b up to 12 Gbit/s, 128b/150b at 22.5 (SAS-4).
fn sas(root: &Root, way: &Path) -> Option<Link> {
    let port = last_numbered(way, "port-")?;
    let phys: Vec<String> = root.names(&port).into_iter().filter(|name| numbered(name, "phy-")).collect();
    let rate_of = |phy: &String| {
        let gigabits = leading(&root.text(format!("sys/class/sas_phy/{phy}/negotiated_linkrate"))?)?;
        Some((gigabits, gigabits * 1e9 * if gigabits > 12.0 { 128.0 / 150.0 } else { 0.8 } / 8.0))
    };
    let rates: Vec<(f64, f64)> = phys.iter().filter_map(rate_of).collect();
    let sum: f64 = rates.iter().map(|(_, rate)| rate).sum();
    let source = match rates.first() {
        Some((gigabits, _)) => {
            let coding = if *gigabits > 12.0 { "128b/150b" } else { "8b/10b" };
            format!("SAS {gigabits} Gbit/s x{} at {}, {coding}", rates.len(), name(&port))
        }
        None => format!("the kernel does not tell the speed of the SAS link at {}", name(&port)),
    };
    let rate = (sum > 0.0).then_some(Rate(sum));
    Some(Link { kind: "SAS link", key: port, rate, half_duplex: false, source })
}

/// Fibre Channel: a port of n Gbit/s carries n x 100 MB/s each way (FC-PI naming).
fn fibre_channel(root: &Root, way: &Path) -> Option<Link> {
    last_numbered(way, "rport-")?;
    let host = last_numbered(way, "host")?;
    let speed = root.text(format!("sys/class/fc_host/{}/speed", name(&host)));
    let gigabits = speed.as_deref().and_then(leading);
    let source = match gigabits {
        Some(gigabits) => format!("Fibre Channel {gigabits} Gbit/s at {}, 100 MB/s a Gbit/s", name(&host)),
        None => format!("the kernel does not tell the speed of the Fibre Channel port {}", name(&host)),
    };
    let rate = gigabits.map(|gigabits| Rate(gigabits * 1e8));
    Some(Link { kind: "Fibre Channel link", key: host, rate, half_duplex: false, source })
}

/// USB at the device itself, which is never faster than a hub before it.
fn usb(root: &Root, way: &Path) -> Option<Link> {
    let device = folders(way).into_iter().rev().find(|folder| is_usb_device(name(folder)))?;
    let megabits = root.text(device.join("speed")).as_deref().and_then(leading);
    let lanes: u32 = root.number(device.join("rx_lanes")).unwrap_or(1);
    let (rate, source) = match megabits {
        Some(megabits) => {
            let (rate, why) = usb_rate(megabits, lanes);
            (Some(rate), format!("USB {megabits} Mbit/s at {}, {why}", name(&device)))
        }
        None => (None, format!("the kernel does not tell the speed of the USB device {}", name(&device))),
    };
    // From USB 3 on there are wires for each way.
    let half_duplex = megabits.is_some_and(|megabits| megabits < USB_3_MEGABITS);
    Some(Link { kind: "USB link", key: device, rate, half_duplex, source })
}

/// `2-1` and `2-1.4`, but neither the root hub `usb2` nor the interface `2-1:1.0`.
fn is_usb_device(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.split_once('-').is_some_and(|(bus, ports)| digits(bus) && ports.split('.').all(digits))
}

/// The peak rate of USB bulk transfers.
///
/// For USB 2.0 it is the most that its frames hold (USB 2.0 specification, tables 5-9 and 5-10). For USB 3 it is the
/// line rate after coding (USB 3.2 specification, 6.3): 8b/10b on lanes of 5 Gbit/s, 128b/132b on lanes of 10.
fn usb_rate(megabits: f64, lanes: u32) -> (Rate, &'static str) {
    let raw = megabits * 1e6 / 8.0;
    match megabits {
        low if low < 12.0 => (Rate(raw), "before all protocol"),
        full if full < 480.0 => (Rate(19.0 * 64.0 * 1e3), "at most 19 bulk packets of 64 bytes a millisecond"),
        high if high < USB_3_MEGABITS => {
            (Rate(13.0 * 512.0 * 8e3), "at most 13 bulk packets of 512 bytes every 125 us")
        }
        gen1 if gen1 / f64::from(lanes.max(1)) <= 5000.0 => (Rate(raw * 0.8), "8b/10b"),
        _ => (Rate(raw * 128.0 / 132.0), "128b/132b"),
    }
}

/// The network towards a server that the traffic reaches by an unknown way: it may take any card, several of them, or none. So
/// the fastest that is up is named, and is no figure to hold results against.
pub(crate) fn network(root: &Root) -> Link {
    let speed_of = |card: String| {
        let folder = format!("sys/class/net/{card}");
        let real = root.exists(format!("{folder}/device"));
        let up = root.text(format!("{folder}/operstate")).as_deref() == Some("up");
        let megabits = root.number::<f64>(format!("{folder}/speed")).filter(|speed| *speed > 0.0)?;
        (real && up).then_some((card, megabits))
    };
    let cards = root.names("sys/class/net").into_iter().filter_map(speed_of);
    let fastest = cards.max_by(|a, b| a.1.total_cmp(&b.1));
    let source = match fastest {
        Some((card, megabits)) => {
            let why = "the fastest card that is up; no ceiling, since the traffic need not take it alone";
            format!("{card} at {megabits} Mbit/s ({why})")
        }
        None => "no network card here tells its speed".to_string(),
    };
    Link { kind: "network", key: "network".into(), rate: None, half_duplex: false, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices() {
        let devices = ["2-1", "2-1.4", "usb2", "2-1:1.0", "port-0", "-1", "2-"];
        assert_eq!(devices.map(is_usb_device), [true, true, false, false, false, false, false]);
    }

    #[test]
    fn usb_rates_follow_the_generations() {
        let mbps = |megabits, lanes| usb_rate(megabits, lanes).0.mbps().round();
        assert_eq!([mbps(12.0, 1), mbps(480.0, 1), mbps(5000.0, 1)], [1.0, 53.0, 500.0]);
        assert_eq!([mbps(10000.0, 1), mbps(10000.0, 2), mbps(20000.0, 2)], [1212.0, 1000.0, 2424.0]);
    }
}
