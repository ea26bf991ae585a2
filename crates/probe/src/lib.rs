//! Reads what the hardware advertises: machine, file system, device and each level of a path.
//!
//! It takes a path and returns a [`halfpower_record::Environment`]. A missing fact is no error: facts that the kernel
//! does not report are `None`, and a level without a figure says why.

mod ata;
mod backing;
mod beneath;
mod block;
mod cgroup;
mod device;
mod identity;
mod interrupts;
mod levels;
mod limit_levels;
mod link;
mod machine;
mod memory_nodes;
mod nvme;
mod pcie;
mod root;
mod route;
mod scsi_log;
mod share;
mod smart;
mod sysfs_path;

use std::path::Path;

use halfpower_record::{Device, Environment, FileSystem, HostLink};
use halfpower_spec::Bytes;

use halfpower_os::mounts::{Mount, mount_of};
use levels::End;

pub use ata::transfer_mode;
pub use backing::backing_device;
pub use beneath::{Descent, FilePlaces, Layer, ParityArray, descend, live_places, places_of};
pub use block::{Disk, Stack, Volume, btrfs_folder, disks_of_mount};
pub use cgroup::{Group, Limit, Limits, groups_of, limits, own_groups, process_limits};
pub use device::transport;
pub use halfpower_os::DeviceNumber;
pub use halfpower_os::extents::Layout;
pub use halfpower_os::nvme::NvmePage;
pub use identity::{ProbeError, TargetIdentity};
pub use interrupts::{Interrupts, Vector, interrupts, vectors};
pub use levels::{DEVICE, MEMORY, with_peak};
pub use machine::{probe_machine, virtual_machine};
pub use memory_nodes::{MemoryNode, MemoryNodes, memory_nodes};
pub use nvme::{NvmeController, NvmeFormat, NvmeFormats, NvmeHealth, NvmePowerState, nvme_power_state, nvme_sleep};
pub use pcie::{functions as pci_functions, is_tunnel as is_pcie_tunnel, rate as pcie_rate};
pub use root::{Missing, Root, Space, mounts};
pub use route::link_to;
pub use scsi_log::ScsiLog;
pub use share::{ServedShare, probe_share};
pub use share::{
    address as server_address, has as has_option, option as mount_option, size as option_size,
    transports as nfs_transports,
};
pub use smart::SmartCounts;
pub use sysfs_path::ways;

/// File systems that keep their files in memory.
pub const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];
/// File systems whose files are on a server.
pub const ON_SERVERS: [&str; 9] = ["nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "afs", "lustre", "glusterfs"];
/// The first release of ZFS in which direct requests bypass its cache; earlier releases accepted O_DIRECT and ignored
/// it.
const ZFS_DIRECT: (u32, u32) = (2, 3);
/// With 0 these releases too serve direct requests from the cache.
const ZFS_DIRECT_SWITCH: &str = "sys/module/zfs/parameters/zfs_dio_enabled";

/// Probes the place of `path`: its folder, file, or block device. The path need not exist yet.
///
/// # Errors
/// If neither the path nor any folder above it can be reached.
pub fn probe_path(root: &Root, path: &Path) -> Result<Environment, ProbeError> {
    Ok(probe(root, &TargetIdentity::of(path)?))
}

/// The network interface that leads to the server of the files in `path`; `None` if the files are not on a server.
pub fn link_to_path(root: &Root, path: &Path) -> Option<HostLink> {
    let target = TargetIdentity::of(path).ok()?;
    let mounts = mounts(root);
    let mount = mount_of(&mounts, &target.path, Some(target.number)).filter(|_| !target.is_device)?;
    let address = share::address(mount).filter(|_| ON_SERVERS.contains(&mount.kind.as_str()))?;
    route::link_to(root, address)
}

/// Probes the place of `target`.
pub fn probe(root: &Root, target: &TargetIdentity) -> Environment {
    let mounts = mounts(root);
    let mount = mount_of(&mounts, &target.path, Some(target.number)).filter(|_| !target.is_device);
    let tops = match mount {
        Some(mount) => disks_of_mount(root, mount),
        None => Disk::by_number(root, target.number).into_iter().collect(),
    };
    let end = end(root, &mounts, mount, &tops);
    let mut notes: Vec<String> = unknown_end(&end, mount, target).into_iter().collect();
    notes.extend(mount.and_then(|mount| share::note(root, mount)));
    if tops.len() > 1 {
        let names: Vec<&str> = tops.iter().map(|disk| disk.name.as_str()).collect();
        notes.push(format!("the file system spans {}; only the first is described", names.join(", ")));
    }
    let firmware = match &end {
        End::Disks(stack) => device::firmware(root, &stack.disks),
        _ => None,
    };
    let filesystem =
        mount.map(|mount| FileSystem { kind: mount.kind.clone(), options: mount.options.clone(), block: target.block });
    let device = tops.split_first().map(|(disk, others)| {
        let others = others.iter().map(|other| other.name.clone()).collect();
        let device = Device { firmware, others, ..device::device(root, disk) };
        match (&filesystem, mount) {
            (Some(filesystem), Some(mount)) if filesystem.has_own_backing_device() => {
                read_ahead_by(root, mount, device)
            }
            _ => device,
        }
    });
    Environment {
        machine: probe_machine(root),
        filesystem,
        device,
        levels: levels::levels(root, &mounts, &end),
        notes,
        place: identity::place(root, target, &tops, mount.map(|mount| mount.source.as_str())),
        ..Environment::default()
    }
}

/// The device with the read-ahead of the file system's own backing device, as far as that is told.
fn read_ahead_by(root: &Root, mount: &Mount, device: Device) -> Device {
    let folder = backing_device(root, mount);
    let kib = folder.as_ref().and_then(|folder| root.number::<u64>(format!("{folder}/read_ahead_kb")));
    let read_ahead = kib.and_then(|kib| kib.checked_mul(1024)).map(Bytes);
    let name = folder.as_ref().and_then(|folder| folder.rsplit('/').next());
    Device { read_ahead, backing_device: name.filter(|_| read_ahead.is_some()).map(str::to_string), ..device }
}

fn end(root: &Root, mounts: &[Mount], mount: Option<&Mount>, tops: &[Disk]) -> End {
    match mount.map(|mount| mount.kind.as_str()) {
        Some(kind) if IN_MEMORY.contains(&kind) => End::Memory(kind.to_string()),
        Some(kind) if ON_SERVERS.contains(&kind) => {
            let by_several = mount.is_some_and(share::may_use_several_cards);
            End::Server { kind: kind.to_string(), address: mount.and_then(share::address), by_several }
        }
        _ if tops.is_empty() => End::Unknown,
        _ => End::Disks(Stack::below(root, mounts, tops)),
    }
}

/// Why the path ends before a device although it should reach one.
fn unknown_end(end: &End, mount: Option<&Mount>, target: &TargetIdentity) -> Option<String> {
    if !matches!(end, End::Unknown) {
        return None;
    }
    let path = target.path.display();
    Some(match mount.map(|mount| mount.kind.as_str()) {
        Some("overlay") => format!(
            "{path} is on an overlay, as in a container, and the device beneath cannot be told; \
             a folder on a volume of its own says more"
        ),
        Some(kind) => format!("{path} is on {kind}, and the device beneath cannot be told"),
        None => format!("no block device {} is known for {path}", target.number),
    })
}

/// Why direct I/O is not direct on a file system of this kind, in a sentence without its full stop; `None` if it is.
pub fn not_direct(root: &Root, kind: &str) -> Option<String> {
    if kind != "zfs" {
        return None;
    }
    let version = root.text("sys/module/zfs/version");
    let is_new = version.as_deref().and_then(release).is_some_and(|release| release >= ZFS_DIRECT);
    let is_off = root.text(ZFS_DIRECT_SWITCH).is_some_and(|text| text.trim() == "0");
    let because = match (is_new, is_off) {
        (true, false) => return None,
        (true, true) => "zfs_dio_enabled is 0",
        (false, _) => "from 2.3 on it does not",
    };
    let which = version.map_or("of unknown release".to_string(), |version| version.trim().to_string());
    Some(format!("ZFS {which} serves direct requests from its cache ({because}): they are not called direct"))
}

/// The first two numbers of a release such as `2.2.4-1`.
fn release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
