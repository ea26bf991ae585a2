//! Finds and turns the switch of a device's own write cache.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::nvme::Controller;

/// Settings of a write cache in the words of sysfs: on, off.
pub const WRITE_BACK: &str = "write back";
pub const WRITE_THROUGH: &str = "write through";

/// By what a device's own write cache is switched, and not only the kernel's picture of it (`queue/write_cache`).
#[derive(Debug)]
pub enum CacheSwitch {
    /// An attribute that its driver hands on: virtio's own, or the SCSI disk's, which is also a SATA disk's.
    Attribute(PathBuf),
    /// A command to the controller: an NVMe disk's folder in sysfs.
    Nvme(PathBuf),
}

impl CacheSwitch {
    /// That of the device which this folder of sysfs describes; `None` where there is none.
    pub fn of(folder: &Path) -> Option<Self> {
        let scsi = fs::read_dir(folder.join("device/scsi_disk")).ok();
        let scsi = scsi.and_then(|mut disks| Some(disks.next()?.ok()?.path().join("cache_type")));
        let attributes = [Some(folder.join("cache_type")), scsi];
        let attribute = attributes.into_iter().flatten().find(|attribute| attribute.is_file());
        attribute.map(Self::Attribute).or_else(|| Controller::of(folder).map(|_| Self::Nvme(folder.to_path_buf())))
    }

    /// The setting, in the words of sysfs: `write back` where the cache is on, `write through` where it is off.
    ///
    /// # Errors
    /// Where the device does not tell, has no such cache, or the rights are missing.
    pub fn setting(&self) -> io::Result<String> {
        match self {
            Self::Attribute(attribute) => Ok(fs::read_to_string(attribute)?.trim().to_string()),
            Self::Nvme(folder) => match controller(folder)?.write_cache()? {
                Some(on) => Ok(if on { WRITE_BACK } else { WRITE_THROUGH }.to_string()),
                None => Err(io::Error::other("the controller has no volatile write cache")),
            },
        }
    }

    /// Switches it to a setting in these words.
    ///
    /// # Errors
    /// Where the device refuses, or the rights are missing.
    pub fn set(&self, setting: &str) -> io::Result<()> {
        match self {
            Self::Attribute(attribute) => fs::write(attribute, setting),
            Self::Nvme(folder) => controller(folder)?.set_write_cache(setting == WRITE_BACK),
        }
    }

    /// Whether it can be switched from here.
    ///
    /// # Errors
    /// Why not: [`io::ErrorKind::ReadOnlyFilesystem`] where the device lets nobody, else what the system says.
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
