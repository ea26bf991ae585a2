//! Finds the disks beneath devices, and the numbers by which the kernel's events name them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::DeviceNumber;
use crate::device::partitions;

/// Stacks of volumes are followed down to this depth.
const DEEPEST: u32 = 8;

/// The disks beneath some devices.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DisksUnder {
    /// Their kernel names.
    pub(crate) names: Vec<String>,
    /// For each, the numbers by which events may name it: its own, its partitions', and those of the paths on which the kernel
    /// reaches it (NVMe multipath): it is queued under its own number, and issued and completed under that of a path.
    pub(crate) numbers: Vec<Vec<u64>>,
    /// The numbers of these and of all volumes on the way to them: a file system on one of these uses the disks.
    pub(crate) on_the_way: Vec<u64>,
}

impl DisksUnder {
    /// Follows devices (kernel names) of this machine down: the devices themselves, or for volumes the devices beneath.
    pub(crate) fn here<'a>(devices: impl IntoIterator<Item = &'a str>) -> Self {
        let diskstats = fs::read_to_string("/proc/diskstats").unwrap_or_default();
        Self::find(Path::new("/sys/block"), &diskstats, devices)
    }

    fn find<'a>(blocks: &Path, diskstats: &str, devices: impl IntoIterator<Item = &'a str>) -> Self {
        let mut folders = Folders::default();
        for device in devices {
            descend(blocks, device, 0, &mut folders);
        }
        let mut found = Self::default();
        for folder in folders.of_disks {
            let mut numbers = numbers(&folder);
            if !numbers.is_empty() {
                let name = folder.file_name().unwrap_or_default().to_string_lossy().replace('!', "/");
                numbers.extend(of_paths(&name, diskstats));
                found.names.push(name);
                found.numbers.push(numbers);
            }
        }
        found.on_the_way = folders.of_all.iter().flat_map(|folder| numbers(folder)).collect();
        found
    }
}

/// The filter that passes events of the devices with these numbers.
pub(crate) fn filter_of<'a>(numbers: impl IntoIterator<Item = &'a u64>) -> String {
    let each: Vec<String> = numbers.into_iter().map(|number| format!("dev == {number}")).collect();
    each.join(" || ")
}

/// The number of a device and those of its partitions, as events have them.
fn numbers(folder: &Path) -> Vec<u64> {
    let own = DeviceNumber::in_folder(folder).into_iter();
    own.chain(partitions(folder)).map(DeviceNumber::in_events).collect()
}

/// The numbers of the paths to an NVMe namespace, as events have them: `nvme0c2n1` is the path of the controller 2 to `nvme0n1`.
/// They have no device node, and nothing but `/proc/diskstats` tells their numbers.
fn of_paths(name: &str, diskstats: &str) -> Vec<u64> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n'));
    let Some((subsystem, namespace)) = parts.filter(|(first, last)| is_number(first) && is_number(last)) else {
        return Vec::new();
    };
    let of_line = |line: &str| {
        let mut words = line.split_whitespace();
        let [major, minor] = [words.next()?.parse().ok()?, words.next()?.parse().ok()?];
        let (path, last) = words.next()?.strip_prefix("nvme")?.split_once('n')?;
        let (first, controller) = path.split_once('c')?;
        let is_one = first == subsystem && last == namespace && is_number(controller) && major > 0;
        is_one.then(|| DeviceNumber { major, minor }.in_events())
    };
    diskstats.lines().filter_map(of_line).collect()
}

/// Folders in sysfs, each once.
#[derive(Default)]
struct Folders {
    /// Of devices that stand on no others.
    of_disks: Vec<PathBuf>,
    /// Of all devices.
    of_all: Vec<PathBuf>,
}

/// Adds the folders of a device and of the devices beneath.
fn descend(blocks: &Path, device: &str, depth: u32, folders: &mut Folders) {
    let name = whole(blocks, device);
    let folder = blocks.join(&name);
    let slaves: Vec<String> = fs::read_dir(folder.join("slaves"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    if !folders.of_all.contains(&folder) {
        folders.of_all.push(folder.clone());
    }
    if slaves.is_empty() || depth >= DEEPEST {
        if !folders.of_disks.contains(&folder) {
            folders.of_disks.push(folder);
        }
        return;
    }
    for slave in slaves {
        descend(blocks, &slave, depth + 1, folders);
    }
}

/// The whole device of a partition; a whole device stays itself.
fn whole(blocks: &Path, device: &str) -> String {
    let device = device.replace('/', "!");
    if blocks.join(&device).exists() {
        return device;
    }
    let entries = fs::read_dir(blocks).into_iter().flatten().flatten();
    let parent = entries.map(|entry| entry.path()).find(|folder| folder.join(&device).join("partition").exists());
    parent.and_then(|folder| folder.file_name()?.to_str().map(str::to_string)).unwrap_or(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lay_out(blocks: &Path, device: &str, number: &str, partitions: &[(&str, &str)], slaves: &[&str]) {
        let folder = blocks.join(device);
        fs::create_dir_all(folder.join("slaves")).unwrap();
        fs::write(folder.join("dev"), number).unwrap();
        for (name, number) in partitions {
            fs::create_dir(folder.join(name)).unwrap();
            fs::write(folder.join(name).join("dev"), number).unwrap();
            fs::write(folder.join(name).join("partition"), "1\n").unwrap();
        }
        for slave in slaves {
            fs::create_dir(folder.join("slaves").join(slave)).unwrap();
        }
    }

    #[test]
    fn disks_are_found_under_volumes_with_their_partitions() {
        let blocks = tempfile::tempdir().unwrap();
        let blocks = blocks.path();
        lay_out(blocks, "sda", "8:0\n", &[("sda1", "8:1\n")], &[]);
        lay_out(blocks, "sdb", "8:16\n", &[], &[]);
        lay_out(blocks, "md0", "9:0\n", &[], &["sda1", "sdb"]);
        lay_out(blocks, "dm-0", "252:0\n", &[], &["md0"]);
        let a = ("sda", vec![8 << 20, (8 << 20) | 1]);
        let b = ("sdb", vec![(8 << 20) | 16]);
        let numbers = |under: &DisksUnder| {
            let mut all: Vec<(String, Vec<u64>)> = under.names.iter().cloned().zip(under.numbers.clone()).collect();
            all.sort_unstable();
            all
        };
        let owned = |(name, numbers): &(&str, Vec<u64>)| (name.to_string(), numbers.clone());
        let under = DisksUnder::find(blocks, "", ["dm-0"]);
        assert_eq!(numbers(&under), [owned(&a), owned(&b)]);
        let mut on_the_way = under.on_the_way;
        on_the_way.sort_unstable();
        assert_eq!(on_the_way, [8 << 20, (8 << 20) | 1, (8 << 20) | 16, 9 << 20, 252 << 20]);
        let both = DisksUnder::find(blocks, "", ["sda1", "sda"]);
        assert_eq!((numbers(&both), both.on_the_way), (vec![owned(&a)], a.1.clone()));
        assert_eq!(DisksUnder::find(blocks, "", ["nowhere"]), DisksUnder::default());
    }

    #[test]
    fn a_namespace_with_several_paths_has_their_numbers_too() {
        let blocks = tempfile::tempdir().unwrap();
        let blocks = blocks.path();
        lay_out(blocks, "nvme0n1", "259:4\n", &[("nvme0n1p1", "259:5\n")], &[]);
        let stats = " 259 0 nvme0c0n1 1 0 8\n 259 2 nvme0c13n1 1 0 8\n 259 1 nvme0c0n2 1 0 8\n 259 3 nvme1c0n1 1 0 8\n \
                     259 4 nvme0n1 0 0 0\n 259 5 nvme0n1p1 0 0 0\n 0 0 nvme0c4n1 0 0 0\n 8 0 sda 1 0 8\n";
        let under = DisksUnder::find(blocks, stats, ["nvme0n1"]);
        assert_eq!(under.names, ["nvme0n1"]);
        let mut numbers = under.numbers[0].clone();
        numbers.sort_unstable();
        assert_eq!(numbers, [0_u64, 2, 4, 5].map(|minor| (259 << 20) | minor));
        assert_eq!(of_paths("nvme0n1p1", stats).len() + of_paths("sda", stats).len(), 0);
    }

    #[test]
    fn a_filter_names_every_number() {
        assert_eq!(filter_of([&3, &7]), "dev == 3 || dev == 7");
    }
}
