//! Finds and operates the switch of a device's own write cache.
//!
//! For the volatile write cache of an NVMe controller the kernel has no switch: `queue/write_cache` changes only the
//! kernel's assumption, not the cache. This file sends Set Features to the controller (NVM Express base specification,
//! feature 06h). The setting applies to the controller with all its namespaces, and a controller reset undoes it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::DeviceNumber;

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
            Self::Nvme(folder) => match controller(folder)?.write_cache()? {
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

/// Admin commands and their parameters.
const GET_FEATURES: u8 = 0x0a;
const SET_FEATURES: u8 = 0x09;
const IDENTIFY: u8 = 0x06;
const WRITE_CACHE: u32 = 6;
const CONTROLLER: u32 = 1;
/// Bytes of the Identify data, and the byte with the write cache: bit 0 means that there is one.
const IDENTITY_BYTES: usize = 4096;
const VWC: usize = 525;

/// The kernel's `struct nvme_passthru_cmd` (`linux/nvme_ioctl.h`).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// A controller, opened through one of its namespaces.
#[derive(Debug)]
struct Controller {
    file: File,
}

impl Controller {
    /// The controller of the NVMe disk in this sysfs folder; `None` for any other disk.
    pub(crate) fn of(folder: &Path) -> Option<io::Result<Self>> {
        let name = folder.file_name()?.to_str()?;
        let number = DeviceNumber::in_folder(folder).filter(|_| name.starts_with("nvme"))?;
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(Path::new("/dev").join(name));
        Some(file.and_then(|file| {
            let metadata = file.metadata()?;
            let is_it = metadata.file_type().is_block_device() && DeviceNumber::of(metadata.rdev()) == number;
            if is_it { Ok(Self { file }) } else { Err(io::ErrorKind::NotFound.into()) }
        }))
    }

    /// Whether the write cache is on; `None` if there is none.
    pub(crate) fn write_cache(&self) -> io::Result<Option<bool>> {
        write_cache(&|command| self.send(command))
    }

    /// Switches the write cache on or off.
    pub(crate) fn set_write_cache(&self, on: bool) -> io::Result<()> {
        set_write_cache(&|command| self.send(command), on)
    }

    fn send(&self, command: &mut Command) -> io::Result<()> {
        let request = rustix::ioctl::opcode::read_write::<Command>(b'N', 0x41);
        // SAFETY: the structure has the kernel's layout, and the address in it, where there is one, is of a buffer of
        // the caller's with as many bytes as it says; both live through the call.
        match unsafe { libc::ioctl(self.file.as_raw_fd(), request as _, &raw mut *command) } {
            0 => Ok(()),
            status if status > 0 => Err(io::Error::other(format!("the controller refuses it with status {status:#x}"))),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

type Send<'a> = &'a dyn Fn(&mut Command) -> io::Result<()>;

fn write_cache(send: Send<'_>) -> io::Result<Option<bool>> {
    let mut identity = vec![0_u8; IDENTITY_BYTES];
    let mut identify = Command {
        opcode: IDENTIFY,
        address: identity.as_mut_ptr() as u64,
        data_bytes: IDENTITY_BYTES as u32,
        words_10_15: [CONTROLLER, 0, 0, 0, 0, 0],
        ..Command::default()
    };
    send(&mut identify)?;
    if identity[VWC] & 1 == 0 {
        return Ok(None);
    }
    let mut get = Command { opcode: GET_FEATURES, words_10_15: [WRITE_CACHE, 0, 0, 0, 0, 0], ..Command::default() };
    send(&mut get)?;
    Ok(Some(get.result & 1 == 1))
}

fn set_write_cache(send: Send<'_>, on: bool) -> io::Result<()> {
    if write_cache(send)?.is_none() {
        return Err(io::Error::other("the controller has no volatile write cache"));
    }
    let words_10_15 = [WRITE_CACHE, u32::from(on), 0, 0, 0, 0];
    send(&mut Command { opcode: SET_FEATURES, words_10_15, ..Command::default() })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

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
    fn the_layout_is_the_kernels() {
        assert_eq!(size_of::<Command>(), 72);
        assert_eq!(std::mem::offset_of!(Command, words_10_15), 40);
        assert_eq!(std::mem::offset_of!(Command, result), 68);
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

    #[test]
    fn a_disk_that_is_no_nvme_has_no_controller_here() {
        let folder = tempfile::tempdir().unwrap();
        for (name, number) in [("sda", "8:0\n"), ("nvme9n9", "")] {
            let disk = folder.path().join(name);
            std::fs::create_dir(&disk).unwrap();
            std::fs::write(disk.join("dev"), number).unwrap();
            assert!(Controller::of(&disk).is_none(), "{name}");
        }
    }
}
