//! Identifies block devices by the number that sysfs uses.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A block device's number, as in sysfs (`/sys/dev/block/MAJOR:MINOR`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// The driver's part; 0 for a file system without a single device.
    pub major: u32,
    /// The device's part.
    pub minor: u32,
}

impl DeviceNumber {
    /// Splits a device number as returned by `stat`.
    pub fn of(number: u64) -> Self {
        Self { major: rustix::fs::major(number), minor: rustix::fs::minor(number) }
    }

    /// The number of a device's node in `/dev`; `None` if the node does not exist.
    pub(crate) fn of_node(node: &Path) -> Option<Self> {
        Some(Self::of(fs::metadata(node).ok()?.rdev()))
    }

    /// The sysfs folder of the device; it need not exist.
    pub fn sysfs(self) -> PathBuf {
        self.sysfs_below(Path::new("/"))
    }

    /// The same in a tree below `root`. The folder by number is hidden in some containers (podman masks it), and the one by
    /// name then stands for it.
    pub fn sysfs_below(self, root: &Path) -> PathBuf {
        let by_number = root.join(format!("sys/dev/block/{self}"));
        if self.major == 0 || by_number.exists() {
            return by_number;
        }
        let names = fs::read_dir(root.join("sys/class/block")).into_iter().flatten();
        let mut folders = names.filter_map(|entry| Some(entry.ok()?.path()));
        folders.find(|folder| Self::in_folder(folder) == Some(self)).unwrap_or(by_number)
    }

    /// Whether the device supports discard; `None` if the kernel does not say.
    pub fn discards(self) -> Option<bool> {
        Some(self.queue_setting("discard_max_bytes")?.parse::<u64>().ok()? > 0)
    }

    /// A setting of its queue; `None` if the kernel does not say.
    pub(crate) fn queue_setting(self, name: &str) -> Option<String> {
        // A partition shares the queue of its disk, whose folder contains it.
        let folders = ["queue", "../queue"].map(|queue| self.sysfs().join(queue));
        let text = folders.iter().find_map(|folder| fs::read_to_string(folder.join(name)).ok())?;
        Some(text.trim().to_string())
    }

    /// Whether its counters tell of NVMe commands that pass the block layer by (`iostats_passthrough`, Linux 6.13); `false`
    /// if the kernel does not say.
    pub fn counts_commands(self) -> bool {
        self.queue_setting("iostats_passthrough").is_some_and(|text| text == "1")
    }

    /// Whether the kernel lets nobody write to the device; `false` if it does not say.
    pub fn is_read_only(self) -> bool {
        fs::read_to_string(self.sysfs().join("ro")).is_ok_and(|text| text.trim() == "1")
    }

    /// Whether the device takes writes only at the end of each zone's data (`host-managed`); `false` if the kernel does not
    /// say.
    pub fn is_zoned(self) -> bool {
        self.queue_setting("zoned").is_some_and(|model| model == "host-managed")
    }

    /// The number as the kernel's trace events encode it: twelve bits of major, twenty of minor.
    pub(crate) fn in_events(self) -> u64 {
        (u64::from(self.major) << 20) | u64::from(self.minor & 0xf_ffff)
    }

    /// The device that the kernel's trace events name so.
    pub(crate) fn from_events(number: u64) -> Self {
        Self { major: (number >> 20) as u32, minor: (number & 0xf_ffff) as u32 }
    }

    /// The number as `stat` returns it, which [`DeviceNumber::of`] takes apart.
    pub fn in_stat(self) -> u64 {
        rustix::fs::makedev(self.major, self.minor)
    }

    /// Parses a text such as `254:0`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }

    /// The number in a device's sysfs folder.
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

/// The disk in a sysfs folder, opened to be asked through its node in `/dev`; `None` if the folder holds no number.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if the node is missing or belongs to another device; else the system's error.
pub(crate) fn opened(folder: &Path) -> Option<io::Result<File>> {
    let name = folder.file_name()?;
    let number = DeviceNumber::in_folder(folder)?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(Path::new("/dev").join(name));
    Some(file.and_then(|file| {
        let metadata = file.metadata()?;
        let is_it = metadata.file_type().is_block_device() && DeviceNumber::of(metadata.rdev()) == number;
        if is_it { Ok(file) } else { Err(io::ErrorKind::NotFound.into()) }
    }))
}

/// The numbers of the partitions in a device's sysfs folder.
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
