//! Reads the facts of a block device from sysfs: model, transport, sizes and queue settings.

use std::collections::BTreeSet;

use halfpower_record::Device;
use halfpower_spec::Bytes;

use crate::Root;
use crate::ata;
use crate::block::Disk;
use crate::memory_nodes::memory_nodes;
use crate::sysfs_path::numbered;

/// sysfs counts a device's size in 512-byte sectors, whatever its own sector is
/// (Documentation/ABI/stable/sysfs-block).
const SECTOR_BYTES: u64 = 512;

/// Reads a device's facts, except the firmware beneath it and the devices beside it; a fact that the kernel does not report is `None`, or 0 for a size.
pub(crate) fn device(root: &Root, disk: &Disk) -> Device {
    let queue = |file: &str| disk.sys.join("queue").join(file);
    let transport = transport(root, disk);
    let (queue_requests, queues) = queues(root, disk).unzip();
    let guessed = matches!(transport.as_deref(), Some("virtio" | "xen" | "hyperv"));
    Device {
        name: disk.name.clone(),
        others: Vec::new(),
        model: model(root, disk),
        firmware: None,
        // A paravirtual disk claims to be rotational because its driver knows no better.
        rotational: root.number::<u8>(queue("rotational")).filter(|_| !guessed).map(|turns| turns == 1),
        transport,
        size: Bytes(root.number::<u64>(disk.sys.join("size")).unwrap_or(0).saturating_mul(SECTOR_BYTES)),
        logical_block: Bytes(root.number(queue("logical_block_size")).unwrap_or(0)),
        physical_block: Bytes(root.number(queue("physical_block_size")).unwrap_or(0)),
        write_cache: root.text(queue("write_cache")).filter(|text| !text.is_empty()),
        scheduler: root.text(queue("scheduler")).and_then(|text| chosen(&text)),
        read_ahead: root.number::<u64>(queue("read_ahead_kb")).and_then(|kib| kib.checked_mul(1024)).map(Bytes),
        backing_device: None,
        queue_requests,
        queues,
        memory_node: memory_nodes(root, &disk.name).ok().map(|nodes| nodes.own),
    }
}

/// Requests that one queue of the device holds at once, and the number of these queues; `None` for a device without
/// queues of its own. A SCSI disk's depth holds for all of its queues together
/// (Documentation/ABI/stable/sysfs-block; `device/queue_depth`).
fn queues(root: &Root, disk: &Disk) -> Option<(u32, u32)> {
    let queues = root.names(disk.sys.join("mq")).len() as u32;
    let requests = root.number::<u32>(disk.sys.join("queue/nr_requests")).filter(|_| queues > 0)?;
    let of_disk = root.number::<u32>(disk.sys.join("device/queue_depth"));
    Some(of_disk.map_or((requests, queues), |depth| (depth.min(requests), 1)))
}

/// The word in brackets of `none [mq-deadline] kyber`, or a lone word.
fn chosen(schedulers: &str) -> Option<String> {
    let bracketed = schedulers.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    match bracketed {
        Some((word, _)) => Some(word.to_string()),
        None if schedulers.split_whitespace().count() == 1 => Some(schedulers.to_string()),
        None => None,
    }
}

fn model(root: &Root, disk: &Disk) -> Option<String> {
    let read = |file| root.text(disk.sys.join("device").join(file)).filter(|text| !text.is_empty());
    if let Some(model) = read("model").or_else(|| root.text(disk.sys.parent()?.join("model"))) {
        // libata reports `ATA` where SCSI reports the vendor.
        let maker = read("vendor").filter(|maker| maker != "ATA" && !maker.starts_with("0x"));
        return Some(maker.map_or(model.clone(), |maker| format!("{maker} {model}")));
    }
    (disk.name.starts_with("mmcblk")).then(|| read("name"))?
}

/// The firmware of these disks, each revision once, joined by commas: `firmware_rev` of an NVMe controller, or of its
/// subsystem where several paths lead to it; `rev` of a SCSI or SATA disk; `fwrev` of a memory card. `None` unless one tells.
pub(crate) fn firmware(root: &Root, disks: &[Disk]) -> Option<String> {
    let of = |disk: &Disk| {
        let above = disk.sys.parent().unwrap_or(&disk.sys);
        let places = [disk.sys.join("device"), above.to_path_buf()];
        let names = places.iter().flat_map(|place| ["firmware_rev", "rev", "fwrev"].map(|name| place.join(name)));
        names.filter_map(|path| root.text(path)).find(|text| !text.is_empty())
    };
    let known: BTreeSet<String> = disks.iter().filter_map(of).collect();
    (!known.is_empty()).then(|| known.into_iter().collect::<Vec<_>>().join(", "))
}

/// How the device is attached, from its name and the folders on its sysfs path.
pub fn transport(root: &Root, disk: &Disk) -> Option<String> {
    let named = [
        ("loop", "loop"),
        ("dm-", "dm"),
        ("md", "md"),
        ("zram", "zram"),
        ("ram", "ram"),
        ("pmem", "pmem"),
        ("nbd", "nbd"),
        ("rbd", "rbd"),
        ("drbd", "drbd"),
        ("nullb", "null"),
        ("mmcblk", "mmc"),
    ];
    if let Some((_, word)) = named.iter().find(|(prefix, _)| numbered(&disk.name, prefix)) {
        return Some((*word).to_string());
    }
    if disk.name.starts_with("nvme") {
        return Some(nvme_transport(root, disk));
    }
    let folders: Vec<&str> = disk.sys.iter().filter_map(|folder| folder.to_str()).collect();
    let through = [
        ("virtio", "virtio"),
        ("vbd-", "xen"),
        ("VMBUS:", "hyperv"),
        ("usb", "usb"),
        ("ata", "sata"),
        ("session", "iscsi"),
        ("rport-", "fc"),
        ("end_device-", "sas"),
        ("host", "scsi"),
    ];
    let met = |prefix: &str| folders.iter().any(|folder| numbered(folder, prefix));
    let word = through.iter().find(|(prefix, _)| met(prefix)).map(|(_, word)| (*word).to_string());
    word.map(|word| if word == "sata" && ata::is_parallel(root, &disk.sys) { "pata".to_string() } else { word })
}

/// `nvme` on PCIe, `nvme-tcp`, `nvme-rdma` or `nvme-fc` over a network.
fn nvme_transport(root: &Root, disk: &Disk) -> String {
    let ways = crate::sysfs_path::ways(root, disk);
    let fabric = ways.iter().find_map(|way| root.text(way.parent()?.join("transport")));
    match fabric.as_deref() {
        Some(fabric @ ("tcp" | "rdma" | "fc" | "loop")) => format!("nvme-{fabric}"),
        _ => "nvme".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_in_brackets_is_the_one_in_use() {
        assert_eq!(chosen("none [mq-deadline] kyber"), Some("mq-deadline".into()));
        assert_eq!(chosen("none"), Some("none".into()));
        assert_eq!(chosen("none [broken"), None);
        assert_eq!(chosen(""), None);
    }
}
