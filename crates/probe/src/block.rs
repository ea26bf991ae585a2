//! Finds the disks under a device, through partitions and loop, md and dm devices.
//!
//! It takes device numbers and mounts and returns a [`Stack`] of volumes and disks.

use std::path::{Path, PathBuf};

use crate::Root;
use halfpower_os::DeviceNumber;
use halfpower_os::mounts::{Mount, mount_of};

/// Deeper stacks are not followed; the kernel itself allows only a few layers.
pub(crate) const DEEPEST: usize = 12;
/// Copies that differ from a whole number by less are that number: equal shares of many disks do not add up exactly.
const ROUNDING: f64 = 1e-9;

/// A whole block device, never a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Kernel name.
    pub name: String,
    /// Its folder below /sys/devices, relative to the root.
    pub sys: PathBuf,
}

impl Disk {
    /// The disk with this number, or the disk of the partition with this number.
    pub fn by_number(root: &Root, number: DeviceNumber) -> Option<Self> {
        Self::at(root, root.block_device(number)?)
    }

    /// The disk with this kernel name, or the disk of the partition with this name.
    pub fn by_name(root: &Root, name: &str) -> Option<Self> {
        // sysfs replaces a slash in a device's name, as in cciss/c0d0, by an exclamation mark.
        Self::at(root, root.resolve(format!("sys/class/block/{}", name.replace('/', "!")))?)
    }

    fn at(root: &Root, sys: PathBuf) -> Option<Self> {
        let whole = if root.exists(sys.join("partition")) { sys.parent()?.to_path_buf() } else { sys };
        Some(Self { name: whole.file_name()?.to_str()?.to_string(), sys: whole })
    }

    /// The disk's device number, by which limits refer to it.
    pub fn number(&self, root: &Root) -> Option<DeviceNumber> {
        DeviceNumber::parse(&root.text(self.sys.join("dev"))?)
    }
}

/// A block device on top of others, or of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// The device.
    pub disk: Disk,
    /// Its kind, such as `md raid0`.
    pub what: String,
    /// Description of what is directly beneath it.
    pub stands_on: String,
    /// Names of the disks directly beneath that hold its bytes: not those that are spare in an array, have failed there, or hold
    /// metadata alone.
    pub beneath: Vec<String>,
    /// How often each byte is written to the devices beneath; `None` if unknown.
    pub copies: Option<u32>,
}

/// The block devices between a target and its media.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stack {
    /// Volumes, from the target down.
    pub volumes: Vec<Volume>,
    /// Devices with nothing beneath them, in the order found, also those that hold no bytes of the target.
    pub disks: Vec<Disk>,
    /// Names of the devices directly under the target.
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
        let lower: Vec<(Disk, bool)> = match &file {
            Some(file) => disks_of_file(root, mounts, Path::new(file)).into_iter().map(|disk| (disk, true)).collect(),
            None => slaves(root, disk),
        };
        if file.is_none() && lower.is_empty() {
            self.disks.push(disk.clone());
            return;
        }
        let beneath: Vec<Disk> = lower.iter().filter(|(_, holds)| *holds).map(|(disk, _)| disk.clone()).collect();
        let names: Vec<String> = beneath.iter().map(|disk| disk.name.clone()).collect();
        let stands_on = file.map_or_else(|| names.join(" and "), |file| format!("the file {file}"));
        let what = volume_kind(root, &disk.sys);
        let copies = copies(root, disk, &beneath);
        self.volumes.push(Volume { disk: disk.clone(), what, stands_on, beneath: names, copies });
        for (disk, _) in &lower {
            self.descend(root, mounts, disk, depth + 1);
        }
    }

    /// The disks that hold bytes of the target, in the order found: without those that are only spare in an array, have failed
    /// there, or hold metadata of volumes alone.
    pub(crate) fn disks_in_use(&self) -> Vec<&Disk> {
        let mut found = Vec::new();
        self.tops.iter().for_each(|top| self.add_in_use(top, 0, &mut found));
        found
    }

    fn add_in_use<'a>(&'a self, name: &str, depth: usize, found: &mut Vec<&'a Disk>) {
        let volume = self.volumes.iter().find(|volume| volume.disk.name == name && depth <= DEEPEST);
        match volume {
            Some(volume) => volume.beneath.iter().for_each(|lower| self.add_in_use(lower, depth + 1, found)),
            None => {
                let disk = self.disks.iter().find(|disk| disk.name == name).filter(|disk| !found.contains(disk));
                found.extend(disk);
            }
        }
    }

    /// Names of the devices directly under the target.
    pub(crate) fn tops(&self) -> &[String] {
        &self.tops
    }

    /// Bytes that all disks together are written for each byte written to the target; 1 unless there are mirrors. Parts
    /// side by side are assumed to get equal shares, and parity is not counted. `None` if unknown.
    pub fn copies(&self) -> Option<f64> {
        let each = 1.0 / self.tops.len().max(1) as f64;
        let copies = self.tops.iter().map(|top| self.written(top, each, 0)).sum::<Option<f64>>()?;
        // Six sixths are not 1 in floating point.
        let whole = copies.round();
        Some(if (copies - whole).abs() < ROUNDING { whole } else { copies })
    }

    /// As `copies`, for the devices below `name`, which gets the given share of the bytes.
    fn written(&self, name: &str, share: f64, depth: usize) -> Option<f64> {
        let volume = self.volumes.iter().find(|volume| volume.disk.name == name && depth <= DEEPEST);
        let Some(volume) = volume.filter(|volume| !volume.beneath.is_empty()) else { return Some(share) };
        let each = share * f64::from(volume.copies?) / volume.beneath.len() as f64;
        volume.beneath.iter().map(|lower| self.written(lower, each, depth + 1)).sum()
    }
}

/// How often a volume writes each byte to the devices beneath it. md reports this in sysfs. The device mapper reports
/// it only to root; for other users only the names that LVM gives to parts help.
fn copies(root: &Root, disk: &Disk, beneath: &[Disk]) -> Option<u32> {
    let all = u32::try_from(beneath.len()).ok();
    match root.text(disk.sys.join("md/level")).as_deref() {
        Some("raid1") => return all,
        // The lowest byte holds the number of near copies, the next byte the number of far copies
        // (drivers/md/raid10.c).
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
        // A mirror, a stripe, or a stripe with parity.
        (false, true) => None,
        (false, false) => Some(1),
    }
}

/// Copies in one part of a mapped device (admin-guide/device-mapper/dm-raid.rst; drivers/md/dm-raid1.c); `None` if the
/// part does not say.
fn copies_of_part(part: &str) -> Option<u32> {
    let words: Vec<&str> = part.split_whitespace().collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok());
    // After the kind come a word, the number of parameters, the parameters, and the number of devices.
    let parameters = || words.get(3..3 + number(2)? as usize);
    let devices = || number(3 + number(2)? as usize);
    match (words.first().copied(), words.get(1).copied()) {
        (Some("mirror"), _) | (Some("raid"), Some("raid1")) => devices(),
        (Some("raid"), Some(kind)) if kind.starts_with("raid10") => {
            let mut pairs = parameters()?.windows(2);
            let reported = pairs.find(|pair| pair[0] == "raid10_copies").map(|pair| pair[1].parse().ok());
            reported.unwrap_or(Some(2))
        }
        _ => Some(1),
    }
}

fn mapped_name(root: &Root, disk: &Disk) -> Option<String> {
    root.text(disk.sys.join("dm/name"))
}

/// Whether it holds only LVM's metadata or log of a mirror, and no data.
fn is_notes(root: &Root, disk: &Disk) -> bool {
    mapped_name(root, disk).is_some_and(|name| name.contains("_rmeta_") || name.ends_with("_mlog"))
}

/// Whether it holds only the metadata of a pool or of a cache of LVM, which reserves these names.
fn is_metadata(root: &Root, disk: &Disk) -> bool {
    mapped_name(root, disk).is_some_and(|name| name.ends_with("_tmeta") || name.ends_with("_cmeta"))
}

/// The devices directly beneath a volume, each with whether it holds bytes of it. In an array, those that are spare or have
/// failed hold none, since they have no place there (Documentation/admin-guide/md.rst, "slot"), and its journal holds writes
/// only until they are in their place; in LVM, those with metadata hold none.
fn slaves(root: &Root, disk: &Disk) -> Vec<(Disk, bool)> {
    let folder = disk.sys.join("slaves");
    let lower = |name: String| {
        let lower = Disk::at(root, root.resolve(folder.join(&name))?).filter(|lower| !is_notes(root, lower))?;
        let slot = root.text(disk.sys.join(format!("md/dev-{name}/slot")));
        let holds = !matches!(slot.as_deref(), Some("none" | "journal")) && !is_metadata(root, &lower);
        Some((lower, holds))
    };
    root.names(&folder).into_iter().filter_map(lower).collect()
}

/// What the volume in this sysfs folder is, such as `md raid0` or `encrypted volume home`.
pub(crate) fn volume_kind(root: &Root, sys: &Path) -> String {
    if let Some(level) = root.text(sys.join("md/level")) {
        return format!("md {level}");
    }
    if let Some(uuid) = root.text(sys.join("dm/uuid")) {
        let name = root.text(sys.join("dm/name")).unwrap_or_default();
        let kind = match uuid.split('-').next() {
            Some("LVM") => "logical volume",
            Some("CRYPT") => "encrypted volume",
            Some("mpath") => "multipath volume",
            _ => "mapped volume",
        };
        return format!("{kind} {name}").trim_end().to_string();
    }
    let is_loop = sys.file_name().is_some_and(|name| name.to_string_lossy().starts_with("loop"));
    if is_loop { "loop device".to_string() } else { "volume".to_string() }
}

fn disks_of_file(root: &Root, mounts: &[Mount], file: &Path) -> Vec<Disk> {
    mount_of(mounts, file, None).map_or_else(Vec::new, |mount| disks_of_mount(root, mount))
}

/// The disks directly under a file system; empty if it has none or they are unknown.
pub fn disks_of_mount(root: &Root, mount: &Mount) -> Vec<Disk> {
    if mount.number.major != 0 {
        return Disk::by_number(root, mount.number).into_iter().collect();
    }
    // btrfs and bcachefs span devices, so the kernel gives them a number that belongs to no device.
    let members = match btrfs_folder(root, mount) {
        Some(folder) => root.names(format!("{folder}/devices")),
        None => devices_of(root, mount),
    };
    let mut disks: Vec<Disk> = Vec::new();
    for disk in members.iter().filter_map(|member| Disk::by_name(root, member)) {
        if !disks.contains(&disk) {
            disks.push(disk);
        }
    }
    disks
}

/// The folder of a btrfs below /sys/fs/btrfs, relative to the root: the one whose devices the mount names. Partitions of one
/// disk may belong to several, so that devices are compared and not disks. `None` for another file system, and if the kernel
/// lists no such devices.
pub fn btrfs_folder(root: &Root, mount: &Mount) -> Option<String> {
    if mount.kind != "btrfs" {
        return None;
    }
    let names = devices_of(root, mount);
    let mut groups = root.names("sys/fs/btrfs").into_iter().map(|group| format!("sys/fs/btrfs/{group}"));
    groups.find(|group| root.names(format!("{group}/devices")).iter().any(|member| names.contains(member)))
}

/// Kernel names of the devices that a mount names.
fn devices_of(root: &Root, mount: &Mount) -> Vec<String> {
    let sources = mount.source.split(':').filter_map(|source| source.strip_prefix("/dev/"));
    sources.filter_map(|source| kernel_name(root, source)).collect()
}

/// The kernel name of a device given by its path below /dev, as sysfs writes it: `mapper/home` is a dm-N.
fn kernel_name(root: &Root, source: &str) -> Option<String> {
    let Some(mapped) = source.strip_prefix("mapper/") else {
        return Some(source.replace('/', "!"));
    };
    let named = |name: &String| root.text(format!("sys/class/block/{name}/dm/name")).as_deref() == Some(mapped);
    root.names("sys/class/block").into_iter().find(named)
}
