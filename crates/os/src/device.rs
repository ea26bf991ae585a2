//! Identifies block devices by the number that leads into sysfs.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A block device's number, by which sysfs (`/sys/dev/block/MAJOR:MINOR`) knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// The driver's part; 0 where a file system has no single device.
    pub major: u32,
    /// The device's part.
    pub minor: u32,
}

impl DeviceNumber {
    /// The two parts of a number as `stat` gives it.
    pub fn of(number: u64) -> Self {
        Self { major: rustix::fs::major(number), minor: rustix::fs::minor(number) }
    }

    /// The number of a device's node in `/dev`; `None` where nothing is there.
    pub(crate) fn of_node(node: &Path) -> Option<Self> {
        Some(Self::of(fs::metadata(node).ok()?.rdev()))
    }

    /// The folder in which sysfs describes the device; it need not exist.
    pub fn sysfs(self) -> PathBuf {
        PathBuf::from(format!("/sys/dev/block/{self}"))
    }

    /// Whether the device discards what it is told to; `None` where the kernel does not say.
    pub fn discards(self) -> Option<bool> {
        let folder = self.sysfs();
        // A partition shares the queue of the disk, whose folder it lies in.
        let told = ["queue/discard_max_bytes", "../queue/discard_max_bytes"];
        let text = told.iter().find_map(|name| fs::read_to_string(folder.join(name)).ok())?;
        Some(text.trim().parse::<u64>().ok()? > 0)
    }

    /// The number as the kernel itself writes it, in its events: twelve bits of major, twenty of minor.
    pub(crate) fn in_events(self) -> u64 {
        (u64::from(self.major) << 20) | u64::from(self.minor & 0xf_ffff)
    }

    /// Reads `254:0`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }

    /// The number in a device's folder in sysfs.
    pub(crate) fn in_folder(folder: &Path) -> Option<Self> {
        Self::parse(fs::read_to_string(folder.join("dev")).ok()?.trim())
    }
}

/// The `ioctl` that discards a range of a device (`linux/fs.h`).
const BLKDISCARD: libc::c_ulong = 0x1277;

/// Discards a range of an opened device.
pub(crate) fn discard(device: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let mut range = [offset, bytes];
    // SAFETY: the kernel reads two numbers of 64 bits, and nothing else, during the call.
    let refused = unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD as _, range.as_mut_ptr()) } != 0;
    if refused { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The numbers of the partitions that a device's folder in sysfs shows.
pub(crate) fn partitions(sysfs: &Path) -> Vec<DeviceNumber> {
    let Ok(entries) = fs::read_dir(sysfs) else { return Vec::new() };
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let folders = folders.filter(|folder| folder.join("partition").exists());
    folders.filter_map(|folder| DeviceNumber::in_folder(&folder)).collect()
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}
