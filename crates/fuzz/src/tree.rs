//! Feeds trees of /proc and /sys to the probe and to the checks of settings.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use halfpower_probe::{DeviceNumber, Root, TargetIdentity, interrupts, probe, probe_machine};
use halfpower_spec::Bytes;

/// Most files in a tree.
const FILES: usize = 96;

/// A machine with a partition of an NVMe disk on PCI Express and a stripe of two, one entry per line, for [`sysfs`].
pub(crate) const NVME: &str = include_str!("nvme.tree");

/// Feeds a tree built from the bytes, one entry per line: `path = text` is a file, in which `\n` ends a line;
/// `path -> path` is a link.
///
/// # Panics
/// If temporary files cannot be created.
pub(crate) fn sysfs(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let folder = crate::folder();
    for line in text.lines().take(FILES) {
        // Entries that cannot be created are skipped.
        let _ = lay_out(folder.path(), line);
    }
    let root = Root::at(folder.path());
    for number in [(259, 1), (9, 0), (0, 30)] {
        for is_device in [false, true] {
            let number = DeviceNumber { major: number.0, minor: number.1 };
            let path = PathBuf::from("/data");
            let target = TargetIdentity { path, number, is_device, block: Bytes(4096), filesystem: None };
            probe(&root, &target);
            halfpower_doctor::diagnose(&halfpower_doctor::Place::of(&root, &target));
        }
    }
    probe_machine(&root);
    interrupts(&root, "nvme0n1");
}

fn lay_out(base: &Path, line: &str) -> std::io::Result<()> {
    if let Some((path, text)) = line.split_once(" = ") {
        return fs::write(place(base, path)?, text.replace("\\n", "\n").replace("\\t", "\t"));
    }
    match line.split_once(" -> ") {
        Some((path, to)) => symlink(base.join(within(to)), place(base, path)?),
        None => Ok(()),
    }
}

fn place(base: &Path, path: &str) -> std::io::Result<PathBuf> {
    let path = base.join(within(path));
    fs::create_dir_all(path.parent().unwrap_or(base))?;
    Ok(path)
}

/// The path without the parts that lead out of the tree.
fn within(path: &str) -> PathBuf {
    Path::new(path).components().filter(|part| matches!(part, Component::Normal(_))).collect()
}
