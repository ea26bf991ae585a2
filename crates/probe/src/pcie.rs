//! Reads the negotiated speed of the PCIe links on the way to a disk.

use std::path::{Path, PathBuf};

use halfpower_spec::Rate;

use crate::Root;
use crate::sysfs_path::{Link, folders, leading, name};

/// Name of the PCIe level.
const PCIE: &str = "PCIe link";
/// GT/s that the ports of a tunnel through Thunderbolt or USB4 name, whatever the cable carries (USB4 specification, 11.2.1).
const TUNNEL: f64 = 2.5;

/// The folders of all PCI functions on the way, the nearest to the processor first.
pub fn functions(way: &Path) -> Vec<PathBuf> {
    folders(way).into_iter().filter(|folder| is_function(name(folder))).collect()
}

/// `0000:01:00.0`: domain, bus, device and function.
fn is_function(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let hexadecimal = parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit()));
    parts.len() == 4 && hexadecimal && name.rfind('.') > name.rfind(':')
}

/// The link of the last PCI function on the way, the disk's controller; `None` if the controller is inside the chipset.
pub(crate) fn endpoint(root: &Root, way: &Path) -> Option<Link> {
    let function = functions(way).pop()?;
    // Devices inside the processor or the chipset have no link and no such file.
    if !root.exists(function.join("current_link_speed")) {
        return None;
    }
    if is_tunnel(root, std::slice::from_ref(&function)) {
        return Some(Link {
            kind: PCIE,
            half_duplex: false,
            rate: None,
            source: of_tunnel(name(&function)),
            key: function,
        });
    }
    Some(link(root, &function))
}

/// Whether the first of these functions may be a port of a tunnel through Thunderbolt or USB4; those behind it follow. Such
/// ports look like those of PCIe 1.0, so in doubt one is a tunnel where anything there is removable, or the machine has
/// Thunderbolt (`removable` tells from Linux 5.14 on).
pub fn is_tunnel(root: &Root, functions: &[PathBuf]) -> bool {
    let Some(port) = functions.first() else { return false };
    let speed = |which: &str| leading(&root.text(port.join(format!("{which}_link_speed")))?);
    let is_slow = speed("max").or_else(|| speed("current")).is_some_and(|transfers| transfers <= TUNNEL);
    let is_removable =
        |function: &PathBuf| root.text(function.join("removable")).is_some_and(|text| text.trim() == "removable");
    is_slow && (functions.iter().any(is_removable) || !root.names("sys/bus/thunderbolt/devices").is_empty())
}

/// Why a tunnel has no figure.
pub(crate) fn of_tunnel(at: &str) -> String {
    format!("PCIe at {at} may be a tunnel through Thunderbolt or USB4, which names {TUNNEL} GT/s whatever it carries")
}

/// The link from a PCI function towards the processor.
pub(crate) fn link(root: &Root, function: &Path) -> Link {
    let read = |which: &str| {
        let transfers = leading(&root.text(function.join(format!("{which}_link_speed")))?)?;
        let lanes: u32 = root.number(function.join(format!("{which}_link_width")))?;
        // An unknown width reads as 0 or 255.
        (1..=32).contains(&lanes).then_some((transfers, lanes))
    };
    let at = name(function);
    let Some((transfers, lanes)) = read("current") else {
        let source = format!("the kernel does not tell the speed and width of the PCIe link at {at}");
        return Link { kind: PCIE, half_duplex: false, key: function.to_path_buf(), rate: None, source };
    };
    let (rate, coding) = rate(transfers, lanes);
    let mut source = format!("PCIe {transfers} GT/s x{lanes} at {at}, {coding}, one direction, before packet headers");
    if let Some((most, widest)) = read("max").filter(|most| *most > (transfers, lanes)) {
        source.push_str(&format!("; the device could do {most} GT/s x{widest}"));
    }
    Link { kind: PCIE, half_duplex: false, key: function.to_path_buf(), rate: Some(rate), source }
}

/// Bytes a second of a PCIe link = transfers a second x lanes x coding / 8.
///
/// The coding is 8b/10b up to 5 GT/s and 128b/130b up to 32 GT/s. At 64 GT/s 242 of a flit's 256 bytes carry data; the
/// other 14 hold check and correction codes (PCI Express Base Specification 6.0, 4.2).
pub fn rate(transfers: f64, lanes: u32) -> (Rate, &'static str) {
    let (coding, name) = match transfers {
        slow if slow <= 5.0 => (8.0 / 10.0, "8b/10b"),
        fast if fast < 64.0 => (128.0 / 130.0, "128b/130b"),
        _ => (242.0 / 256.0, "flits of 242/256"),
    };
    (Rate(transfers * 1e9 * f64::from(lanes) * coding / 8.0), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_the_generations() {
        let mbps = |transfers, lanes| rate(transfers, lanes).0.mbps().round();
        assert_eq!([mbps(2.5, 1), mbps(5.0, 4), mbps(8.0, 4)], [250.0, 2000.0, 3938.0]);
        assert_eq!([mbps(16.0, 4), mbps(32.0, 4), mbps(64.0, 4)], [7877.0, 15754.0, 30250.0]);
    }

    #[test]
    fn names_of_functions() {
        let functions = ["0000:01:00.0", "10000:e1:00.0", "pci0000:00", "0:0:0:0", "2-1:1.0", "target0:0:0"];
        assert_eq!(functions.map(is_function), [true, true, false, false, false, false]);
    }
}
