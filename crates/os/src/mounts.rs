//! Is a device mounted? Its number enters, the mount point of it or of one of its partitions leaves.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::DeviceNumber;
use crate::device::partitions;

/// Where `device`, or a partition of it, is mounted in the view of this process; `None` where it is not.
///
/// A mount that this process cannot see is found when the device is opened for writing.
pub fn mounted_at(device: DeviceNumber) -> Option<PathBuf> {
    let mountinfo = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut devices = partitions(&device.sysfs());
    devices.push(device);
    mount_point_of(&mountinfo, &devices, |source| {
        fs::metadata(source).ok().map(|metadata| DeviceNumber::of(metadata.rdev()))
    })
}

/// The first mount point in `mountinfo` whose device, or whose source in `/dev`, is one of `devices`.
///
/// The source counts too because file systems over several devices show a number of their own.
fn mount_point_of(
    mountinfo: &[u8],
    devices: &[DeviceNumber],
    number_of: impl Fn(&Path) -> Option<DeviceNumber>,
) -> Option<PathBuf> {
    mountinfo.split(|byte| *byte == b'\n').find_map(|line| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let (number, mount_point) = (fields.get(2)?, fields.get(4)?);
        let dash = fields.iter().position(|field| *field == b"-")?;
        let source = fields.get(dash + 2).filter(|source| source.starts_with(b"/dev/")).map(|source| unescape(source));
        let shown = std::str::from_utf8(number).ok().and_then(DeviceNumber::parse);
        let found = [shown, source.and_then(|source| number_of(&source))];
        found.iter().flatten().any(|number| devices.contains(number)).then(|| unescape(mount_point))
    })
}

/// A field of mountinfo with its octal escapes (`\040` for a space) resolved.
fn unescape(field: &[u8]) -> PathBuf {
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
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
        30 22 8:17 / /mnt/my\\040disk rw shared:2 - xfs /dev/sdb1 rw\n\
        31 22 0:44 / /pool rw - btrfs /dev/sdc rw\n\
        32 22 0:5 / /dev rw - devtmpfs devtmpfs rw\n";

    fn found(major: u32, minor: u32) -> Option<PathBuf> {
        mount_point_of(MOUNTS, &[DeviceNumber { major, minor }], |source| {
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
            return crate::skip::skip("the root file system has no device of its own");
        }
        assert!(mounted_at(number).is_some(), "{number}");
    }
}
