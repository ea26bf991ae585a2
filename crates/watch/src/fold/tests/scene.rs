//! Lays out events as the kernel would tell them, with times in microseconds.

use std::collections::BTreeMap;
use std::ops::Range;

use halfpower_os::trace::{Call, CommitStep, Happening, Rwbs, Seen, Step};
use halfpower_record::{Captured, Watched};

use crate::fold::capture::Capture;
use crate::fold::{FileSeen, Files, Fold, Sources, Who};

/// The subject's process; its threads begin at [`THREAD`], up to 19, and at [`MANY`].
pub const PROCESS: u32 = 10;
pub const THREAD: u32 = 11;
pub const MANY: u32 = 1_000_000;
/// A thread of another process, the journal's, a worker of the kernel, and threads of an encrypted volume and of an array.
pub const OTHER: u32 = 71;
pub const JOURNAL: u32 = 77;
pub const WORKER: u32 = 88;
pub const ENCRYPTS: u32 = 89;
pub const ARRAY: u32 = 90;
/// Descriptors: a file with direct I/O of 1 MiB, a plain one whose position is at its end, and a socket.
pub const DIRECT: u64 = 3;
pub const PLAIN: u64 = 4;
pub const SOCKET: u64 = 5;
/// The device of the file system.
pub const DEVICE: u64 = 0xfe00;

/// Microseconds in nanoseconds.
pub const fn us(us: u64) -> u64 {
    us * 1000
}

/// When the watch begins.
const BEGAN_NS: u64 = 5_000_000_000;

/// What is known of files and threads.
pub struct Known {
    pub files: BTreeMap<(u32, u32), FileSeen>,
}

impl Files for Known {
    fn process_of(&mut self, thread: u32) -> Option<u32> {
        ((THREAD..20).contains(&thread) || thread >= MANY).then_some(PROCESS)
    }

    fn file(&mut self, process: u32, fd: u32) -> Option<FileSeen> {
        self.files.get(&(process, fd)).copied()
    }

    fn name(&mut self, process: u32, fd: u32) -> Option<String> {
        Some(format!("/proc/{process}/fd/{fd}"))
    }

    fn place_on(&mut self, disk: usize) -> Option<usize> {
        (disk == 0).then_some(0)
    }

    fn who(&mut self, thread: u32) -> Option<Who> {
        let who = |name: &str, pid: u32, cgroup: &str| Who { name: name.into(), pid, cgroup: cgroup.into() };
        match thread {
            OTHER => Some(who("rsync", 70, "/backup")),
            JOURNAL => Some(who("jbd2/vda-8", 0, "")),
            WORKER => Some(who("kworker/1:0H", 0, "")),
            ENCRYPTS => Some(who("dmcrypt_write/2", 0, "")),
            ARRAY => Some(who("md0_raid5", 0, "")),
            _ => None,
        }
    }
}

/// Events, and the fold that takes them.
pub struct Scene {
    pub fold: Fold,
    pub known: Known,
    events: Vec<Seen>,
    is_open: bool,
}

fn name_of(thread: u32) -> [u8; 16] {
    let name: &[u8] = match thread {
        JOURNAL => b"jbd2/vda-8",
        WORKER => b"kworker/1:0H",
        ENCRYPTS => b"dmcrypt_write/2",
        ARRAY => b"md0_raid5",
        _ => b"program",
    };
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name);
    bytes
}

fn rwbs(letters: &str) -> Rwbs {
    let after = letters.strip_prefix('F').unwrap_or(letters);
    Rwbs {
        writes: after.starts_with('W'),
        reads: after.starts_with('R'),
        flush: letters.starts_with('F'),
        fua: after[1..].contains('F'),
        sync: after.contains('S'),
        ahead: after.contains('A'),
        discard: after.starts_with('D'),
        ..Rwbs::default()
    }
}

impl Scene {
    pub fn new() -> Self {
        Self::begun(Fold::new(BEGAN_NS, Sources::default()))
    }

    /// A scene whose operations are kept.
    pub fn kept(capture: Capture) -> Self {
        let mut fold = Fold::new(BEGAN_NS, Sources::default());
        fold.state.capture = Some(capture);
        Self::begun(fold)
    }

    fn begun(mut fold: Fold) -> Self {
        fold.disks(&["vda".to_string()]);
        fold.begin_slice(BEGAN_NS);
        let file = FileSeen { place: Some(0), disks: 1, device: DEVICE, inode: 1, ..FileSeen::default() };
        let direct = FileSeen { direct: true, bytes: Some(1 << 20), ..file };
        let plain = FileSeen { inode: 2, position: 8192, bytes: Some(8192), ..file };
        let files = BTreeMap::from([((PROCESS, DIRECT as u32), direct), ((PROCESS, PLAIN as u32), plain)]);
        Self { fold, known: Known { files }, events: Vec::new(), is_open: true }
    }

    pub fn add(&mut self, at: u64, thread: u32, what: Happening) {
        self.events.push(Seen { at_ns: BEGAN_NS + us(at), cpu: 0, thread, in_interrupt: thread == 0, what });
    }

    pub fn began(&mut self, at: u64, thread: u32, call: Call, args: [u64; 4]) {
        let [a, b, c, d] = args;
        self.add(at, thread, Happening::CallBegan { call, args: [a, b, c, d, 0, 0] });
    }

    pub fn ended(&mut self, at: u64, thread: u32, call: Call, result: i64) {
        self.add(at, thread, Happening::CallEnded { call, result });
    }

    pub fn out(&mut self, at: u64, thread: u32, state: u64) {
        self.add(at, thread, Happening::SwitchedOut { thread, state });
    }

    pub fn back(&mut self, at: u64, thread: u32) {
        self.add(at, 1, Happening::SwitchedIn { thread });
    }

    pub fn woken(&mut self, at: u64, thread: u32) {
        self.add(at, 0, Happening::Woken { thread });
    }

    pub fn step(&mut self, at: u64, thread: u32, step: Step, sectors: Range<u64>, letters: &str) {
        let name = name_of(thread);
        self.add(at, thread, Happening::Block { step, disk: 0, sectors, rwbs: rwbs(letters), name });
    }

    /// A request that is queued, issued and completed at these times.
    pub fn request(&mut self, at: [u64; 3], thread: u32, sectors: Range<u64>, letters: &str) {
        let [queued, issued, completed] = at;
        self.step(queued, thread, Step::Queued, sectors.clone(), letters);
        self.step(issued, thread, Step::Issued, sectors.clone(), letters);
        self.step(completed, 0, Step::Completed, sectors, letters);
    }

    /// A flush that a thread asks for, as the kernel carries it out.
    pub fn flush(&mut self, at: [u64; 3], thread: u32) {
        let [queued, issued, completed] = at;
        self.step(queued, thread, Step::Queued, 0..0, "FW");
        self.step(issued, thread, Step::Issued, 0..0, "FF");
        self.step(completed, 0, Step::Completed, u64::MAX..u64::MAX, "FF");
    }

    pub fn commit(&mut self, at: u64, step: CommitStep) {
        self.add(at, JOURNAL, Happening::Commit { device: DEVICE, step, transaction: 1 });
    }

    fn take_all(&mut self) {
        self.events.sort_by_key(|seen| seen.at_ns);
        self.fold.take(&self.events, &mut self.known);
        self.events.clear();
    }

    /// Takes the next events, so many; false if none is left.
    pub fn take(&mut self, count: usize) -> bool {
        self.events.sort_by_key(|seen| seen.at_ns);
        let rest = self.events.split_off(count.min(self.events.len()));
        let now = std::mem::replace(&mut self.events, rest);
        self.fold.take(&now, &mut self.known);
        !self.events.is_empty()
    }

    /// Ends the slice; gives for how long what it cut was in progress.
    pub fn end_slice(&mut self, at: u64) -> u64 {
        self.take_all();
        self.is_open = false;
        self.fold.end_slice(BEGAN_NS + us(at))
    }

    pub fn begin_slice(&mut self, at: u64) {
        self.fold.begin_slice(BEGAN_NS + us(at));
        self.is_open = true;
    }

    /// What all came to, at this time.
    pub fn watched(mut self, at: u64) -> Watched {
        self.take_all();
        if self.is_open {
            self.end_slice(at);
        }
        self.fold.watched(BEGAN_NS + us(at))
    }

    /// Tracing is seen to go on until this time, with or without a loss of events before it.
    pub fn reach(&mut self, at: u64, is_lost: bool) {
        self.take_all();
        if is_lost {
            self.fold.lost(BEGAN_NS + us(at));
        }
        self.fold.reach(BEGAN_NS + us(at));
    }

    /// The operations themselves, up to this time.
    pub fn captured(mut self, at: u64) -> Captured {
        self.take_all();
        if self.is_open {
            self.end_slice(at);
        }
        self.fold.captured().expect("they were to be kept")
    }
}
