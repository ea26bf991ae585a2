//! Finds the partitions and the controllers on the way from a file system down to its disks.

use std::path::{Path, PathBuf};

use halfpower_os::mounts::Mount;
use halfpower_probe::{DeviceNumber, Disk, Root, Stack, ways};

/// A partition on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partition {
    /// Kernel name.
    pub name: String,
    /// Its folder below /sys, relative to the root.
    pub sys: PathBuf,
    /// Kernel name of its disk.
    pub disk: String,
}

impl Partition {
    fn at(root: &Root, sys: PathBuf) -> Option<Self> {
        let name = |folder: &Path| Some(folder.file_name()?.to_str()?.to_string());
        root.exists(sys.join("partition"))
            .then(|| Some(Self { name: name(&sys)?, disk: name(sys.parent()?)?, sys: sys.clone() }))?
    }
}

/// The partitions under a target and under the volumes of its stack.
pub(crate) fn partitions(root: &Root, number: DeviceNumber, mount: Option<&Mount>, stack: &Stack) -> Vec<Partition> {
    let mut folders: Vec<Option<PathBuf>> = vec![root.block_device(number)];
    folders.extend(mount.map(|mount| root.block_device(mount.number)));
    // File systems over several devices have a number that belongs to none.
    let sources = mount.into_iter().flat_map(|mount| mount.source.split(':'));
    folders.extend(sources.filter_map(|source| source.strip_prefix("/dev/")).map(|name| {
        // A path with a folder, such as mapper/data, names no partition.
        root.resolve(format!("sys/class/block/{name}")).filter(|_| !name.contains('/'))
    }));
    for volume in &stack.volumes {
        let slaves = volume.disk.sys.join("slaves");
        folders.extend(root.names(&slaves).into_iter().map(|name| root.resolve(slaves.join(name))));
    }
    let mut found: Vec<Partition> = Vec::new();
    for partition in folders.into_iter().flatten().filter_map(|sys| Partition::at(root, sys)) {
        if !found.contains(&partition) {
            found.push(partition);
        }
    }
    found
}

/// The NVMe controllers that lead to a disk; none for other disks.
pub(crate) fn controllers(root: &Root, disk: &Disk) -> Vec<PathBuf> {
    if !disk.name.starts_with("nvme") {
        return Vec::new();
    }
    ways(root, disk).into_iter().filter_map(|way| Some(way.parent()?.to_path_buf())).collect()
}

/// The last folder on a way with the name `prefix` followed by a digit.
pub(crate) fn last_numbered(way: &Path, prefix: &str) -> Option<PathBuf> {
    let is_it = |folder: &&Path| {
        let rest = name(folder).strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
    };
    way.ancestors().find(is_it).map(Path::to_path_buf)
}

/// The last part of a path.
pub(crate) fn name(folder: &Path) -> &str {
    folder.file_name().and_then(|name| name.to_str()).unwrap_or("")
}
