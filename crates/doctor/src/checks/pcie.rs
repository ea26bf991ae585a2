//! Checks the PCIe links on the way to the disks: width and speed, errors, power saving.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use halfpower_probe::{is_pcie_tunnel, pcie_rate};

use crate::blocks_below::name;
use crate::check::Check;
use crate::outcome::{Finding, Look, all, computed, only_if};
use crate::parsed::{chosen, leading};
use crate::place::named;
use crate::{Outcome, Place};

const ABI: &str = "https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-bus-pci)";

pub(crate) const WIDTH: Check = Check {
    code: "pcie-link",
    title: "PCIe width and speed",
    reads: &[
        "/sys/bus/pci/devices/*/{current,max}_link_{width,speed} of every function on the way",
        "/sys/bus/pci/devices/*/removable",
        "/sys/bus/thunderbolt/devices",
    ],
    applies: "disks behind PCIe; not in a virtual machine, which may name any figure, nor where PCIe passes a tunnel \
              through Thunderbolt or USB4, whose ports name 2.5 GT/s whatever it carries",
    costs: "A link trained at fewer lanes or a lower speed than both its ends can do: all that the link carries \
            above its rate, computed from lanes, speed and coding. A slot that can do less than the device is named \
            too.",
    source: ABI,
    change: "Reseat the device or cable, use another slot, look at the firmware's settings of the slot.",
    look: widths,
};

/// Lanes that a link may have; an unknown width reads as 0 or 255.
const LANES: std::ops::RangeInclusive<u32> = 1..=32;

/// Speed of a link in GT/s, and its lanes.
type Speed = (f64, u32);

fn speed(place: &Place, function: &Path, which: &str) -> Option<Speed> {
    let transfers = leading(&place.text(function.join(format!("{which}_link_speed")))?)?;
    let lanes: u32 = place.number(function.join(format!("{which}_link_width")))?;
    (LANES.contains(&lanes) && transfers > 0.0).then_some((transfers, lanes))
}

fn rate((transfers, lanes): Speed) -> f64 {
    pcie_rate(transfers, lanes).0.0
}

fn shown((transfers, lanes): Speed) -> String {
    format!("{transfers} GT/s x{lanes}")
}

/// Whether a function has a link. What is integrated into the processor has the same files, of lanes that it lacks: 0 or 255.
fn has_link(place: &Place, function: &Path) -> bool {
    place.number::<u32>(function.join("max_link_width")).is_some_and(|lanes| LANES.contains(&lanes))
}

/// The links of a way, each as its upper port, if there is one, and its lower end. The disk's own function counts as an end
/// also if it does not tell its lanes.
fn links_of_way(place: &Place, way: &[PathBuf]) -> Vec<(Option<PathBuf>, PathBuf)> {
    let is_untold_end =
        |function: &PathBuf| way.last() == Some(function) && place.root.exists(function.join("current_link_speed"));
    let chain: Vec<&PathBuf> =
        way.iter().filter(|function| has_link(place, function) || is_untold_end(function)).collect();
    match chain[..] {
        [only] => vec![(None, only.clone())],
        // Ports face down, switches and endpoints up: from the disk on, a link joins every second function with the one above.
        _ => chain.rchunks_exact(2).rev().map(|pair| (Some(pair[0].clone()), pair[1].clone())).collect(),
    }
}

/// The links on the ways to all disks.
fn links(place: &Place) -> Vec<(Option<PathBuf>, PathBuf)> {
    let mut found: Vec<(Option<PathBuf>, PathBuf)> = Vec::new();
    for way in place.real_disks().flat_map(|disk| place.functions(disk)) {
        for link in links_of_way(place, &way) {
            if !found.contains(&link) {
                found.push(link);
            }
        }
    }
    found
}

fn widths(place: &Place) -> Vec<Outcome> {
    if place.guest.is_some() {
        return vec![Outcome::NotApplicable];
    }
    all(links(place).iter().map(|(port, end)| width(place, port.as_deref(), end)))
}

fn width(place: &Place, port: Option<&Path>, end: &Path) -> Look {
    let at = name(end);
    let ends: Vec<PathBuf> = port.into_iter().chain([end]).map(Path::to_path_buf).collect();
    // The port of a tunnel names PCIe 1.0 whatever its cable carries; no slot is wider.
    only_if(!is_pcie_tunnel(&place.root, &ends) && !is_pcie_tunnel(&place.root, &ends[ends.len() - 1..]))?;
    let untold = || Outcome::untold(format!("speed and width of the PCIe link at {at}"));
    let now = speed(place, end, "current").ok_or_else(untold)?;
    let own = speed(place, end, "max").ok_or_else(untold)?;
    let above = port.and_then(|port| speed(place, port, "max"));
    let able = above.map_or(own, |above| (own.0.min(above.0), own.1.min(above.1)));
    let evidence = |finding: Finding, which: &str, of: &Path| match speed(place, of, which) {
        Some((transfers, lanes)) => finding
            .saw(&format!("sys/bus/pci/devices/{}/{which}_link_width", name(of)), lanes)
            .saw(&format!("sys/bus/pci/devices/{}/{which}_link_speed", name(of)), format!("{transfers} GT/s")),
        None => finding,
    };
    if rate(now) < rate(able) {
        let lost = 1.0 - rate(now) / rate(able);
        let what = format!("PCIe link runs at {}; both ends can do {}", shown(now), shown(able));
        let finding = if lost > 0.45 { Finding::bad(at, what) } else { Finding::warn(at, what) };
        let how = format!("{:.0} of {:.0} MB/s", rate(now) / 1e6, rate(able) / 1e6);
        let finding = finding.costs(computed(0.0, lost, "what the link carries", how));
        return evidence(evidence(finding, "current", end), "max", end)
            .change("reseat the device; look at slot, cable and the firmware's settings of the slot")
            .end();
    }
    match (port, above) {
        (Some(port), Some(above)) if rate(able) < rate(own) => {
            let what = format!("the slot can do {}, the device {}", shown(above), shown(own));
            let how = format!("{:.0} of {:.0} MB/s", rate(able) / 1e6, rate(own) / 1e6);
            let finding = Finding::warn(at, what);
            let finding = finding.costs(computed(0.0, 1.0 - rate(able) / rate(own), "what the device could", how));
            evidence(evidence(finding, "max", port), "max", end)
                .change("put the device into a wider or newer slot")
                .end()
        }
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const ERRORS: Check = Check {
    code: "pcie-errors",
    title: "PCIe errors",
    reads: &["/sys/bus/pci/devices/*/aer_dev_{correctable,nonfatal,fatal} of every function on the way"],
    applies: "disks behind PCIe functions that report errors (AER)",
    costs: "Each corrected error is a packet sent again; others reset the link or the device. The cost is unknown: \
            it depends on how often they come. 100 corrected ones since the start are worth a look, one of the \
            others is bad.",
    source: "https://docs.kernel.org/PCI/pcieaer-howto.html",
    change: "Reseat the device or cable; look at the kernel's log for `AER`.",
    look: errors,
};

fn errors(place: &Place) -> Vec<Outcome> {
    let ways = place.real_disks().flat_map(|disk| place.functions(disk));
    let functions: BTreeSet<PathBuf> = ways.flatten().collect();
    all(functions.iter().map(|function| errors_of(place, function)))
}

fn errors_of(place: &Place, function: &Path) -> Look {
    let count = |kind: &str, key: &str| -> Result<u64, Outcome> {
        let text = place.fact(function.join(format!("aer_dev_{kind}")))?;
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        Ok(line.and_then(|count| count.trim().parse().ok()).unwrap_or(0))
    };
    let corrected = count("correctable", "TOTAL_ERR_COR")?;
    let nonfatal = count("nonfatal", "TOTAL_ERR_NONFATAL").unwrap_or(0);
    let fatal = count("fatal", "TOTAL_ERR_FATAL").unwrap_or(0);
    let at = named(function);
    let path = |kind: &str| format!("sys/bus/pci/devices/{at}/aer_dev_{kind}");
    let finding = match (nonfatal + fatal, corrected) {
        (0, 0) => return Ok(Outcome::Fine),
        (0, few @ ..100) => Finding::note(&at, format!("{few} corrected PCIe errors since the start")),
        (0, many) => Finding::warn(&at, format!("{many} corrected PCIe errors since the start")),
        (lost, _) => Finding::bad(&at, format!("{lost} PCIe errors that were not corrected")),
    };
    let finding = finding.saw(&path("correctable"), corrected);
    let finding = if nonfatal > 0 { finding.saw(&path("nonfatal"), nonfatal) } else { finding };
    let finding = if fatal > 0 { finding.saw(&path("fatal"), fatal) } else { finding };
    finding.change("reseat the device or cable; journalctl -k -g AER").end()
}

pub(crate) const POWER: Check = Check {
    code: "pcie-power",
    title: "PCIe power saving",
    reads: &["/sys/module/pcie_aspm/parameters/policy"],
    applies: "disks behind PCIe; not in a virtual machine",
    costs: "The policies powersave and powersupersave put links to sleep whenever they are idle: the next request \
            waits until the link is awake. How long is unknown; the device sets it.",
    source: "https://docs.kernel.org/admin-guide/kernel-parameters.html (pcie_aspm)",
    change: "`echo default > /sys/module/pcie_aspm/parameters/policy`, and back `echo powersave > ...`.",
    look: |place| all([power(place)]),
};

fn power(place: &Place) -> Look {
    only_if(place.guest.is_none() && !links(place).is_empty())?;
    let file = "sys/module/pcie_aspm/parameters/policy";
    let text = place.fact(file)?;
    let policy = chosen(&text).unwrap_or_default();
    match policy {
        "powersave" | "powersupersave" => Finding::warn("", format!("PCIe links sleep when idle: policy {policy}"))
            .saw(file, policy)
            .set(file, "default", policy)
            .end(),
        _ => Ok(Outcome::Fine),
    }
}
