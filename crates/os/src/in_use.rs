//! Finds out whether somebody else uses a file or device, and whether two paths lead to the same data.
//!
//! [`used_by`] returns the user of a path as a [`Use`]. A [`BackingRange`] is the file or disk under a path, found by
//! following partitions and loop devices downwards.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::process::{Flock, FlockType, fcntl_getlk};

use crate::DeviceNumber;
use crate::mounts::{mounted_at, unescaped};

/// Sector size in sysfs, whatever the device's own sector size.
const SECTOR_BYTES: u64 = 512;
/// Stacks of loop devices are followed down to this depth.
const DEEPEST: u32 = 12;
/// The `ioctl` that asks a loop device for its backing file (`linux/loop.h`).
const LOOP_GET_STATUS64: u32 = 0x4c05;

/// Who uses a file or a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// A loop device is backed by it.
    Loop {
        /// The loop device.
        device: PathBuf,
        /// Where the loop device or a partition of it is mounted.
        mounted: Option<PathBuf>,
    },
    /// A loop device beneath it is mounted.
    Mounted(PathBuf),
    /// The kernel swaps to it.
    Swap,
    /// A process holds a lock on it; its ID, if known.
    Locked(Option<u32>),
    /// A process has it open for writing.
    Open {
        /// ID of the process.
        process: u32,
        /// Name of the process.
        name: String,
    },
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop { device, mounted: Some(point) } => {
                write!(f, "holds the data of {}, which is mounted at {}", device.display(), point.display())
            }
            Self::Loop { device, mounted: None } => write!(f, "holds the data of the loop device {}", device.display()),
            Self::Mounted(point) => write!(f, "holds data that is mounted at {}", point.display()),
            Self::Swap => f.write_str("is swapped to"),
            Self::Locked(Some(process)) => write!(f, "is locked by process {process}"),
            Self::Locked(None) => f.write_str("is locked by another process"),
            Self::Open { process, name } => write!(f, "is open for writing in process {process} ({name})"),
        }
    }
}

/// The bytes that a path leads to: a range of a file or of a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackingRange {
    on: On,
    bytes: Range<u64>,
    /// Loop devices passed on the way down.
    through: Vec<DeviceNumber>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    /// A file, by the device number of its file system and its inode.
    File(u64, u64),
    /// A disk.
    Disk(DeviceNumber),
}

impl BackingRange {
    /// The bytes under `path`; `None` if it is neither a file nor a block device, or cannot be examined.
    pub fn of(path: &Path) -> Option<Self> {
        Self::below(&path.metadata().ok()?, DEEPEST)
    }

    fn below(metadata: &Metadata, deepest: u32) -> Option<Self> {
        let whole = |on| Self { on, bytes: 0..u64::MAX, through: Vec::new() };
        if metadata.is_file() {
            return Some(whole(On::File(metadata.dev(), metadata.ino())));
        }
        if !metadata.file_type().is_block_device() {
            return None;
        }
        let number = DeviceNumber::of(metadata.rdev());
        let folder = number.sysfs();
        let in_sectors = |file: &str| -> Option<u64> {
            Some(fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok()?.saturating_mul(SECTOR_BYTES))
        };
        let size = in_sectors("size").unwrap_or(u64::MAX);
        if folder.join("partition").exists() {
            let start = in_sectors("start").unwrap_or(0);
            let disk = DeviceNumber::in_folder(&folder.join(".."))?;
            return Some(Self::of_number(disk, deepest).unwrap_or_else(|| whole(On::Disk(disk))).part(start, size));
        }
        Some(Self::of_number(number, deepest).unwrap_or_else(|| whole(On::Disk(number))))
    }

    /// The bytes under a loop device; `None` for any other device, or if nothing is attached.
    fn of_number(number: DeviceNumber, deepest: u32) -> Option<Self> {
        let folder = number.sysfs();
        let text = |file: &str| fs::read_to_string(folder.join("loop").join(file)).ok();
        let file = text("backing_file")?;
        let file = Path::new(file.strip_suffix('\n').unwrap_or(&file));
        let number_of = |file| text(file).and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
        let offset = number_of("offset");
        let limit = number_of("sizelimit");
        let below = match told_by(&folder) {
            // The device still knows a backing file that was renamed or removed.
            Some((device, inode, 0)) => Some(Self { on: On::File(device, inode), bytes: 0..u64::MAX, through: vec![] }),
            _ if deepest == 0 => None,
            _ => file.metadata().ok().and_then(|metadata| Self::below(&metadata, deepest - 1)),
        };
        let mut part = below?.part(offset, if limit == 0 { u64::MAX } else { limit });
        part.through.push(number);
        Some(part)
    }

    fn part(self, from: u64, bytes: u64) -> Self {
        let start = self.bytes.start.saturating_add(from);
        Self { bytes: start..self.bytes.end.min(start.saturating_add(bytes)), ..self }
    }

    /// Whether both share at least one byte.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.on == other.on && self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end
    }
}

/// Device, inode and own number (0 for a file) of the backing file, as reported by the loop device in this folder.
fn told_by(folder: &Path) -> Option<(u64, u64, u64)> {
    let name = fs::canonicalize(folder).ok()?.file_name()?.to_os_string();
    let device =
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(Path::new("/dev").join(name)).ok()?;
    // struct loop_info64 has 232 bytes and begins with these three numbers.
    let mut reported = [0_u64; 29];
    // SAFETY: the request writes the 232 bytes of `reported`, which lives through the call.
    let done = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64 as _, reported.as_mut_ptr()) };
    (done == 0).then_some((reported[0], reported[1], reported[2]))
}

/// Finds who else uses the file or device `path`, as far as this process can see.
///
/// # Errors
/// If it cannot be examined.
pub fn used_by(path: &Path) -> io::Result<Option<Use>> {
    let metadata = path.metadata()?;
    let Some(substance) = BackingRange::below(&metadata, DEEPEST) else { return Ok(None) };
    let kernel = loop_on(&substance, DeviceNumber::of(metadata.rdev())).or_else(|| swapped(&substance));
    Ok(kernel.or_else(|| locked(path, &metadata)).or_else(|| written(&metadata)))
}

/// A loop device over the same bytes, other than `own` and those passed on the way down.
fn loop_on(substance: &BackingRange, own: DeviceNumber) -> Option<Use> {
    if let Some(point) =
        substance.through.iter().filter(|number| **number != own).find_map(|number| mounted_at(*number))
    {
        return Some(Use::Mounted(point));
    }
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let mut uses: Vec<Use> = entries
        .filter(|entry| entry.path().join("loop").is_dir())
        .filter_map(|entry| {
            let number = DeviceNumber::in_folder(&entry.path())?;
            let beneath = BackingRange::of_number(number, DEEPEST)?;
            let between = number == own || substance.through.contains(&number);
            (!between && beneath.overlaps(substance))
                .then(|| Use::Loop { device: Path::new("/dev").join(entry.file_name()), mounted: mounted_at(number) })
        })
        .collect();
    // A mounted device says more than an attached one.
    uses.sort_by_key(|found| !matches!(found, Use::Loop { mounted: Some(_), .. }));
    uses.into_iter().next()
}

fn swapped(substance: &BackingRange) -> Option<Use> {
    let swaps = fs::read("/proc/swaps").ok()?;
    let mut places = swaps.split(|byte| *byte == b'\n').skip(1).map(|line| {
        let end = line.iter().position(|byte| *byte == b' ' || *byte == b'\t').unwrap_or(line.len());
        PathBuf::from(OsString::from_vec(unescaped(&line[..end])))
    });
    let same = |place: PathBuf| BackingRange::of(&place).is_some_and(|swap| swap.overlaps(substance));
    places.any(same).then_some(Use::Swap)
}

/// A lock of either kind held by another process. A file that cannot be checked counts as free.
fn locked(path: &Path, metadata: &Metadata) -> Option<Use> {
    if !metadata.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    if matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)) {
        return Some(Use::Locked(holder(metadata)));
    }
    let held = fcntl_getlk(&file, &Flock::from(FlockType::WriteLock)).ok()??;
    Some(Use::Locked(held.pid.map(|process| process.as_raw_nonzero().get() as u32).or_else(|| holder(metadata))))
}

/// The process that the kernel's lock table names for this file.
fn holder(metadata: &Metadata) -> Option<u32> {
    let device = DeviceNumber::of(metadata.dev());
    let ours = format!("{:02x}:{:02x}:{}", device.major, device.minor, metadata.ino());
    let table = fs::read_to_string("/proc/locks").ok()?;
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().filter(|field| *field != "->").collect();
        let process: i64 = fields.get(4)?.parse().ok()?;
        (*fields.get(5)? == ours).then(|| u32::try_from(process).ok()).flatten()
    })
}

/// Another process that has it open for writing.
fn written(metadata: &Metadata) -> Option<Use> {
    let own = std::process::id();
    let same = |other: &Metadata| match metadata.file_type().is_block_device() {
        true => other.file_type().is_block_device() && other.rdev() == metadata.rdev(),
        false => (other.dev(), other.ino()) == (metadata.dev(), metadata.ino()),
    };
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    processes.filter(|process| *process != own).find_map(|process| {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let mut open = fs::read_dir(folder.join("fd")).ok()?.flatten();
        open.find(|link| {
            fs::metadata(link.path()).is_ok_and(|other| same(&other)) && writes(&folder, &link.file_name())
        })?;
        let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
        Some(Use::Open { process, name: name.trim().to_string() })
    })
}

/// Whether a descriptor of a process permits writing.
fn writes(process: &Path, descriptor: &std::ffi::OsStr) -> bool {
    let reported = fs::read_to_string(process.join("fdinfo").join(descriptor)).unwrap_or_default();
    let flags = reported.lines().find_map(|line| i32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        fs::write(&path, vec![1; 1 << 16]).unwrap();
        (folder, path)
    }

    #[test]
    fn a_hard_link_and_a_symbolic_link_are_the_same_data() {
        let (folder, path) = file();
        let hard = folder.path().join("hard");
        let soft = folder.path().join("soft");
        let copy = folder.path().join("copy");
        fs::hard_link(&path, &hard).unwrap();
        std::os::unix::fs::symlink(&path, &soft).unwrap();
        fs::copy(&path, &copy).unwrap();
        let of = |path: &Path| BackingRange::of(path).unwrap();
        assert!(of(&path).overlaps(&of(&hard)) && of(&path).overlaps(&of(&soft)));
        assert!(!of(&path).overlaps(&of(&copy)));
        assert_eq!(BackingRange::of(folder.path()), None);
    }

    #[test]
    fn parts_that_do_not_meet_are_not_the_same_data() {
        let (_folder, path) = file();
        let whole = BackingRange::of(&path).unwrap();
        let low = whole.clone().part(0, 4096);
        let high = whole.clone().part(4096, 4096);
        assert!(!low.overlaps(&high) && whole.overlaps(&high));
        assert!(high.overlaps(&whole.part(4096, u64::MAX)));
    }

    #[test]
    fn a_file_that_nobody_uses_is_free_and_one_that_we_have_open_too() {
        let (_folder, path) = file();
        assert_eq!(used_by(&path).unwrap(), None);
        let _own = OpenOptions::new().write(true).open(&path).unwrap();
        assert_eq!(used_by(&path).unwrap(), None);
    }

    #[test]
    fn locks_and_writers_of_other_processes_are_seen() {
        let (_folder, path) = file();
        let quoted = path.display();
        // The first shell opens the file only for reading, and its lock is one of flock(2).
        let cases = [
            (format!("exec 9<{quoted}; flock 9; echo; read x"), "is locked"),
            (format!("exec 9<>{quoted}; echo; read x"), "is open for writing"),
        ];
        for (script, expected) in cases {
            let mut shell = Command::new("sh");
            shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = shell.spawn().unwrap();
            let mut ready = [0];
            io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
            let found = used_by(&path).unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            let found = found.map_or_else(String::new, |found| found.to_string());
            assert!(found.contains(expected), "{expected}: {found:?}");
        }
        assert_eq!(used_by(&path).unwrap(), None);
    }
}
