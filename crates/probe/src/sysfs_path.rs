//! Reads the folders of a disk's path in sysfs, which name every link on the way to it.

use std::path::{Path, PathBuf};

use halfpower_spec::Rate;

use crate::Root;
use crate::block::Disk;

/// One link on the way to a disk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Link {
    /// Its kind, which is its level's name.
    pub kind: &'static str,
    /// What makes it this one and no other: its folder in sysfs, or a word.
    pub key: PathBuf,
    /// What it carries, where it is known.
    pub rate: Option<Rate>,
    /// How that is known, or why it is not.
    pub source: String,
}

/// The folders in sysfs by which a disk is reached: its own, or those of its controllers where an NVMe
/// subsystem of several stands before them.
pub(crate) fn ways(root: &Root, disk: &Disk) -> Vec<PathBuf> {
    let Some(subsystem) = disk.sys.parent().filter(|folder| folder.parent().is_some_and(ends_in_subsystem)) else {
        return vec![disk.sys.clone()];
    };
    let controllers = root
        .names(subsystem)
        .into_iter()
        .filter(|name| numbered(name, "nvme") && name["nvme".len()..].bytes().all(|byte| byte.is_ascii_digit()));
    let resolved = controllers.filter_map(|name| root.resolve(subsystem.join(name)));
    // A namespace under its controller has the controller as its parent; keep that so for the shared one.
    let ways: Vec<PathBuf> = resolved.map(|controller| controller.join(&disk.name)).collect();
    if ways.is_empty() { vec![disk.sys.clone()] } else { ways }
}

fn ends_in_subsystem(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == "nvme-subsystem")
}

/// The way's folders, the outermost first.
pub(crate) fn folders(way: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = way.ancestors().map(Path::to_path_buf).collect();
    folders.reverse();
    folders
}

/// The last folder on the way whose name is `prefix` and a number.
pub(crate) fn last_numbered(way: &Path, prefix: &str) -> Option<PathBuf> {
    folders(way).into_iter().rev().find(|folder| numbered(name(folder), prefix))
}

pub(crate) fn name(folder: &Path) -> &str {
    folder.file_name().and_then(|name| name.to_str()).unwrap_or("")
}

/// The first number of a text such as `16.0 GT/s PCIe`, where a link can have it for a speed.
pub(crate) fn leading(text: &str) -> Option<f64> {
    let number: f64 = text.split_whitespace().next()?.parse().ok()?;
    (number > 0.0 && number < 1e6).then_some(number)
}

/// Whether `name` is `prefix` and then a digit, so that `ata1` is meant and `ata_port` is not.
pub(crate) fn numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
