//! Finds out whether somebody else uses a file or device, and whether two paths lead to the same data.
//!
//! [`used_by`] returns the user of a path, under any of its names, as a [`Use`]. A [`BackingRange`] is the file or disk
//! under a path, found by following partitions and loop devices downwards.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::DeviceNumber;
use crate::generic_device::node_beside;
use crate::mounts::{mounted_at, unescaped};
use crate::overlay::other_names;
use crate::writers::{Writer, is_open_for_writing, we_write, writer};

/// Sector size in sysfs, whatever the device's own sector size.
const SECTOR_BYTES: u64 = 512;
/// Stacks of loop devices are followed down to this depth.
const DEEPEST: u32 = 12;
/// How many times, and how far apart, a file is looked at again that seems to be open where no process is seen.
const LET_GO_TRIES: u32 = 25;
const LET_GO_PAUSE: Duration = Duration::from_millis(20);
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
    /// Somebody holds a lock on it.
    Locked(LockHolder),
    /// A process has it open for writing.
    Open {
        /// ID of the process.
        process: u32,
        /// Name of the process.
        name: String,
    },
    /// A process has mapped it, so that what it stores in its memory goes to it.
    Mapped {
        /// ID of the process.
        process: u32,
        /// Name of the process.
        name: String,
    },
    /// It is open for writing where this process cannot look.
    OpenElsewhere,
}

/// Who holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockHolder {
    /// The process with this ID.
    Process(u32),
    /// An open file description, which belongs to no single process.
    OpenFile,
    /// Unknown.
    Another,
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
            Self::Locked(LockHolder::Process(process)) => write!(f, "is locked by process {process}"),
            Self::Locked(LockHolder::OpenFile) => f.write_str("is locked by an open file description (F_OFD_SETLK)"),
            Self::Locked(LockHolder::Another) => f.write_str("is locked by another process"),
            Self::Open { process, name } => write!(f, "is open for writing in process {process} ({name})"),
            Self::Mapped { process, name } => {
                write!(f, "is mapped for writing into the memory of process {process} ({name})")
            }
            Self::OpenElsewhere => f.write_str("is open for writing in a process that cannot be seen from here"),
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

/// Finds who else uses the file or device `path`, as far as this process can see; a file of an overlay by all of its
/// names.
///
/// # Errors
/// If it cannot be examined.
pub fn used_by(path: &Path) -> io::Result<Option<Use>> {
    let metadata = path.metadata()?;
    let others = if metadata.is_file() { other_names(path) } else { Vec::new() };
    let mut used = used_as(path, &metadata);
    for other in others {
        // A process that is named says more.
        if used.as_ref().is_none_or(|used| *used == Use::OpenElsewhere) {
            used = other.metadata().ok().and_then(|metadata| used_as(&other, &metadata)).or(used);
        }
    }
    Ok(used)
}

/// The use of a file or device by this name.
fn used_as(path: &Path, metadata: &Metadata) -> Option<Use> {
    let substance = BackingRange::below(metadata, DEEPEST)?;
    let kernel = loop_on(&substance, DeviceNumber::of(metadata.rdev())).or_else(|| swapped(&substance));
    kernel.or_else(|| locked(path, metadata)).or_else(|| written(path, metadata)).or_else(|| written_past(path))
}

/// Another process that can send NVMe commands to it, past the block layer.
fn written_past(path: &Path) -> Option<Use> {
    let generic = node_beside(path)?.metadata().ok()?;
    writer(&generic).map(|Writer { process, name, .. }| Use::Open { process, name })
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
    Some(Use::Locked(match holder_of_range(&file)? {
        0 => holder(metadata),
        number => LockHolder::of(number),
    }))
}

/// The number of the holder of a lock on any range of the file (`F_GETLK`): 0 if the kernel does not know it, -1 for an
/// open file description. `None` if there is no lock.
fn holder_of_range(file: &File) -> Option<i64> {
    // SAFETY: a lock of zeros is a valid one: all of the file, from its beginning.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    // SAFETY: the call reads and writes `lock`, which lives through it, and nothing else.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
    (asked == 0 && lock.l_type != libc::F_UNLCK as libc::c_short).then_some(lock.l_pid.into())
}

impl LockHolder {
    /// The holder that the kernel calls by this number.
    fn of(number: i64) -> Self {
        match u32::try_from(number) {
            Ok(process) if process > 0 => Self::Process(process),
            Err(_) => Self::OpenFile,
            Ok(_) => Self::Another,
        }
    }
}

/// The holder that the kernel's lock table names for this file.
fn holder(metadata: &Metadata) -> LockHolder {
    let device = DeviceNumber::of(metadata.dev());
    let ours = format!("{:02x}:{:02x}:{}", device.major, device.minor, metadata.ino());
    let table = fs::read_to_string("/proc/locks").unwrap_or_default();
    let named = table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().filter(|field| *field != "->").collect();
        let number: i64 = fields.get(4)?.parse().ok()?;
        (*fields.get(5)? == ours).then_some(LockHolder::of(number))
    });
    named.unwrap_or(LockHolder::Another)
}

/// Another process that can write to it.
fn written(path: &Path, metadata: &Metadata) -> Option<Use> {
    let open = is_open_for_writing(path, metadata);
    if open == Some(false) {
        return None;
    }
    if let Some(Writer { process, name, is_mapped }) = writer(metadata) {
        return Some(if is_mapped { Use::Mapped { process, name } } else { Use::Open { process, name } });
    }
    // The kernel lets go of the rings of a process that has ended only a moment later.
    let stays = || {
        (0..LET_GO_TRIES).all(|_| {
            std::thread::sleep(LET_GO_PAUSE);
            is_open_for_writing(path, metadata) == Some(true)
        })
    };
    (open == Some(true) && !we_write(metadata) && stays()).then_some(Use::OpenElsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

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
        let is_free = || used_by(&path).unwrap().is_none();
        assert!(crate::in_time(is_free), "{}", said_of(&path));
        let _own = OpenOptions::new().write(true).open(&path).unwrap();
        assert!(crate::in_time(is_free), "{}", said_of(&path));
    }

    /// A process that holds something until this is dropped.
    struct Holder(Child);

    impl Holder {
        /// Starts a command, and waits until it has said that it is ready; the error is what it said instead.
        fn start(command: &mut Command) -> Result<Self, String> {
            let child =
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
            let mut holder = Self(child);
            let said = holder.line();
            if said == "ready" { Ok(holder) } else { Err(said) }
        }

        fn shell(script: &str) -> Result<Self, String> {
            Self::start(Command::new("sh").args(["-c", script]))
        }

        /// Starts this program again for [`case_of_a_holder`].
        fn again(what: &str, path: &Path) -> Result<Self, String> {
            Self::start(Command::new(std::env::current_exe().unwrap()).args(CASE).env(WHAT, what).env(PATH, path))
        }

        /// The next line that begins with our mark.
        fn line(&mut self) -> String {
            let mut lines = BufReader::new(self.0.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
            let ours = lines.find_map(|line| Some(line.split_once(MARK)?.1.to_string()));
            ours.unwrap_or_else(|| "it ended".to_string())
        }
    }

    impl Drop for Holder {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    const MARK: &str = "held: ";
    const WHAT: &str = "HALFPOWER_HOLDS";
    const PATH: &str = "HALFPOWER_HELD";
    const CASE: [&str; 3] = ["--exact", "in_use::tests::case_of_a_holder", "--nocapture"];

    fn said_of(path: &Path) -> String {
        used_by(path).unwrap().map_or_else(String::new, |found| found.to_string())
    }

    /// Not a test of its own: what the processes do that [`Holder::again`] starts.
    #[test]
    fn case_of_a_holder() {
        let (Some(what), Some(path)) = (std::env::var_os(WHAT), std::env::var_os(PATH)) else { return };
        let held = path.clone();
        let open = move || OpenOptions::new().read(true).write(true).open(&held).unwrap();
        match what.to_str().unwrap() {
            "mapping" => {
                // SAFETY: nothing is read from it or stored to it.
                let mapping = unsafe { memmap2::MmapMut::map_mut(&open()).unwrap() };
                wait_for_the_end("ready", mapping);
            }
            "thread" => std::thread::spawn(move || {
                // SAFETY: the call takes a number alone; from now on this thread has descriptors of its own.
                assert_eq!(unsafe { libc::unshare(libc::CLONE_FILES) }, 0);
                wait_for_the_end("ready", open());
            })
            .join()
            .unwrap(),
            "lock" => {
                let file = open();
                // SAFETY: a lock of zeros is a valid one.
                let mut lock: libc::flock = unsafe { std::mem::zeroed() };
                lock.l_type = libc::F_WRLCK as libc::c_short;
                // SAFETY: the call reads `lock`, which lives through it.
                assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }, 0);
                wait_for_the_end("ready", file);
            }
            _ => wait_for_the_end(&said_of(Path::new(&path)), ()),
        }
    }

    /// Says something, and waits until it is killed.
    fn wait_for_the_end<T>(said: &str, _held: T) {
        println!("{MARK}{said}");
        let _ = io::stdin().read_line(&mut String::new());
        std::thread::sleep(std::time::Duration::from_secs(3600));
    }

    #[test]
    fn locks_and_writers_of_other_processes_are_seen() {
        let (_folder, path) = file();
        let quoted = path.display();
        // The first shell opens the file only for reading, and its lock is one of flock(2).
        for (script, expected) in [
            (format!("exec 9<{quoted}; flock 9; echo '{MARK}ready'; read x"), "is locked by process"),
            (format!("exec 9<>{quoted}; echo '{MARK}ready'; read x"), "is open for writing in process"),
        ] {
            let _holder = Holder::shell(&script).unwrap();
            assert!(crate::in_time(|| said_of(&path).contains(expected)), "{expected}: {:?}", said_of(&path));
        }
        for (what, expected) in [
            ("mapping", "is mapped for writing into the memory of process"),
            ("thread", "is open for writing in process"),
            ("lock", "is locked by an open file description"),
        ] {
            let _holder = Holder::again(what, &path).unwrap();
            assert!(crate::in_time(|| said_of(&path).contains(expected)), "{what}: {:?}", said_of(&path));
        }
        assert!(crate::in_time(|| used_by(&path).unwrap().is_none()), "{}", said_of(&path));
    }

    #[test]
    fn a_file_of_an_overlay_is_one_by_all_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().display();
        let made = ["low", "up", "work", "merged"].map(|name| fs::create_dir(folder.path().join(name)));
        made.into_iter().for_each(Result::unwrap);
        let upper = folder.path().join("up/data");
        let merged = folder.path().join("merged/data");
        fs::write(&upper, vec![1; 1 << 16]).unwrap();
        let mounts = format!(
            "mount --make-rprivate / && mount -t overlay overlay -o \
             lowerdir={here}/low,upperdir={here}/up,workdir={here}/work {here}/merged"
        );
        let inside = |script: &str| {
            let mut shell = Command::new("unshare");
            shell.args(["--mount", "sh", "-c", &format!("{mounts} && {script}")]).stderr(Stdio::null());
            shell
        };
        let open = |path: &Path| format!("exec 9<>{}; echo '{MARK}ready'; read x", path.display());
        // Held by its merged name in another namespace, and named by the file below.
        match Holder::start(&mut inside(&open(&merged))) {
            Ok(_holder) => assert!(said_of(&upper).contains("is open for writing in process"), "{}", said_of(&upper)),
            Err(why) => return crate::skip(&format!("no overlay can be mounted here, which needs root: {why}")),
        }
        assert!(crate::in_time(|| used_by(&upper).unwrap().is_none()), "{}", said_of(&upper));
        // The reverse.
        let again = format!("exec {} {}", std::env::current_exe().unwrap().display(), CASE.join(" "));
        let asked = |expected: &str| {
            let said = Holder::start(inside(&again).env(WHAT, "question").env(PATH, &merged)).err().unwrap();
            assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{said:?}");
        };
        asked("");
        let _holder = Holder::shell(&open(&upper)).unwrap();
        asked("is open for writing in process");
    }
}
