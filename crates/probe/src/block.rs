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
    /// How often each byte is written to what is beneath; `None` where that is not told.
    pub copies: Option<u32>,
}

/// The block devices between a target and its media.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Stack {
    /// Volumes, from the target down.
    pub volumes: Vec<Volume>,
    /// What stands on nothing else, in the order found.
    pub disks: Vec<Disk>,
    /// Names of what the target stands on straight.
    tops: Vec<String>,
}

impl Stack {
    /// Follows `tops` down to their disks.
    pub fn below(root: &Root, mounts: &[Mount], tops: &[Disk]) -> Self {
        let mut stack = Self { tops: tops.iter().map(|top| top.name.clone()).collect(), ..Self::default() };
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
        let (what, copies) = (volume_kind(root, disk), copies(root, disk, &beneath));
        self.volumes.push(Volume { disk: disk.clone(), what, stands_on, beneath: names, copies });
        for lower in &beneath {
            self.descend(root, mounts, lower, depth + 1);
        }
    }

    /// How many bytes the disks together are written for each byte that is written to the target: 1 but for mirrors.
    /// Parts side by side are taken to get equal shares, and parity is not counted. `None` where that is not told.
    pub fn copies(&self) -> Option<f64> {
        let each = 1.0 / self.tops.len().max(1) as f64;
        self.tops.iter().map(|top| self.written(top, each, 0)).sum()
    }

    /// The same of what is below `name`, where `share` comes to it.
    fn written(&self, name: &str, share: f64, depth: usize) -> Option<f64> {
        let volume = self.volumes.iter().find(|volume| volume.disk.name == name && depth <= DEEPEST);
        let Some(volume) = volume.filter(|volume| !volume.beneath.is_empty()) else { return Some(share) };
        let each = share * f64::from(volume.copies?) / volume.beneath.len() as f64;
        volume.beneath.iter().map(|lower| self.written(lower, each, depth + 1)).sum()
    }
}

/// How often a volume writes each byte to what is beneath it. md says so in sysfs; the device mapper says it to root
/// alone, and to others only the names that LVM gives its parts tell something.
fn copies(root: &Root, disk: &Disk, beneath: &[Disk]) -> Option<u32> {
    let all = u32::try_from(beneath.len()).ok();
    match root.text(disk.sys.join("md/level")).as_deref() {
        Some("raid1") => return all,
        // Copies near each other in the lowest byte, copies far from each other in the next (drivers/md/raid10.c).
        Some("raid10") => {
            let layout = root.number::<u32>(disk.sys.join("md/layout"))?;
            return Some((layout & 0xff) * (layout >> 8 & 0xff)).filter(|copies| *copies > 0);
        }
        Some(_) => return Some(1),
        None => {}
    }
    if !root.exists(disk.sys.join("dm")) {
        return Some(1);
    }
    if let Some(parts) = disk.number(root).and_then(|number| root.mapping(number)) {
        let mut copies = parts.iter().map(|part| copies_of_part(part));
        let first = copies.next().unwrap_or(Some(1));
        return first.filter(|_| copies.all(|other| other == first));
    }
    let has = |part: &str| beneath.iter().any(|lower| mapped_name(root, lower).is_some_and(|name| name.contains(part)));
    match (has("_mimage_"), has("_rimage_")) {
        (true, _) => all,
        // A mirror, a stripe or one with parity.
        (false, true) => None,
        (false, false) => Some(1),
    }
}

/// Of one part of a mapped device (admin-guide/device-mapper/dm-raid.rst; drivers/md/dm-raid1.c); `None` of one that does not
/// say.
fn copies_of_part(part: &str) -> Option<u32> {
    let words: Vec<&str> = part.split_whitespace().collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok());
    // Behind the kind: a word, so many parameters, and how many devices there are.
    let parameters = || words.get(3..3 + number(2)? as usize);
    let devices = || number(3 + number(2)? as usize);
    match (words.first().copied(), words.get(1).copied()) {
        (Some("mirror"), _) | (Some("raid"), Some("raid1")) => devices(),
        (Some("raid"), Some(kind)) if kind.starts_with("raid10") => {
            let mut pairs = parameters()?.windows(2);
            let told = pairs.find(|pair| pair[0] == "raid10_copies").map(|pair| pair[1].parse().ok());
            told.unwrap_or(Some(2))
        }
        _ => Some(1),
    }
}

fn mapped_name(root: &Root, disk: &Disk) -> Option<String> {
    root.text(disk.sys.join("dm/name"))
}

/// Whether it holds what LVM notes of a mirror's parts, and no data.
fn is_notes(root: &Root, disk: &Disk) -> bool {
    mapped_name(root, disk).is_some_and(|name| name.contains("_rmeta_") || name.ends_with("_mlog"))
}

fn slaves(root: &Root, disk: &Disk) -> Vec<Disk> {
    let folder = disk.sys.join("slaves");
    let resolve = |name: String| Disk::at(root, root.resolve(folder.join(name))?);
    root.names(&folder).into_iter().filter_map(resolve).filter(|disk| !is_notes(root, disk)).collect()
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
