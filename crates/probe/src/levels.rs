//! Lists the levels of a path, from the application to the medium, with the performance that each advertises.
//!
//! It takes a stack of disks and returns [`Level`]s. Disks side by side form one level whose figure is the sum over the
//! links that they do not share. A shared link is a separate level if it is narrower than the sum. What not every byte passes is
//! no ceiling, and has no figure.

use std::net::IpAddr;
use std::path::PathBuf;

use halfpower_record::Level;
use halfpower_spec::{Direction, Rate};

use crate::Root;
use crate::block::{Disk, Stack};
use crate::cgroup;
use crate::device::transport;
use crate::limit_levels::limit_levels;
use crate::link;
use crate::machine::virtual_machine;
use crate::pcie;
use crate::route::network_level;
use crate::sysfs_path::{Link, name, ways};
use halfpower_os::mounts::Mount;

/// Name of the medium's level, for paths with a block device.
pub const DEVICE: &str = "device";
/// Name of the level of main memory.
pub const MEMORY: &str = "memory";

/// Name of the level of PCIe links before the last ones.
const UPLINK: &str = "PCIe uplink";

/// The end of a path.
pub(crate) enum End {
    /// Block devices.
    Disks(Stack),
    /// Memory: a file system of this kind keeps its files in memory.
    Memory(String),
    /// A server over the network.
    Server {
        /// Kind of the file system.
        kind: String,
        /// The server's address, if the mount names it.
        address: Option<IpAddr>,
        /// Whether it may be reached by several cards at once.
        by_several: bool,
    },
    /// Unknown.
    Unknown,
}

fn unknown(name: &str, source: impl Into<String>) -> Level {
    Level { name: name.to_string(), source: source.into(), ..Level::default() }
}

/// The levels from the application to `end`.
pub(crate) fn levels(root: &Root, mounts: &[Mount], end: &End) -> Vec<Level> {
    let allowed = |most: Option<String>| most.map_or(String::new(), |most| format!("; a control group allows {most}"));
    let quota = cgroup::processors(root, mounts).map(|quota| format!("{quota:.2} of them at once"));
    let limit = cgroup::memory(root, mounts).map(|limit| format!("{limit} of it"));
    let processor = unknown("processor", format!("a processor advertises no rate of copying{}", allowed(quota)));
    let allowed_memory = allowed(limit);
    let memory = |source: &str| unknown(MEMORY, format!("{source}{allowed_memory}"));
    let mut levels = match end {
        End::Memory(kind) => {
            return vec![
                processor,
                memory(&format!("{kind} keeps files in memory, whose speed is not advertised here")),
            ];
        }
        _ => vec![memory("the speed of memory is not advertised here"), processor],
    };
    match end {
        End::Disks(stack) => levels.extend(disk_levels(root, mounts, stack)),
        End::Server { kind, address, by_several } => {
            match address.and_then(|address| network_level(root, address)) {
                Some(Level { source, name, .. }) if *by_several => {
                    levels.push(unknown(&name, format!("{source}; no ceiling, since the mount may use further cards")));
                }
                Some(level) => levels.push(level),
                None => {
                    let Link { kind, source, .. } = link::network(root);
                    levels.push(unknown(kind, source));
                }
            }
            levels.push(unknown("server", format!("a server of {kind} advertises no speed")));
        }
        End::Unknown => {
            levels.push(unknown(DEVICE, "the device beneath cannot be told; --peak takes its data sheet's figure"))
        }
        End::Memory(_) => {}
    }
    levels
}

fn disk_levels(root: &Root, mounts: &[Mount], stack: &Stack) -> Vec<Level> {
    let mut levels = limit_levels(root, mounts, stack);
    levels.extend(stack.volumes.iter().map(|volume| {
        let stands_on = if volume.stands_on.is_empty() { "what cannot be told" } else { &volume.stands_on };
        let name = format!("volume {}", volume.disk.name);
        unknown(&name, format!("{} on {stands_on}; it advertises no speed of its own", volume.what))
    }));
    levels.extend(uplink(root, stack));
    levels.extend(side_by_side(root, stack));
    levels.push(device_level(root, stack));
    levels
}

/// The links that end at this disk or at its controller, each once.
fn links_of(root: &Root, disk: &Disk) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    for link in ways(root, disk).iter().flat_map(|way| link::links(root, way)) {
        if !links.iter().any(|known| known.key == link.key) {
            links.push(link);
        }
    }
    if over_network(transport(root, disk).as_deref()) {
        links.push(link::network(root));
    }
    links
}

fn over_network(transport: Option<&str>) -> bool {
    matches!(transport, Some("iscsi" | "nbd" | "rbd" | "nvme-tcp" | "nvme-rdma"))
}

/// One level for each kind of link, in the order found; without figures in a virtual machine.
fn side_by_side(root: &Root, stack: &Stack) -> Vec<Level> {
    let of_disks: Vec<Vec<Link>> = stack.disks_in_use().into_iter().map(|disk| links_of(root, disk)).collect();
    let mut kinds: Vec<&'static str> = Vec::new();
    for link in of_disks.iter().flatten() {
        if !kinds.contains(&link.kind) {
            kinds.push(link.kind);
        }
    }
    let guest = virtual_machine(root);
    let level = |kind: &'static str| {
        let of_kind = |links: &Vec<Link>| links.iter().filter(|link| link.kind == kind).cloned().collect();
        let side_by_side = SideBySide { of_disks: of_disks.iter().map(of_kind).collect() };
        side_by_side.levels(kind, guest.as_deref(), stack.copies())
    };
    kinds.into_iter().flat_map(level).collect()
}

/// The links of one kind at each disk.
struct SideBySide {
    of_disks: Vec<Vec<Link>>,
}

impl SideBySide {
    /// Each link once, also if several disks share it.
    fn links(&self) -> Vec<&Link> {
        let mut links: Vec<&Link> = Vec::new();
        for link in self.of_disks.iter().flatten() {
            if !links.iter().any(|known| known.key == link.key) {
                links.push(link);
            }
        }
        links
    }

    /// Their level, or one for each direction. `copies` is how often each byte is written to all disks together.
    fn levels(&self, kind: &str, guest: Option<&str>, copies: Option<f64>) -> Vec<Level> {
        let links = self.links();
        let sources: Vec<&str> = links.iter().map(|link| link.source.as_str()).collect();
        let source = sources.join("; and ");
        let Some(sum) = links.iter().map(|link| link.rate.map(|rate| rate.0)).sum::<Option<f64>>() else {
            return vec![unknown(kind, source)];
        };
        if let Some(guest) = guest {
            let claim = format!("{source}; not taken for a ceiling, since a {guest} may name any figure");
            return vec![unknown(kind, claim)];
        }
        let source = if links.len() > 1 { format!("{} together: {source}", links.len()) } else { source };
        let is_at_all = self.of_disks.iter().all(|links| !links.is_empty());
        let half_duplex = links.iter().all(|link| link.half_duplex);
        let known = |name: &str| match is_at_all {
            true => Level { pap: Some(Rate(sum)), half_duplex, ..unknown(name, &source) },
            // Bytes of the others do not pass here.
            false => unknown(name, format!("{source}; no ceiling, since other disks of the volume have other links")),
        };
        let is_mirror = copies == Some(self.of_disks.len() as f64);
        if copies == Some(1.0) || !is_at_all && !is_mirror {
            return vec![known(kind)];
        }
        let (rate, why) = self.of_writes(links.len(), copies);
        let writes = Level {
            pap: rate.map(Rate),
            direction: Some(Direction::Write),
            ..unknown(&format!("{kind}, writes"), why)
        };
        let reads = known(&format!("{kind}, reads"));
        vec![Level { direction: Some(Direction::Read), half_duplex: false, ..reads }, writes]
    }

    /// The rate of writes to the volume at which the first link is full, and why: each disk is written an equal part of all
    /// copies, over all of its own links.
    fn of_writes(&self, links: usize, copies: Option<f64>) -> (Option<f64>, String) {
        let Some(copies) = copies else {
            return (None, "how often a volume here writes each byte is told to root alone".to_string());
        };
        let disks = self.of_disks.len() as f64;
        let has = |own: &&Vec<Link>, link: &Link| own.iter().any(|known| known.key == link.key);
        let full_at = |link: &Link| {
            let own = self.of_disks.iter().filter(|own| has(own, link));
            let crosses: f64 = own.map(|own| copies / disks / own.len() as f64).sum();
            link.rate.map_or(f64::INFINITY, |rate| rate.0 / crosses)
        };
        let least = self.links().into_iter().map(full_at).fold(f64::INFINITY, f64::min);
        let slowest = if links > 1 { format!("; the slowest of {links} decides") } else { String::new() };
        let why = match copies == disks {
            true => format!("every write goes to each of {disks} disks{slowest}"),
            false => format!("each byte is written {copies} times{slowest}"),
        };
        (Some(least), why)
    }
}

/// The narrowest PCIe link before the last ones, if it is narrower than the links behind it together; without a figure where a
/// tunnel is before them, whose ports tell none, and where not all ways lead through it.
fn uplink(root: &Root, stack: &Stack) -> Option<Level> {
    if virtual_machine(root).is_some() {
        return None;
    }
    let rate = |function: &PathBuf| pcie::link(root, function).rate.map(|rate| rate.0);
    let mut chains: Vec<Vec<PathBuf>> = Vec::new();
    for way in stack.disks_in_use().into_iter().flat_map(|disk| ways(root, disk)) {
        let chain = pcie::functions(&way);
        // Disks of one controller also share its link, which already is a level.
        if !chains.iter().any(|known| known.last() == chain.last()) {
            chains.push(chain);
        }
    }
    let mut narrowest: Option<(f64, Link)> = None;
    let mut unknown_why: Option<String> = None;
    for behind in chains.iter().flat_map(|chain| (1..chain.len()).map(|upper| &chain[upper - 1..])) {
        let function = &behind[0];
        if pcie::is_tunnel(root, behind) {
            unknown_why.get_or_insert_with(|| pcie::of_tunnel(name(function)));
            continue;
        }
        let Some(own) = rate(function) else { continue };
        let below: Vec<&Vec<PathBuf>> = chains.iter().filter(|chain| chain.contains(function)).collect();
        let Some(wanted) = below.iter().map(|chain| chain.last().and_then(rate)).sum::<Option<f64>>() else {
            continue;
        };
        if own < wanted && below.len() < chains.len() {
            let source = pcie::link(root, function).source;
            let why = || format!("{source}; no ceiling, since not all disks of the volume are behind it");
            unknown_why.get_or_insert_with(why);
        } else if own < wanted && narrowest.as_ref().is_none_or(|(least, _)| own < *least) {
            narrowest = Some((own, pcie::link(root, function)));
        }
    }
    match narrowest {
        Some((_, link)) => Some(Level {
            pap: link.rate,
            ..unknown(UPLINK, format!("{}; shared by or narrower than the links behind it", link.source))
        }),
        None => unknown_why.map(|why| unknown(UPLINK, why)),
    }
}

fn device_level(root: &Root, stack: &Stack) -> Level {
    let disks = stack.disks_in_use();
    let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    let Some(first) = disks.first() else {
        return unknown(DEVICE, "what the volume stands on cannot be told");
    };
    let transport = transport(root, first);
    let kind = match transport.as_deref() {
        Some("nvme") => "an NVMe drive",
        Some("sata") => "a SATA disk",
        Some("pata") => "an IDE disk (parallel ATA)",
        Some("usb") => "a USB disk",
        Some("virtio") => "a virtio disk",
        Some("zram" | "ram" | "pmem") => "memory as a disk",
        Some("mmc") => "a memory card",
        _ => "such a disk",
    };
    let source = format!("{}: {kind} advertises no speed; --peak takes its data sheet's figure", names.join(", "));
    unknown(DEVICE, source)
}

/// Sets the data sheet's figure, for both directions, on the levels named as the medium, or else on those named as the
/// last.
pub fn with_peak(levels: &mut [Level], peak: Rate) {
    let medium = levels.iter().find(|level| level.name == DEVICE).or(levels.last());
    let Some(name) = medium.map(|level| level.name.clone()) else { return };
    for medium in levels.iter_mut().filter(|level| level.name == name) {
        medium.pap = Some(peak);
        medium.source = "given by --peak".to_string();
    }
}
