//! Finds and operates the switch of a device's own write cache.
//!
//! For the volatile write cache of an NVMe controller the kernel has no switch: `queue/write_cache` changes only the
//! kernel's assumption, not the cache. This file sends Set Features to the controller (NVM Express base specification,
//! feature 06h). The setting applies to the controller with all its namespaces, and a controller reset undoes it.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::nvme::{self, CONTROLLER, Command, Controller, GET_FEATURES, SET_FEATURES, Send};

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
    /// [`io::ErrorKind::Unsupported`] if the device has no such cache; else if it does not report it, or permission is
    /// missing.
    pub fn setting(&self) -> io::Result<String> {
        match self {
            Self::Attribute(attribute) => Ok(fs::read_to_string(attribute)?.trim().to_string()),
            Self::Nvme(folder) => match write_cache(&sender(folder)?)? {
                Some(on) => Ok(if on { WRITE_BACK } else { WRITE_THROUGH }.to_string()),
                None => {
                    let absent = "the controller has no volatile write cache";
                    Err(io::Error::new(io::ErrorKind::Unsupported, absent))
                }
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
            Self::Nvme(folder) => set_write_cache(&sender(folder)?, setting == WRITE_BACK),
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

/// Sends commands to the controller of the NVMe disk in this sysfs folder.
fn sender(folder: &Path) -> io::Result<impl Fn(&mut Command) -> io::Result<()>> {
    let controller = Controller::of(folder).unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))?;
    Ok(move |command: &mut Command| controller.send(command))
}

/// The feature Volatile Write Cache.
const WRITE_CACHE: u32 = 6;
/// The byte of Identify Controller with the write cache: bit 0 means that there is one.
const VWC: usize = 525;

fn write_cache(send: Send<'_>) -> io::Result<Option<bool>> {
    if nvme::identify(send, CONTROLLER, 0)?[VWC] & 1 == 0 {
        return Ok(None);
    }
    let mut get = Command::new(GET_FEATURES, WRITE_CACHE, 0);
    send(&mut get)?;
    Ok(Some(get.result & 1 == 1))
}

fn set_write_cache(send: Send<'_>, on: bool) -> io::Result<()> {
    if write_cache(send)?.is_none() {
        return Err(io::Error::other("the controller has no volatile write cache"));
    }
    send(&mut Command::new(SET_FEATURES, WRITE_CACHE, u32::from(on)))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::nvme::IDENTIFY;

    /// A controller that records its commands.
    struct Fake {
        has_cache: bool,
        is_on: RefCell<bool>,
        reported: RefCell<Vec<u8>>,
    }

    impl Fake {
        fn carry_out(&self, command: &mut Command) -> io::Result<()> {
            self.reported.borrow_mut().push(command.opcode);
            match (command.opcode, command.words_10_15[0]) {
                (IDENTIFY, CONTROLLER) => {
                    assert_eq!(command.data_bytes, 4096);
                    // SAFETY: the address is of a buffer of as many bytes.
                    unsafe { *((command.address as *mut u8).add(VWC)) = 0b110 | u8::from(self.has_cache) };
                }
                (GET_FEATURES, WRITE_CACHE) => command.result = u32::from(*self.is_on.borrow()),
                (SET_FEATURES, WRITE_CACHE) => *self.is_on.borrow_mut() = command.words_10_15[1] == 1,
                other => panic!("{other:?} is not for us"),
            }
            Ok(())
        }
    }

    #[test]
    fn the_cache_is_read_and_switched_by_feature_6_and_only_where_there_is_one() {
        let fake = Fake { has_cache: true, is_on: RefCell::new(true), reported: RefCell::default() };
        let send = |command: &mut Command| fake.carry_out(command);
        assert_eq!(write_cache(&send).unwrap(), Some(true));
        set_write_cache(&send, false).unwrap();
        assert_eq!(write_cache(&send).unwrap(), Some(false));
        set_write_cache(&send, true).unwrap();
        assert!(*fake.is_on.borrow());
        let without = Fake { has_cache: false, is_on: RefCell::new(false), reported: RefCell::default() };
        let send = |command: &mut Command| without.carry_out(command);
        assert_eq!(write_cache(&send).unwrap(), None);
        assert!(set_write_cache(&send, true).unwrap_err().to_string().contains("no volatile write cache"));
        assert!(!without.reported.borrow().contains(&SET_FEATURES), "what is not there is not switched");
    }
}
