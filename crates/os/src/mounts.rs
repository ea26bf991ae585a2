//! Reads the mount table of this process.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::DeviceNumber;
use crate::device::partitions;

/// One line of the mount table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Number of its device; major 0 if it has no single device.
    pub number: DeviceNumber,
    /// The folder of the file system that appears at the mount point.
    pub subtree: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Kind of file system.
    pub kind: String,
    /// The mount source: a device's path, a server's export, or a word.
    pub source: String,
    /// Options of the mount and of the file system, without duplicates.
    pub options: String,
}

/// Where `device` or a partition of it is mounted, as this process sees it; `None` if it is not.
///
/// Mounts that this process cannot see are detected when the device is opened for writing.
pub fn mounted_at(device: DeviceNumber) -> Option<PathBuf> {
    let mountinfo = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut devices = partitions(&device.sysfs());
    devices.push(device);
    mount_point_of(&parse(&mountinfo), &devices, DeviceNumber::of_node)
}

/// The first mount point with its device, or its source in `/dev`, among `devices`.
///
/// Sources count too, because file systems over several devices show a number of their own.
fn mount_point_of(
    mounts: &[Mount],
    devices: &[DeviceNumber],
    number_of: impl Fn(&Path) -> Option<DeviceNumber>,
) -> Option<PathBuf> {
    let is_one = |mount: &&Mount| {
        let source = Some(Path::new(&mount.source)).filter(|source| source.starts_with("/dev"));
        let numbers = [Some(mount.number), source.and_then(&number_of)];
        numbers.iter().flatten().any(|number| devices.contains(number))
    };
    mounts.iter().find(is_one).map(|mount| mount.point.clone())
}

/// Parses the mount table `mountinfo`, in mount order; unreadable lines are left out.
pub fn parse(mountinfo: &[u8]) -> Vec<Mount> {
    mountinfo.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

/// Parses one line as described in proc_pid_mountinfo(5): any number of optional fields end at a lone `-`.
fn mount(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let dash = fields.iter().position(|field| *field == b"-")?;
    let before = &fields[..dash];
    let after = &fields[dash + 1..];
    let text = |field: &[u8]| String::from_utf8_lossy(&unescaped(field)).into_owned();
    let path = |field: &[u8]| PathBuf::from(OsString::from_vec(unescaped(field)));
    Some(Mount {
        number: DeviceNumber::parse(std::str::from_utf8(before.get(2)?).ok()?)?,
        subtree: path(before.get(3)?),
        point: path(before.get(4)?),
        kind: text(after.first()?),
        source: text(after.get(1).unwrap_or(&&b""[..])),
        options: merged(&text(before.get(5)?), &text(after.get(2).unwrap_or(&&b""[..]))),
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
pub(crate) fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        let code = tail.get(..3).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match (first, code) {
            (b'\\', Some(code)) => {
                bytes.push(code);
                rest = &tail[3..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

/// The mount that contains an absolute `path`.
///
/// If `number` is given, mounts of other devices are skipped. A btrfs subvolume has a number that no mount shows, so if
/// none fits, the path alone decides. Of two mounts on one point the later hides the earlier.
pub fn mount_of<'a>(mounts: &'a [Mount], path: &Path, number: Option<DeviceNumber>) -> Option<&'a Mount> {
    let nearest = |fits: &dyn Fn(&Mount) -> bool| {
        let above = mounts.iter().filter(|mount| path.starts_with(&mount.point) && fits(mount));
        above.max_by_key(|mount| mount.point.components().count())
    };
    number.and_then(|number| nearest(&|mount| mount.number == number)).or_else(|| nearest(&|_| true))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    const MOUNTS: &[u8] = b"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
        30 22 8:17 / /mnt/my\\040disk rw shared:2 - xfs /dev/sdb1 rw\n\
        31 22 0:44 / /pool rw - btrfs /dev/sdc rw\n\
        32 22 0:5 / /dev rw - devtmpfs devtmpfs rw\n";

    fn found(major: u32, minor: u32) -> Option<PathBuf> {
        mount_point_of(&parse(MOUNTS), &[DeviceNumber { major, minor }], |source| {
            (source == Path::new("/dev/sdc")).then_some(DeviceNumber { major: 8, minor: 32 })
        })
    }

    #[test]
    fn a_mount_is_found_by_number_or_by_source() {
        assert_eq!(found(254, 0), Some("/".into()));
        assert_eq!(found(8, 17), Some("/mnt/my disk".into()));
        assert_eq!(found(8, 32), Some("/pool".into()));
        assert_eq!(found(8, 16), None);
    }

    #[test]
    fn partitions_are_read_from_sysfs() {
        let sysfs = tempfile::tempdir().unwrap();
        for (name, number, partition) in [("sdb1", "8:17\n", true), ("sdb2", "8:18\n", true), ("queue", "x", false)] {
            let folder = sysfs.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("dev"), number).unwrap();
            if partition {
                fs::write(folder.join("partition"), "1\n").unwrap();
            }
        }
        let mut numbers = partitions(sysfs.path());
        numbers.sort_unstable();
        assert_eq!(numbers, [DeviceNumber { major: 8, minor: 17 }, DeviceNumber { major: 8, minor: 18 }]);
    }

    #[test]
    fn the_root_device_is_mounted() {
        let number = DeviceNumber::of(fs::metadata("/").unwrap().dev());
        if number.major == 0 {
            return crate::skip("the root file system has no device of its own");
        }
        assert!(mounted_at(number).is_some(), "{number}");
    }

    const TABLE: &str = "\
        1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,discard\n\
        2 1 8:2 / /data rw - xfs /dev/sda2 rw,noquota\n\
        3 1 0:40 / /data rw,nosuid master:2 propagate_from:1 - tmpfs tmpfs rw,size=4k\n\
        nonsense\n\
        4 1 8:2 /sub /my\\040disk rw - xfs /dev/sda2 rw\n";

    fn table() -> Vec<Mount> {
        parse(TABLE.as_bytes())
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
