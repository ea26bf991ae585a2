//! Finds the generic device of an NVMe namespace, which takes its commands past the block layer, and opens it.
//!
//! Each namespace that Linux 5.13 and later has as a block device (`/dev/nvme0n1`) is a generic character device too
//! (`/dev/ng0n1`). The two are siblings in sysfs. Only the block device can be mounted, claimed and looked at for marks,
//! so all that protects data asks the block device, whichever of both was named.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::nvme_namespace::QueueLimits;
use crate::{DataFile, DeviceNumber, Kind, Mode, Namespace, OsError, RunFile, nvme};

/// The kernel's class of generic devices.
const CLASS: &str = "nvme-generic";
/// What is no namespace, and what to do.
const NO_NAMESPACE: &str = "it is no NVMe namespace; name the block device of one, such as /dev/nvme0n1, or its generic device, such \
                            as /dev/ng0n1, or take --engine io_uring";

/// The node of the block device beside the NVMe generic device at `path`; `None` if `path` is none.
///
/// # Errors
/// [`OsError::NoCommands`] if the kernel has no block device beside it: then nothing tells whose its data are.
pub fn disk_beside(path: &Path) -> Result<Option<PathBuf>, OsError> {
    let Ok(metadata) = path.metadata() else { return Ok(None) };
    if !metadata.file_type().is_char_device() {
        return Ok(None);
    }
    let Some(folder) = generic_folder(Path::new("/sys"), DeviceNumber::of(metadata.rdev())) else { return Ok(None) };
    let node = disk_folder_beside(&folder).and_then(|disk| {
        let node = Path::new("/dev").join(disk.file_name()?);
        let metadata = node.metadata().ok()?;
        let is_it = metadata.file_type().is_block_device()
            && Some(DeviceNumber::of(metadata.rdev())) == DeviceNumber::in_folder(&disk);
        is_it.then_some(node)
    });
    let why = "the kernel has no block device beside it, so that nobody can tell whose its data are; name another";
    node.map(Some).ok_or_else(|| OsError::NoCommands { path: path.to_path_buf(), why: why.to_string() })
}

/// The node of the generic device through which commands reach the disk at `path`, or the disk of the partition there;
/// `None` if there is none.
pub(crate) fn node_beside(path: &Path) -> Option<PathBuf> {
    let metadata = path.metadata().ok()?;
    if !metadata.file_type().is_block_device() {
        return None;
    }
    let folder = fs::canonicalize(DeviceNumber::of(metadata.rdev()).sysfs()).ok()?;
    let disk: &Path = if folder.join("partition").exists() { folder.parent()? } else { &folder };
    Some(Path::new("/dev").join(generic_folder_beside(disk)?.file_name()?))
}

/// The folder of the generic device of this number below `sys`; `None` if the character device of this number is none.
fn generic_folder(sys: &Path, number: DeviceNumber) -> Option<PathBuf> {
    let folder = fs::canonicalize(sys.join("dev/char").join(number.to_string())).ok()?;
    let class = fs::canonicalize(folder.join("subsystem")).ok()?;
    (class.file_name()? == CLASS).then_some(folder)
}

/// The folder of the disk beside a generic device, whose folder is given.
fn disk_folder_beside(generic: &Path) -> Option<PathBuf> {
    sibling(generic, "ng", "nvme")
}

/// The folder of the generic device beside a disk, whose folder is given.
fn generic_folder_beside(disk: &Path) -> Option<PathBuf> {
    sibling(disk, "nvme", "ng").filter(|folder| {
        let class = fs::canonicalize(folder.join("subsystem")).ok();
        class.is_some_and(|class| class.file_name().is_some_and(|name| name == CLASS))
    })
}

/// The device beside another of the same controller or subsystem, with another prefix of its name.
fn sibling(folder: &Path, prefix: &str, other: &str) -> Option<PathBuf> {
    let place = folder.file_name()?.to_str()?.strip_prefix(prefix)?;
    // `nvme0c1n1` is one path of several to a namespace: it has no generic device, and is none's disk.
    let is_place = place.split_once('n').is_some_and(|(first, second)| {
        [first, second].iter().all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let beside = folder.with_file_name(format!("{other}{place}"));
    (is_place && beside.join("dev").exists()).then_some(beside)
}

impl DataFile {
    /// The namespace that it is, as its generic device takes commands.
    ///
    /// # Errors
    /// [`OsError::NoCommands`] if it is none, or takes no commands from here, with the reason.
    pub fn namespace(&self) -> Result<Namespace, OsError> {
        self.generic_device(false).map(|(_, namespace)| namespace)
    }

    /// Opens the generic device beside it for commands.
    ///
    /// # Errors
    /// As [`Self::namespace`].
    pub(crate) fn reopen_for_commands(&self, mode: Mode) -> Result<RunFile, OsError> {
        let (file, namespace) = self.generic_device(mode.write)?;
        Ok(RunFile::for_commands(file, mode, namespace))
    }

    fn generic_device(&self, writes: bool) -> Result<(File, Namespace), OsError> {
        let refuse = |why: String| OsError::NoCommands { path: self.path().to_path_buf(), why };
        if self.kind() != Kind::Block {
            return Err(refuse(NO_NAMESPACE.to_string()));
        }
        let disk = self.device()?;
        let folder = fs::canonicalize(disk.sysfs()).map_err(|error| refuse(error.to_string()))?;
        if folder.join("partition").exists() {
            let whole =
                "it is a partition, and commands reach all of its disk; name the disk, or take --engine io_uring";
            return Err(refuse(whole.to_string()));
        }
        let beside = generic_folder_beside(&folder).ok_or_else(|| refuse(NO_NAMESPACE.to_string()))?;
        let node = Path::new("/dev").join(beside.file_name().unwrap_or_default());
        let failed = |error: std::io::Error| refuse(format!("{} cannot be used: {error}", node.display()));
        let file = OpenOptions::new().read(true).write(writes).open(&node).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let is_it = metadata.file_type().is_char_device()
            && Some(DeviceNumber::of(metadata.rdev())) == DeviceNumber::in_folder(&beside);
        if !is_it {
            return Err(OsError::Replaced { path: node.clone() });
        }
        let number = nvme::namespace_of(&file).map_err(failed)?;
        let page = nvme::identity_of(&file, number).map_err(failed)?;
        let queue = QueueLimits::of(disk).ok_or_else(|| refuse("its queue tells no limits".to_string()))?;
        let namespace = Namespace::of(number, disk, &page, queue).map_err(refuse)?;
        Ok((file, namespace))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_generic_device_and_its_disk_are_siblings() {
        let sys = tempfile::tempdir().unwrap();
        let sys = sys.path().canonicalize().unwrap();
        let controller = sys.join("devices/pci/nvme/nvme0");
        let class = sys.join("class/nvme-generic");
        fs::create_dir_all(&class).unwrap();
        fs::create_dir_all(sys.join("dev/char")).unwrap();
        for (name, number) in [("ng0n1", "237:0"), ("nvme0n1", "259:0"), ("nvme0c0n1", "259:1"), ("nvme0n2", "259:2")] {
            fs::create_dir_all(controller.join(name)).unwrap();
            fs::write(controller.join(name).join("dev"), format!("{number}\n")).unwrap();
        }
        symlink(&class, controller.join("ng0n1/subsystem")).unwrap();
        symlink(controller.join("ng0n1"), sys.join("dev/char/237:0")).unwrap();
        symlink(controller.join("nvme0n1"), sys.join("dev/char/1:3")).unwrap();
        let generic = generic_folder(&sys, DeviceNumber { major: 237, minor: 0 }).unwrap();
        assert_eq!(disk_folder_beside(&generic), Some(controller.join("nvme0n1")));
        assert_eq!(generic_folder(&sys, DeviceNumber { major: 1, minor: 3 }), None, "of another class");
        assert_eq!(generic_folder(&sys, DeviceNumber { major: 9, minor: 9 }), None, "not there");
        let beside = |name: &str| generic_folder_beside(&controller.join(name));
        assert_eq!(beside("nvme0n1"), Some(controller.join("ng0n1")));
        assert_eq!((beside("nvme0n2"), beside("nvme0c0n1"), beside("nvme0n1p1")), (None, None, None));
    }

    #[test]
    fn what_is_no_namespace_takes_no_commands_and_says_so() {
        assert_eq!(disk_beside(Path::new("/dev/null")).unwrap(), None);
        assert_eq!(node_beside(Path::new("/dev/null")), None);
        assert_eq!(disk_beside(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap(), None);
        let file = DataFile::unnamed_in(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let refused = file.namespace().unwrap_err().to_string();
        assert!(refused.contains("no NVMe namespace") && refused.contains("/dev/ng0n1"), "{refused}");
        let reopened = file.reopen(Mode { direct: true, commands: true, ..Mode::default() });
        assert!(matches!(reopened, Err(OsError::NoCommands { .. })));
    }
}
