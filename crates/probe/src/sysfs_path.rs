//! Reads the folders of a disk's sysfs path, which name every link on the way to it.

use std::path::{Path, PathBuf};

use halfpower_spec::Rate;

use crate::Root;
use crate::block::Disk;

/// One link on the way to a disk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Link {
    /// Its kind, which is also the name of its level.
    pub kind: &'static str,
    /// Identifies the link: its sysfs folder, or a word.
    pub key: PathBuf,
    /// Its rate, if known.
    pub rate: Option<Rate>,
    /// Whether reads and writes share that rate.
    pub half_duplex: bool,
    /// Where the rate comes from, or why it is unknown.
    pub source: String,
}

/// The sysfs folders through which a disk is reached: its own, or those of its controllers if it belongs to an NVMe
/// subsystem with several.
pub fn ways(root: &Root, disk: &Disk) -> Vec<PathBuf> {
    let Some(subsystem) = disk.sys.parent().filter(|folder| folder.parent().is_some_and(ends_in_subsystem)) else {
        return vec![disk.sys.clone()];
    };
    let controllers = root
        .names(subsystem)
        .into_iter()
        .filter(|name| numbered(name, "nvme") && name["nvme".len()..].bytes().all(|byte| byte.is_ascii_digit()));
    let resolved = controllers.filter_map(|name| root.resolve(subsystem.join(name)));
    // A namespace under its controller has the controller as parent; build the same shape for a shared namespace.
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

/// The last folder on the way with the name `prefix` followed by a number.
pub(crate) fn last_numbered(way: &Path, prefix: &str) -> Option<PathBuf> {
    folders(way).into_iter().rev().find(|folder| numbered(name(folder), prefix))
}

pub(crate) fn name(folder: &Path) -> &str {
    folder.file_name().and_then(|name| name.to_str()).unwrap_or("")
}

/// The first number of a text such as `16.0 GT/s PCIe`, if it is plausible as a speed.
pub(crate) fn leading(text: &str) -> Option<f64> {
    let number: f64 = text.split_whitespace().next()?.parse().ok()?;
    (number > 0.0 && number < 1e6).then_some(number)
}

/// Whether `name` is `prefix` followed by a digit: `ata1` matches, `ata_port` does not.
pub(crate) fn numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
