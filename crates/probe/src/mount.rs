//! Which file system holds a path? The mount table of this process, and the mount that a path falls under.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::Root;

/// The kernel's number of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// Which driver; 0 where no block device stands behind it.
    pub major: u32,
    /// Which of the driver's devices.
    pub minor: u32,
}

impl DeviceNumber {
    /// Reads `8:1`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// One line of the mount table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Number of its device; major 0 where there is none, or more than one.
    pub number: DeviceNumber,
    /// The folder of the file system that is seen at the mount point.
    pub subtree: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Kind of file system.
    pub kind: String,
    /// What was mounted: a device's path, a server's export, a word.
    pub source: String,
    /// Options of the mount and of the file system, each once.
    pub options: String,
}

/// The mount table in mount order; lines that cannot be read are left out.
pub(crate) fn mounts(root: &Root) -> Vec<Mount> {
    root.text("proc/self/mountinfo").unwrap_or_default().lines().filter_map(mount).collect()
}

/// One line as described in proc_pid_mountinfo(5): any number of optional fields end at a lone `-`.
fn mount(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let before: Vec<&str> = before.split(' ').collect();
    let after: Vec<&str> = after.split(' ').collect();
    let options = merged(before.get(5)?, after.get(2).unwrap_or(&""));
    Some(Mount {
        number: DeviceNumber::parse(before.get(2)?)?,
        subtree: unescaped(before.get(3)?).into(),
        point: unescaped(before.get(4)?).into(),
        kind: unescaped(after.first()?),
        source: unescaped(after.get(1).unwrap_or(&"")),
        options: unescaped(&options),
    })
}

fn merged(mount: &str, file_system: &str) -> String {
    let mut options: Vec<&str> = mount.split(',').collect();
    for option in file_system.split(',') {
        if !options.contains(&option) && !option.is_empty() {
            options.push(option);
        }
    }
    options.join(",")
}

/// Undoes the table's octal escapes of white space and backslashes, such as `\040`.
fn unescaped(field: &str) -> String {
    let mut text = Vec::with_capacity(field.len());
    let mut bytes = field.as_bytes();
    while let Some((first, rest)) = bytes.split_first() {
        let octal = rest.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match escaped {
            Some(byte) if *first == b'\\' => {
                text.push(byte);
                bytes = &rest[3..];
            }
            _ => {
                text.push(*first);
                bytes = rest;
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The mount that an absolute `path` falls under.
///
/// Where `number` is known, mounts of another device are passed over; a btrfs subvolume has a number of its own
/// that no mount shows, so where none fits, the path alone decides. Of two mounts on one point the later hides
/// the earlier.
pub(crate) fn mount_of<'a>(mounts: &'a [Mount], path: &Path, number: Option<DeviceNumber>) -> Option<&'a Mount> {
    let nearest = |fits: &dyn Fn(&Mount) -> bool| {
        let above = mounts.iter().filter(|mount| path.starts_with(&mount.point) && fits(mount));
        above.max_by_key(|mount| mount.point.components().count())
    };
    number.and_then(|number| nearest(&|mount| mount.number == number)).or_else(|| nearest(&|_| true))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
        1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,discard\n\
        2 1 8:2 / /data rw - xfs /dev/sda2 rw,noquota\n\
        3 1 0:40 / /data rw,nosuid master:2 propagate_from:1 - tmpfs tmpfs rw,size=4k\n\
        nonsense\n\
        4 1 8:2 /sub /my\\040disk rw - xfs /dev/sda2 rw\n";

    fn table() -> Vec<Mount> {
        TABLE.lines().filter_map(mount).collect()
    }

    #[test]
    fn a_table_is_read_line_by_line() {
        let table = table();
        assert_eq!(table.len(), 4);
        assert_eq!(table[0].options, "rw,relatime,discard");
        assert_eq!(table[2].kind, "tmpfs");
        assert_eq!(table[3].point, Path::new("/my disk"));
        assert_eq!(table[3].subtree, Path::new("/sub"));
    }

    #[test]
    fn the_longest_and_last_mount_wins_unless_the_number_says_otherwise() {
        let table = table();
        let kind = |path: &str, number| mount_of(&table, Path::new(path), number).map(|m| m.kind.as_str());
        assert_eq!(kind("/home/x", None), Some("ext4"));
        assert_eq!(kind("/database", None), Some("ext4"));
        assert_eq!(kind("/data/x", None), Some("tmpfs"));
        assert_eq!(kind("/data/x", DeviceNumber::parse("8:2")), Some("xfs"));
        assert_eq!(kind("/data/x", DeviceNumber::parse("0:99")), Some("tmpfs"));
        assert_eq!(kind("relative", None), None);
    }
}
