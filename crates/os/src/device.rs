//! Which block device is it? The number by which the kernel knows it leads into sysfs.

use std::fmt;
use std::path::PathBuf;

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
    pub(crate) fn of(number: u64) -> Self {
        Self { major: rustix::fs::major(number), minor: rustix::fs::minor(number) }
    }

    /// The folder in which sysfs describes the device; it need not exist.
    pub fn sysfs(self) -> PathBuf {
        PathBuf::from(format!("/sys/dev/block/{self}"))
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}
