//! Finds and operates the switch of a device's own write cache.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::nvme::Controller;

/// Settings of a write cache, as sysfs spells them: on and off.
pub const WRITE_BACK: &str = "write back";
pub const WRITE_THROUGH: &str = "write through";

/// The switch of a device's own write cache, as opposed to the kernel's assumption about it (`queue/write_cache`).
#[derive(Debug)]
pub enum CacheSwitch {
    /// A sysfs attribute that the driver passes on: virtio's own, or the SCSI disk's, which SATA disks also have.
    Attribute(PathBuf),
    /// A command to the controller of an NVMe disk, given by its sysfs folder.
    Nvme(PathBuf),
}

impl CacheSwitch {
    /// The switch of the device in this sysfs folder; `None` if it has none.
    pub fn of(folder: &Path) -> Option<Self> {
        let scsi = fs::read_dir(folder.join("device/scsi_disk")).ok();
        let scsi = scsi.and_then(|mut disks| Some(disks.next()?.ok()?.path().join("cache_type")));
        let attributes = [Some(folder.join("cache_type")), scsi];
        let attribute = attributes.into_iter().flatten().find(|attribute| attribute.is_file());
        attribute.map(Self::Attribute).or_else(|| Controller::of(folder).map(|_| Self::Nvme(folder.to_path_buf())))
    }

    /// The setting as sysfs spells it: `write back` if the cache is on, `write through` if it is off.
    ///
    /// # Errors
    /// If the device does not report it, has no such cache, or permission is missing.
    pub fn setting(&self) -> io::Result<String> {
        match self {
            Self::Attribute(attribute) => Ok(fs::read_to_string(attribute)?.trim().to_string()),
            Self::Nvme(folder) => match controller(folder)?.write_cache()? {
                Some(on) => Ok(if on { WRITE_BACK } else { WRITE_THROUGH }.to_string()),
                None => Err(io::Error::other("the controller has no volatile write cache")),
            },
        }
    }

    /// Switches the cache to a setting, given as sysfs spells it.
    ///
    /// # Errors
    /// If the device refuses, or permission is missing.
    pub fn set(&self, setting: &str) -> io::Result<()> {
        match self {
            Self::Attribute(attribute) => fs::write(attribute, setting),
            Self::Nvme(folder) => controller(folder)?.set_write_cache(setting == WRITE_BACK),
        }
    }

    /// Checks whether the cache can be switched from here.
    ///
    /// # Errors
    /// [`io::ErrorKind::ReadOnlyFilesystem`] if the device never allows it, else the system's error.
    pub fn can_be_set(&self) -> io::Result<()> {
        match self {
            Self::Attribute(attribute) if fs::metadata(attribute)?.permissions().mode() & 0o222 == 0 => {
                Err(io::ErrorKind::ReadOnlyFilesystem.into())
            }
            Self::Attribute(attribute) => OpenOptions::new().write(true).open(attribute).map(drop),
            Self::Nvme(_) => self.setting().map(drop),
        }
    }
}

fn controller(folder: &Path) -> io::Result<Controller> {
    Controller::of(folder).unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))
}
