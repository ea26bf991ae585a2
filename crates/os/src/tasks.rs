//! Reads what `/proc` and control groups tell of processes, their threads and the files that they have open.
//!
//! Paths are below a root: `/` on a machine, a folder where a test lays the files out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::DeviceNumber;
use crate::processes::ids_in;
use crate::processor::ticks_a_second;

/// Control groups are searched down to this depth.
const DEEPEST: u32 = 32;
/// Fields of `stat` after the name, which counts as the second: state, parent, time in user mode and in the kernel, the same of
/// children that were waited for, and the time that block I/O was waited for (proc_pid_stat(5)).
const STATE: usize = 0;
const PARENT: usize = 1;
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;
const CHILDREN_USER_TICKS: usize = 13;
const CHILDREN_SYSTEM_TICKS: usize = 14;
const BLOCK_IO_TICKS: usize = 39;
/// File systems whose files hold no data (`linux/magic.h`): proc, sysfs, tracefs, debugfs, securityfs, cgroup, cgroup2, nsfs,
/// anonymous inodes, bpf, mqueue.
const WITHOUT_DATA: [u32; 11] = [
    0x9fa0,
    0x6265_6572,
    0x7472_6163,
    0x6462_6720,
    0x7363_6673,
    0x0027_e0eb,
    0x6367_7270,
    0x6e73_6673,
    0x0904_1934,
    0xcafe_4a11,
    0x1980_0202,
];

/// A thread of a process, as the kernel counts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The process.
    pub pid: u32,
    /// The process that started it, or that took it over.
    pub parent: u32,
    /// Name of the thread; that of the first thread is the program's, if it did not change it.
    pub name: String,
    /// Path of its control group: of the unified hierarchy, or of an older one where it is in the root of that.
    pub cgroup: String,
    /// Processor time of the thread, in nanoseconds.
    pub processor_ns: u64,
    /// Processor time of the children of its process that have ended and were waited for, and of theirs, in nanoseconds. It
    /// stands at the first thread of a process alone, and is 0 at the others.
    pub children_ns: u64,
    /// Time that the thread was ready and waited for a processor, in nanoseconds; `None` if the kernel does not count it.
    pub run_queue_ns: Option<u64>,
    /// Time that the thread waited for block I/O, in nanoseconds; `None` if the kernel does not count it
    /// (`kernel.task_delayacct` is 0).
    pub block_io_ns: Option<u64>,
    /// Bytes that the whole process made disks read, with those of children that have ended and were waited for. It stands at
    /// the first thread of a process alone, and is 0 at the others, so that a sum over threads counts it once. 0 if it cannot be
    /// read.
    pub read_bytes: u64,
    /// As `read_bytes`, bytes to be written to disks.
    pub write_bytes: u64,
    /// Whether these bytes can be read: one's own processes', or as root. `true` at all other threads.
    pub tells_bytes: bool,
    /// `false` if it has ended, and only its parent has not taken notice.
    pub exists: bool,
}

/// A file or a block device that a process has open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFile {
    /// Its path, as the kernel tells it: of a file that was removed it ends with ` (deleted)`.
    pub path: PathBuf,
    /// Whether it is open with `O_DIRECT`.
    pub direct: bool,
    /// Whether writes are durable when they return (`O_DSYNC` or `O_SYNC`).
    pub durable: bool,
    /// Whether writes go to its end (`O_APPEND`).
    pub append: bool,
    /// The position at which `read` and `write` go on, in bytes.
    pub position: u64,
    /// The device of its file system; of a block device, its own number.
    pub device: DeviceNumber,
    /// Its inode.
    pub inode: u64,
    /// Whether it is a block device.
    pub is_block_device: bool,
}

/// Time that tasks waited for a resource (pressure stall information).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PressureTime {
    /// `io`, `cpu` or `memory`.
    pub resource: String,
    /// Time that some task waited, in nanoseconds.
    pub some_ns: u64,
    /// Time that all tasks waited that were not idle, in nanoseconds; `None` if the kernel does not count it, as that of a whole
    /// machine for its processors.
    pub full_ns: Option<u64>,
}

/// The processes in a control group and the groups in it, in ascending order. The folder is that of the group, below the root
/// or as a path of the machine.
pub fn processes_of_group(root: &Path, folder: &Path) -> Vec<u32> {
    let mut found = BTreeSet::new();
    gather(root, &below(root, folder), 0, &mut found);
    found.into_iter().collect()
}

fn gather(root: &Path, folder: &Path, depth: u32, found: &mut BTreeSet<u32>) {
    match fs::read_to_string(folder.join("cgroup.procs")) {
        Ok(text) => found.extend(numbers(&text)),
        // A group of threads does not list processes.
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            let threads = fs::read_to_string(folder.join("cgroup.threads")).unwrap_or_default();
            found.extend(numbers(&threads).filter_map(|thread| process_of(root, thread)));
        }
        Err(_) => {}
    }
    // Processes that this one cannot see are listed as 0.
    found.remove(&0);
    if depth == DEEPEST {
        return;
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        gather(root, &entry.path(), depth + 1, found);
    }
}

/// A path of the machine, below the root.
fn below(root: &Path, path: &Path) -> PathBuf {
    if path.starts_with(root) { path.to_path_buf() } else { root.join(path.strip_prefix("/").unwrap_or(path)) }
}

fn numbers(text: &str) -> impl Iterator<Item = u32> {
    text.split_whitespace().filter_map(|word| word.parse().ok())
}

/// The process of a thread.
fn process_of(root: &Path, thread: u32) -> Option<u32> {
    let status = fs::read_to_string(root.join(format!("proc/{thread}/status"))).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
}

/// The processes that a process started, and those that these started, in ascending order, without the process itself.
pub fn descendants(root: &Path, pid: u32) -> Vec<u32> {
    let mut found = BTreeSet::new();
    let mut open = vec![pid];
    let mut table = None;
    while let Some(parent) = open.pop() {
        let children = children(root, parent).unwrap_or_else(|| {
            let table: &BTreeMap<u32, Vec<u32>> = table.get_or_insert_with(|| by_parent(root));
            table.get(&parent).cloned().unwrap_or_default()
        });
        open.extend(children.into_iter().filter(|child| *child != pid && found.insert(*child)));
    }
    found.into_iter().collect()
}

/// The children of a process; `None` if the kernel does not list them (CONFIG_PROC_CHILDREN).
fn children(root: &Path, pid: u32) -> Option<Vec<u32>> {
    let process = root.join(format!("proc/{pid}"));
    if !process.is_dir() {
        return Some(Vec::new());
    }
    let lists = threads(root, pid).into_iter().map(|thread| process.join(format!("task/{thread}/children")));
    let texts: Vec<String> = lists.filter_map(|list| fs::read_to_string(list).ok()).collect();
    (!texts.is_empty()).then(|| texts.iter().flat_map(|text| numbers(text)).collect())
}

/// The children of all processes, by their parents.
fn by_parent(root: &Path) -> BTreeMap<u32, Vec<u32>> {
    let mut table = BTreeMap::<u32, Vec<u32>>::new();
    for pid in ids_in(&root.join("proc")) {
        let parent = Stat::read(&root.join(format!("proc/{pid}"))).and_then(|stat| stat.number(PARENT));
        if let Some(parent) = parent.and_then(|parent| u32::try_from(parent).ok()) {
            table.entry(parent).or_default().push(pid);
        }
    }
    table
}

/// The threads of a process, in ascending order; none if it has ended.
pub fn threads(root: &Path, pid: u32) -> Vec<u32> {
    let mut found: Vec<u32> = ids_in(&root.join(format!("proc/{pid}/task"))).collect();
    found.sort_unstable();
    found
}

/// The name and the fields of a `stat` file.
struct Stat {
    name: String,
    fields: Vec<String>,
}

impl Stat {
    /// Reads the file in the folder of a process or a thread.
    fn read(folder: &Path) -> Option<Self> {
        let bytes = fs::read(folder.join("stat")).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        // The name may hold anything, parentheses too.
        let (before, after) = text.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        Some(Self { name: name.to_string(), fields: after.split_whitespace().map(str::to_string).collect() })
    }

    fn number(&self, field: usize) -> Option<u64> {
        self.fields.get(field)?.parse().ok()
    }

    /// A number of clock ticks, in nanoseconds.
    fn time_ns(&self, field: usize) -> Option<u64> {
        Some(self.number(field)?.saturating_mul(1_000_000_000 / ticks_a_second().max(1)))
    }

    /// Whether the thread has ended: a zombie, or dead.
    fn has_ended(&self) -> bool {
        self.fields.get(STATE).is_some_and(|state| matches!(state.as_str(), "Z" | "X" | "x"))
    }
}

/// What the kernel counts of a thread of a process; `None` if it is not there. The first thread of a process has its ID.
pub fn task(root: &Path, pid: u32, thread: u32) -> Option<Task> {
    let process = root.join(format!("proc/{pid}"));
    let own = process.join(format!("task/{thread}"));
    let folder = if thread == pid && !own.is_dir() { process.clone() } else { own };
    let stat = Stat::read(&folder)?;
    let ticks_ns = stat.time_ns(USER_TICKS)?.saturating_add(stat.time_ns(SYSTEM_TICKS)?);
    let scheduled = scheduled(&fs::read_to_string(folder.join("schedstat")).unwrap_or_default());
    let is_first = thread == pid;
    let bytes = if is_first { bytes_of(&process) } else { Some([0; 2]) };
    let [read_bytes, write_bytes] = bytes.unwrap_or_default();
    let of_children = [CHILDREN_USER_TICKS, CHILDREN_SYSTEM_TICKS].map(|field| stat.time_ns(field).unwrap_or(0));
    Some(Task {
        pid,
        parent: stat.number(PARENT).and_then(|parent| parent.try_into().ok()).unwrap_or(0),
        cgroup: cgroup(&fs::read_to_string(folder.join("cgroup")).unwrap_or_default()),
        processor_ns: scheduled.map_or(ticks_ns, |[running_ns, _]| running_ns),
        children_ns: if is_first { of_children.iter().sum() } else { 0 },
        run_queue_ns: scheduled.map(|[_, ready_ns]| ready_ns),
        block_io_ns: stat.time_ns(BLOCK_IO_TICKS).filter(|waited_ns| counts_delays(root, *waited_ns)),
        read_bytes,
        write_bytes,
        tells_bytes: bytes.is_some(),
        exists: !stat.has_ended(),
        name: stat.name,
    })
}

/// Times that a thread ran and was ready to run, in nanoseconds; `None` if the kernel does not count them, which it shows by
/// zeros.
fn scheduled(schedstat: &str) -> Option<[u64; 2]> {
    let numbers: Vec<u64> = schedstat.split_whitespace().map_while(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        [0, 0, 0] => None,
        [running_ns, ready_ns, _] => Some([*running_ns, *ready_ns]),
        _ => None,
    }
}

/// Whether the kernel counts the time that is waited for block I/O. Kernels before 5.14 have no switch: there it is told by what
/// they counted of the thread, or of the first process, which has read from disks.
fn counts_delays(root: &Path, waited_ns: u64) -> bool {
    let switch = fs::read_to_string(root.join("proc/sys/kernel/task_delayacct"));
    let of_first = || Stat::read(&root.join("proc/1")).and_then(|stat| stat.number(BLOCK_IO_TICKS)).unwrap_or(0);
    switch.map_or_else(|_| waited_ns > 0 || of_first() > 0, |text| text.trim() != "0")
}

/// Bytes that a process made disks read and write; `None` if that cannot be read.
fn bytes_of(process: &Path) -> Option<[u64; 2]> {
    let text = fs::read_to_string(process.join("io")).ok()?;
    let bytes = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some([bytes("read_bytes:")?, bytes("write_bytes:")?])
}

/// The path of a control group, from the file `cgroup` of a process.
fn cgroup(text: &str) -> String {
    let groups: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')).collect();
    // The line of the unified hierarchy names no controller. Of the older ones, that which limits disks comes first.
    let of = |wanted: &str| {
        let has = |controllers: &str| controllers.split(',').any(|controller| controller == wanted);
        groups.iter().find(|(controllers, path)| has(controllers) && *path != "/").map(|(_, path)| *path)
    };
    let found = ["", "blkio", "cpu", "memory", "name=systemd"].into_iter().find_map(of);
    found.unwrap_or("/").to_string()
}

/// A file or a block device that a process has open by this descriptor; `None` if there is none, and for all that holds no
/// data: sockets, pipes, terminals, files of the kernel, other devices.
pub fn open_file(root: &Path, pid: u32, fd: u32) -> Option<OpenFile> {
    let process = root.join(format!("proc/{pid}"));
    let link = process.join(format!("fd/{fd}"));
    let metadata = fs::metadata(&link).ok()?;
    if !holds_data(&link, &metadata) {
        return None;
    }
    let told = fs::read_to_string(process.join(format!("fdinfo/{fd}"))).ok()?;
    let value = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let flags = i32::from_str_radix(value("flags:")?, 8).ok()?;
    let is_block_device = metadata.file_type().is_block_device();
    Some(OpenFile {
        path: fs::read_link(&link).ok()?,
        direct: flags & libc::O_DIRECT != 0,
        durable: flags & libc::O_DSYNC != 0,
        append: flags & libc::O_APPEND != 0,
        position: value("pos:")?.parse().ok()?,
        device: DeviceNumber::of(if is_block_device { metadata.rdev() } else { metadata.dev() }),
        inode: metadata.ino(),
        is_block_device,
    })
}

fn holds_data(link: &Path, metadata: &Metadata) -> bool {
    if metadata.file_type().is_block_device() {
        return true;
    }
    metadata.is_file() && rustix::fs::statfs(link).is_ok_and(|found| !WITHOUT_DATA.contains(&(found.f_type as u32)))
}

/// The pressure that a folder tells: `/proc/pressure`, or that of a control group of the unified hierarchy. Resources that it
/// does not tell are left out.
pub fn pressure(folder: &Path) -> Vec<PressureTime> {
    let of = |resource: &str| {
        let of_group = fs::read_to_string(folder.join(format!("{resource}.pressure")));
        // Of a whole machine it says 0 since Linux 5.13, and means nothing: some task always has a processor (`psi.rst`).
        let means_full = of_group.is_ok() || resource != "cpu";
        let text = of_group.or_else(|_: io::Error| fs::read_to_string(folder.join(resource))).ok()?;
        Some(PressureTime {
            resource: resource.to_string(),
            some_ns: total_ns(&text, "some ")?,
            full_ns: total_ns(&text, "full ").filter(|_| means_full),
        })
    };
    ["io", "cpu", "memory"].into_iter().filter_map(of).collect()
}

/// The time in a line such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=12`, which the kernel tells in microseconds.
fn total_ns(text: &str, kind: &str) -> Option<u64> {
    let words = text.lines().find_map(|line| line.strip_prefix(kind))?;
    let total = words.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1_000)
}

#[cfg(test)]
mod tests;
