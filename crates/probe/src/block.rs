//! Finds the disks that carry the bytes of a device, through partitions and loop, md and dm devices.
//!
//! Device numbers and mounts enter, a [`Stack`] of volumes and disks leaves.

use std::path::{Path, PathBuf};

use crate::Root;
use halfpower_os::DeviceNumber;
use halfpower_os::mounts::{Mount, mount_of};

/// Stacks deeper than this are not followed; the kernel itself allows no more than a few layers.
const DEEPEST: usize = 12;

/// A whole block device, never a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Disk {
    /// Kernel name.
    pub name: String,
    /// Its folder below /sys/devices, relative to the root.
    pub sys: PathBuf,
}

impl Disk {
    /// The disk with this number, or that the partition with this number is a part of.
    pub fn by_number(root: &Root, number: DeviceNumber) -> Option<Self> {
        Self::at(root, root.resolve(format!("sys/dev/block/{number}"))?)
    }

    /// The disk with this kernel name, or that the partition with this name is a part of.
    pub fn by_name(root: &Root, name: &str) -> Option<Self> {
        // A slash in a device's name, as in cciss/c0d0, is an exclamation mark in sysfs.
        Self::at(root, root.resolve(format!("sys/class/block/{}", name.replace('/', "!")))?)
    }

    fn at(root: &Root, sys: PathBuf) -> Option<Self> {
        let whole = if root.exists(sys.join("partition")) { sys.parent()?.to_path_buf() } else { sys };
        Some(Self { name: whole.file_name()?.to_str()?.to_string(), sys: whole })
    }

    /// Its number, as limits name it.
    pub fn number(&self, root: &Root) -> Option<DeviceNumber> {
        DeviceNumber::parse(&root.text(self.sys.join("dev"))?)
    }
}

/// A block device that stands on others, or on a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Volume {
    /// The device.
    pub disk: Disk,
    /// What it is, such as `md raid0`.
    pub what: String,
    /// What it stands on, in words.
    pub stands_on: String,
    /// Names of the disks straight beneath.
    pub beneath: Vec<String>,
}

/// The block devices between a target and its media.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Stack {
    /// Volumes, from the target down.
    pub volumes: Vec<Volume>,
    /// What stands on nothing else, in the order found.
    pub disks: Vec<Disk>,
}

impl Stack {
    /// Follows `tops` down to their disks.
    pub fn below(root: &Root, mounts: &[Mount], tops: &[Disk]) -> Self {
        let mut stack = Self::default();
        for top in tops {
            stack.descend(root, mounts, top, 0);
        }
        stack
    }

    fn descend(&mut self, root: &Root, mounts: &[Mount], disk: &Disk, depth: usize) {
        let seen = self.disks.contains(disk) || self.volumes.iter().any(|volume| volume.disk == *disk);
        if seen || depth > DEEPEST {
            return;
        }
        let file = root.text(disk.sys.join("loop/backing_file"));
        let beneath = match &file {
            Some(file) => disks_of_file(root, mounts, Path::new(file)),
            None => slaves(root, disk),
        };
        if file.is_none() && beneath.is_empty() {
            self.disks.push(disk.clone());
            return;
        }
        let names: Vec<String> = beneath.iter().map(|disk| disk.name.clone()).collect();
        let stands_on = file.map_or_else(|| names.join(" and "), |file| format!("the file {file}"));
        let what = volume_kind(root, disk);
        self.volumes.push(Volume { disk: disk.clone(), what, stands_on, beneath: names });
        for lower in &beneath {
            self.descend(root, mounts, lower, depth + 1);
        }
    }

    /// Whether every disk gets every write: an md mirror straight over all of them.
    pub fn mirrored(&self) -> bool {
        let names: Vec<&str> = self.disks.iter().map(|disk| disk.name.as_str()).collect();
        let over_all = |volume: &Volume| volume.beneath.iter().map(String::as_str).eq(names.iter().copied());
        self.volumes.iter().any(|volume| volume.what == "md raid1" && over_all(volume))
    }
}

fn slaves(root: &Root, disk: &Disk) -> Vec<Disk> {
    let folder = disk.sys.join("slaves");
    let resolve = |name: String| Disk::at(root, root.resolve(folder.join(name))?);
    root.names(&folder).into_iter().filter_map(resolve).collect()
}

fn volume_kind(root: &Root, disk: &Disk) -> String {
    if let Some(level) = root.text(disk.sys.join("md/level")) {
        return format!("md {level}");
    }
    if let Some(uuid) = root.text(disk.sys.join("dm/uuid")) {
        let name = root.text(disk.sys.join("dm/name")).unwrap_or_default();
        let kind = match uuid.split('-').next() {
            Some("LVM") => "logical volume",
            Some("CRYPT") => "encrypted volume",
            Some("mpath") => "multipath volume",
            _ => "mapped volume",
        };
        return format!("{kind} {name}").trim_end().to_string();
    }
    if disk.name.starts_with("loop") { "loop device".to_string() } else { "volume".to_string() }
}

fn disks_of_file(root: &Root, mounts: &[Mount], file: &Path) -> Vec<Disk> {
    mount_of(mounts, file, None).map_or_else(Vec::new, |mount| disks_of_mount(root, mount))
}

/// The disks straight under a file system; none where it has none, or they cannot be told.
pub(crate) fn disks_of_mount(root: &Root, mount: &Mount) -> Vec<Disk> {
    if mount.number.major != 0 {
        return Disk::by_number(root, mount.number).into_iter().collect();
    }
    // btrfs and bcachefs span devices, so the kernel gives them a number that stands for none of them.
    let mut disks: Vec<Disk> = Vec::new();
    for source in mount.source.split(':').filter_map(|source| source.strip_prefix("/dev/")) {
        let Some(name) = kernel_name(root, source) else {
            continue;
        };
        for disk in btrfs_members(root, &name).iter().filter_map(|member| Disk::by_name(root, member)) {
            if !disks.contains(&disk) {
                disks.push(disk);
            }
        }
    }
    disks
}

/// The kernel's name of a device given as below /dev: `mapper/home` is a dm-N.
fn kernel_name(root: &Root, source: &str) -> Option<String> {
    let Some(mapped) = source.strip_prefix("mapper/") else {
        return Some(source.to_string());
    };
    let named = |name: &String| root.text(format!("sys/class/block/{name}/dm/name")).as_deref() == Some(mapped);
    root.names("sys/class/block").into_iter().find(named)
}

/// Every device of the btrfs that `name` belongs to; `name` alone where it belongs to none.
fn btrfs_members(root: &Root, name: &str) -> Vec<String> {
    let groups = root.names("sys/fs/btrfs").into_iter();
    let mut members = groups.map(|group| root.names(format!("sys/fs/btrfs/{group}/devices")));
    members.find(|members| members.iter().any(|member| member == name)).unwrap_or_else(|| vec![name.to_string()])
}
