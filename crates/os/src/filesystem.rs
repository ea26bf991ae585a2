//! Identifies the file system of a path: its UUID or a substitute, and whether other machines may write to it.

use std::fs::{self, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// `FS_IOC_GETFSUUID` of Linux 6.9: `_IOR(0x15, 0, struct fsuuid2)`, of 17 bytes.
const GET_UUID: u32 = 0x8011_1500;
/// `f_type` of file systems that keep their files in memory: tmpfs, ramfs (<linux/magic.h>).
const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];
/// Where udev links the device of each UUID.
const BY_UUID: &str = "/dev/disk/by-uuid";

/// A length, followed by the bytes of a UUID.
#[repr(C)]
struct Uuid {
    length: u8,
    bytes: [u8; 16],
}

/// The UUID of the file system that holds `path`; if it reports none, the ID from `statfs`; `None` if that is missing
/// too.
pub fn identity(path: &Path) -> Option<String> {
    uuid(path).or_else(|| by_device(path)).or_else(|| {
        let number = rustix::fs::statvfs(path).ok()?.f_fsid;
        (number != 0).then(|| format!("{number:016x}"))
    })
}

/// Whether the files in `folder` exist only in memory.
pub fn is_in_memory(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|reported| IN_MEMORY.contains(&reported.f_type))
}

fn uuid(path: &Path) -> Option<String> {
    // Do not open pipes or devices for this.
    let kind = fs::metadata(path).ok()?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return None;
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let mut uuid = Uuid { length: 0, bytes: [0; 16] };
    // SAFETY: the request writes no more than the 17 bytes of `uuid`, which lives through the call.
    let reported = unsafe { libc::ioctl(file.as_raw_fd(), GET_UUID as _, &raw mut uuid) };
    let known = reported == 0 && uuid.length == 16 && uuid.bytes != [0; 16];
    known.then(|| in_groups(&uuid.bytes))
}

/// Formats a UUID in the usual groups of 8-4-4-4-12 digits.
fn in_groups(bytes: &[u8; 16]) -> String {
    let mut text = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            text.push('-');
        }
        text += &format!("{byte:02x}");
    }
    text
}

/// The UUID under which udev links the device that holds `path`.
fn by_device(path: &Path) -> Option<String> {
    let number = fs::metadata(path).ok()?.dev();
    let links = fs::read_dir(BY_UUID).ok()?.flatten();
    let mut same = links.filter(|link| fs::metadata(link.path()).is_ok_and(|device| device.rdev() == number));
    same.next()?.file_name().into_string().ok()
}

/// File systems with files that other machines, or programs outside the kernel, may change: `f_type` of statfs(2).
const SHARED: [i64; 15] = [
    0x6969,      // NFS
    0x517b,      // SMB
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x6573_5546, // FUSE
    0x0102_1997, // 9P
    0x00c3_6400, // Ceph
    0x5346_414f, // AFS
    0x6b41_4653, // kAFS
    0x7375_7245, // Coda
    0x0bd0_0bd0, // Lustre
    0x0116_1970, // GFS2
    0x7461_636f, // OCFS2
    0x4750_4653, // GPFS
    0x1983_0326, // BeeGFS
];

/// Whether only this machine's kernel changes the files in the file system that holds `path`. There the two kinds of
/// locks, flock(2) and fcntl(2), are independent; elsewhere they may be the same.
pub fn is_local(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|reported| !SHARED.contains(&reported.f_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_a_file_in_it_are_in_one_file_system() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(identity(folder.path()).is_some());
        assert_eq!(identity(&file), identity(folder.path()));
        assert_ne!(identity(Path::new("/proc")), identity(folder.path()));
        assert_eq!(identity(Path::new("/nowhere/at/all")), None);
    }

    #[test]
    fn a_folder_of_this_machine_is_local() {
        assert!(is_local(tempfile::tempdir().unwrap().path()));
        assert!(is_local(Path::new("/proc")));
        assert!(!is_local(Path::new("/nowhere/at/all")));
    }

    #[test]
    fn a_uuid_is_written_in_its_groups() {
        assert_eq!(in_groups(&std::array::from_fn(|at| at as u8)), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    }
}
