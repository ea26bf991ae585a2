//! Finds the device of a target, and collects the identifiers by which its place is recognised later.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use halfpower_os::DeviceNumber;
use halfpower_record::{MemberIdentity, PlaceIdentity};
use halfpower_spec::Bytes;

use crate::Root;
use crate::block::Disk;

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
    // Images that run on many machines have an empty file, or this word in it (machine-id(5)).
    let is_one = |number: &String| !number.is_empty() && number != "uninitialized";
    let mut numbers = ["etc/machine-id", "sys/class/dmi/id/product_uuid"].iter().filter_map(|file| root.text(file));
    numbers.find(is_one).map(|number| format!("{:016x}", fnv1a(&format!("halfpower {number}"))))
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

/// A target cannot be examined.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Neither the path nor any folder above it can be reached.
    #[error("{} cannot be opened: {error}; name a path that exists and can be read", path.display())]
    Unreachable {
        /// The path that was given.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
}

/// A path and the device behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetIdentity {
    /// The path, absolute and without symbolic links.
    pub path: PathBuf,
    /// The device that holds the path, or is the path.
    pub number: DeviceNumber,
    /// Whether the path is a block device and not something on one.
    pub is_device: bool,
    /// Block size of the file system that holds it; 0 for a device or if unknown.
    pub block: Bytes,
    /// The UUID of the file system that holds it, or a substitute; `None` for a device.
    pub filesystem: Option<String>,
}

impl TargetIdentity {
    /// Examines `path`, or if it does not exist, the nearest folder above it.
    ///
    /// # Errors
    /// [`ProbeError::Unreachable`] if neither the path nor any folder above it can be reached.
    pub fn of(path: &Path) -> Result<Self, ProbeError> {
        let unreachable = |error| ProbeError::Unreachable { path: path.to_path_buf(), error };
        let absolute = std::path::absolute(path).map_err(unreachable)?;
        let nearest = absolute.ancestors().find(|above| fs::symlink_metadata(above).is_ok());
        let real = fs::canonicalize(nearest.unwrap_or(&absolute)).map_err(unreachable)?;
        // The generic device of an NVMe namespace stands for the block device beside it.
        let real = halfpower_os::generic_device::disk_beside(&real).ok().flatten().unwrap_or(real);
        let metadata = fs::metadata(&real).map_err(unreachable)?;
        let is_device = metadata.file_type().is_block_device();
        let number = if is_device { metadata.rdev() } else { metadata.dev() };
        let statistics = rustix::fs::statvfs(&real).ok().filter(|_| !is_device);
        Ok(Self {
            filesystem: (!is_device).then(|| halfpower_os::filesystem::identity(&real)).flatten(),
            path: real,
            number: DeviceNumber::of(number),
            is_device,
            block: Bytes(statistics.map_or(0, |statistics| statistics.f_frsize)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_number_of_its_system_is_known_by_that_of_its_firmware() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let write = |file: &str, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(machine(&root), None);
        write("sys/class/dmi/id/product_uuid", "4c4c4544-0042-3510-8057-b4c04f4e3533\n");
        let by_firmware = machine(&root);
        assert!(by_firmware.is_some());
        for of_an_image in ["", "\n", "uninitialized\n"] {
            write("etc/machine-id", of_an_image);
            assert_eq!(machine(&root), by_firmware, "{of_an_image:?}");
        }
        write("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
        assert!(machine(&root).is_some() && machine(&root) != by_firmware);
    }
}
