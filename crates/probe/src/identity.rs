//! Collects the identifiers by which a place is recognised later: of the machine, the devices and the file system.

use halfpower_record::{MemberIdentity, PlaceIdentity};

use crate::block::Disk;
use crate::{Root, TargetIdentity};

/// The identity of the place of `target`; `tops` are the devices under it, and `source` is the mount source of a
/// server.
pub(crate) fn place(root: &Root, target: &TargetIdentity, tops: &[Disk], source: Option<&str>) -> PlaceIdentity {
    let devices: Vec<String> = tops.iter().filter_map(|disk| device(root, disk)).collect();
    let device = if devices.is_empty() { source.map(str::to_string) } else { Some(devices.join(" + ")) };
    let member =
        MemberIdentity { path: target.path.display().to_string(), device, filesystem: target.filesystem.clone() };
    PlaceIdentity { members: vec![member], ..machine_place(root) }
}

/// The identity of this machine, whatever the target.
pub(crate) fn machine_place(root: &Root) -> PlaceIdentity {
    let kernel = root.text("proc/sys/kernel/osrelease");
    PlaceIdentity { machine: machine(root), kernel, members: Vec::new() }
}

/// A checksum of the ID that the system or the firmware gave this machine; the ID itself stays private.
fn machine(root: &Root) -> Option<String> {
    let number = ["etc/machine-id", "sys/class/dmi/id/product_uuid"].iter().find_map(|file| root.text(file));
    number.filter(|number| !number.is_empty()).map(|number| format!("{:016x}", fnv1a(&format!("halfpower {number}"))))
}

/// FNV-1a, 64 bits: half of the ID's 128 bits cannot be recovered.
fn fnv1a(text: &str) -> u64 {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Its serial number or world-wide name, the file or volume behind it, or else its size.
fn device(root: &Root, disk: &Disk) -> Option<String> {
    const FILES: [&str; 7] =
        ["wwid", "device/wwid", "serial", "device/serial", "dm/uuid", "md/uuid", "loop/backing_file"];
    let read = |file: &&str| root.text(disk.sys.join(file)).filter(|text| !text.is_empty());
    let size = || Some(format!("a disk of {} sectors", root.text(disk.sys.join("size"))?));
    FILES.iter().find_map(read).or_else(size)
}
