//! Decodes what threads and disks were seen to do.

use std::ops::Range;

use super::block::{BLOCK_EVENTS, BlockEvent, DiskNumbers, LETTERS, NAME, Step};
use super::call::{CALLS, Call, CallEvents};
use super::format::{Field, Fields, Kind, Layouts, Payload, WantedEvent, named, wanted};
use super::page::PageLayout;
use crate::DeviceNumber;

/// The bits of a thread's state that say for what it waits (TASK_REPORT in include/linux/sched.h); the bit above says that
/// it was only displaced.
const WAITING: u64 = 0xff;
/// Arguments of a system call.
const MOST_ARGUMENTS: usize = 6;

/// Something that happened to a watched thread or on a watched disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Time in nanoseconds of the monotonic clock.
    pub at_ns: u64,
    /// The processor on which it happened.
    pub cpu: u32,
    /// The thread that was running there.
    pub thread: u32,
    /// Whether it happened in an interrupt or in work deferred from one.
    pub in_interrupt: bool,
    /// What happened.
    pub what: Happening,
}

/// What happened. Devices are numbers as `stat` returns them, which [`DeviceNumber::of`] takes apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// The thread entered a system call.
    CallBegan {
        /// The call.
        call: Call,
        /// Its arguments, as the registers held them: of a descriptor the lower 32 bits count. 0 for those that it does not
        /// have.
        args: [u64; 6],
    },
    /// The thread left a system call.
    CallEnded {
        /// The call.
        call: Call,
        /// What it returned; an error is its number below 0.
        result: i64,
    },
    /// The thread closes a descriptor, whose number may be that of another file next.
    Closes {
        /// The descriptor.
        fd: u32,
    },
    /// The kernel took up an entry of a ring.
    RingBegan {
        /// The kernel's address of the request, the same until its end.
        request: u64,
        /// The kernel's address of the ring.
        ring: u64,
        /// What the entry asks for (`IORING_OP_*`).
        opcode: u8,
    },
    /// The kernel looked up the file of a ring's entry; registered files are not looked up.
    RingFile {
        /// The kernel's address of the request.
        request: u64,
        /// The descriptor.
        fd: u32,
    },
    /// The kernel completed an entry of a ring.
    RingEnded {
        /// The kernel's address of the request.
        request: u64,
        /// What it returned; an error is its number below 0.
        result: i64,
    },
    /// A thread left the processor.
    SwitchedOut {
        /// The thread.
        thread: u32,
        /// For what it waits, as the kernel's bits; 0 if it is still ready.
        state: u64,
    },
    /// A thread got the processor.
    SwitchedIn {
        /// The thread.
        thread: u32,
    },
    /// A thread became ready.
    Woken {
        /// The thread.
        thread: u32,
    },
    /// The running thread, or an interrupt on it, is about to make a thread ready.
    Wakes {
        /// The thread that is woken.
        thread: u32,
    },
    /// A request, or the part of it in a bio, took a step in the block layer.
    Block {
        /// The step.
        step: Step,
        /// The disk, as an index into the watcher's list.
        disk: usize,
        /// Its sectors of 512 bytes, counted on the whole disk.
        sectors: Range<u64>,
        /// What it asks for.
        rwbs: Rwbs,
        /// Name of the running thread; zeros if the event has none.
        name: [u8; 16],
    },
    /// The range that began at `from` was split at `at` because the device takes no more at once.
    Split {
        /// The disk, as an index into the watcher's list.
        disk: usize,
        /// First sector of the first part.
        from: u64,
        /// First sector of the second part.
        at: u64,
    },
    /// ext4 began to sync a file.
    SyncBegan {
        /// The file system's device.
        device: u64,
        /// The file's inode.
        inode: u64,
        /// Whether only its data are synced (`fdatasync`).
        data_only: bool,
    },
    /// ext4 synced a file, or could not.
    SyncEnded {
        /// The file system's device.
        device: u64,
        /// The file's inode.
        inode: u64,
    },
    /// A commit of a journal took a step. The thread is that of the journal.
    Commit {
        /// The file system's device.
        device: u64,
        /// The step.
        step: CommitStep,
        /// The transaction's number.
        transaction: u32,
    },
    /// The kernel makes the thread, which writes to the page cache, wait.
    Throttled {
        /// Milliseconds that it will wait.
        pause_ms: u64,
    },
    /// The kernel reads pages of a file into the page cache.
    ReadAhead {
        /// The file system's device.
        device: u64,
        /// The file's inode.
        inode: u64,
        /// Pages, with those that were asked for.
        pages: u64,
    },
    /// The thread touched a page of a mapped file that it had not mapped yet.
    Fault {
        /// The file system's device.
        device: u64,
        /// The file's inode.
        inode: u64,
    },
}

/// Steps of a journal's commit (jbd2), in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommitStep {
    /// It began.
    Started,
    /// It waits until no handle of the transaction is open.
    Locking,
    /// It writes the data that must be on the disk first.
    Flushing,
    /// It writes the journal.
    Logging,
    /// It is done.
    Ended,
}

/// What a request asks for, as the letters of the kernel's events tell it (`blk_fill_rwbs` in the kernel).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Rwbs {
    /// It writes.
    pub writes: bool,
    /// It reads.
    pub reads: bool,
    /// The device's cache is flushed, before its data if it has some.
    pub flush: bool,
    /// Its data are durable when it completes (force unit access).
    pub fua: bool,
    /// Somebody waits for it.
    pub sync: bool,
    /// It reads ahead.
    pub ahead: bool,
    /// It carries the file system's own data.
    pub meta: bool,
    /// It discards.
    pub discard: bool,
}

impl Rwbs {
    /// Reads letters such as `WFS`; they end at a NUL byte.
    pub fn of_letters(letters: &[u8]) -> Self {
        let end = letters.iter().position(|letter| *letter == 0).unwrap_or(letters.len());
        let mut rwbs = Self::default();
        // A flush before the operation has a letter of its own before that of the operation.
        let (operation, rest) = match &letters[..end] {
            [b'F', operation @ (b'W' | b'R' | b'D' | b'F' | b'Z' | b'N'), rest @ ..] => {
                rwbs.flush = true;
                (*operation, rest)
            }
            [operation, rest @ ..] => (*operation, rest),
            [] => return rwbs,
        };
        match operation {
            b'W' => rwbs.writes = true,
            b'R' => rwbs.reads = true,
            b'D' => rwbs.discard = true,
            b'F' => rwbs.flush = true,
            // Of the commands for zones only the append carries data; the others have letters of their own.
            b'Z' if rest.first() == Some(&b'A') => return Self { writes: true, ..rwbs },
            b'Z' => return rwbs,
            _ => {}
        }
        rwbs.fua = rest.contains(&b'F');
        rwbs.ahead = rest.contains(&b'A');
        rwbs.sync = rest.contains(&b'S');
        rwbs.meta = rest.contains(&b'M');
        rwbs
    }
}

/// How a kernel event is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeenKind {
    CallBegan(Call),
    CallEnded(Call),
    Closes,
    RingBegan,
    RingFile,
    RingEnded,
    Switched,
    Woken,
    Wakes,
    Block(BlockEvent),
    SyncBegan,
    SyncEnded,
    Commit(CommitStep),
    Throttled,
    ReadAhead,
    Fault,
}

impl Kind for SeenKind {
    fn places(self, fields: &Fields) -> Option<Vec<Field>> {
        let names: &[&str] = match self {
            Self::CallBegan(_) => return Some(arguments(fields)),
            Self::Block(event) => return event.places(fields),
            Self::CallEnded(_) => &["ret"],
            Self::Closes => &["fd"],
            Self::RingBegan => &["req", "ctx", "opcode"],
            Self::RingFile => &["req", "fd"],
            Self::RingEnded => &["req", "res"],
            Self::Switched => &["prev_pid", "prev_state", "next_pid"],
            Self::Woken | Self::Wakes => &["pid"],
            Self::SyncBegan => &["dev", "ino", "datasync"],
            Self::SyncEnded => &["dev", "ino"],
            Self::Commit(_) => &["dev", "transaction"],
            Self::Throttled => &["pause"],
            Self::ReadAhead => &["s_dev", "i_ino", "nr_to_read"],
            Self::Fault => &["s_dev", "i_ino"],
        };
        named(fields, names)
    }
}

/// The fields that hold the arguments of a call, in their order: all that are not common to all events or all calls.
fn arguments(fields: &Fields) -> Vec<Field> {
    let own = fields.iter().filter(|(name, _)| !name.starts_with("common_") && !name.starts_with("__"));
    let mut found: Vec<Field> = own.map(|(_, field)| *field).collect();
    found.sort_unstable_by_key(|field| field.offset);
    found.truncate(MOST_ARGUMENTS);
    found
}

/// The events of calls.
pub(crate) fn call_events() -> impl Iterator<Item = WantedEvent<SeenKind>> {
    let both = |row: &CallEvents| {
        [
            wanted("syscalls", row.enter, false, SeenKind::CallBegan(row.call)),
            wanted("syscalls", row.exit, false, SeenKind::CallEnded(row.call)),
        ]
    };
    CALLS.iter().flat_map(both)
}

/// Other events of threads.
pub(crate) const THREAD_EVENTS: [WantedEvent<SeenKind>; 10] = [
    wanted("syscalls", "sys_enter_close", false, SeenKind::Closes),
    wanted("sched", "sched_switch", false, SeenKind::Switched),
    wanted("sched", "sched_wakeup", false, SeenKind::Woken),
    wanted("sched", "sched_wakeup_new", false, SeenKind::Woken),
    wanted("io_uring", "io_uring_submit_req", false, SeenKind::RingBegan).before("io_uring_submit_sqe"),
    wanted("io_uring", "io_uring_file_get", false, SeenKind::RingFile),
    wanted("io_uring", "io_uring_complete", false, SeenKind::RingEnded),
    wanted("writeback", "balance_dirty_pages", false, SeenKind::Throttled),
    wanted("readahead", "page_cache_ra_unbounded", false, SeenKind::ReadAhead),
    wanted("filemap", "mm_filemap_fault", false, SeenKind::Fault),
];

/// Tells who wakes whom. A wake-up itself may be carried out, and recorded, on the processor of the one that is woken.
pub(crate) const WAKES: WantedEvent<SeenKind> = wanted("sched", "sched_waking", false, SeenKind::Wakes);

/// The events of the block layer.
pub(crate) fn block_events() -> impl Iterator<Item = WantedEvent<SeenKind>> {
    BLOCK_EVENTS.into_iter().map(|event| event.made(SeenKind::Block))
}

/// The events of file systems, of all threads: journals, and syncs of files.
pub(crate) const FILE_SYSTEM_EVENTS: [WantedEvent<SeenKind>; 7] = [
    wanted("ext4", "ext4_sync_file_enter", false, SeenKind::SyncBegan),
    wanted("ext4", "ext4_sync_file_exit", false, SeenKind::SyncEnded),
    wanted("jbd2", "jbd2_start_commit", false, SeenKind::Commit(CommitStep::Started)),
    wanted("jbd2", "jbd2_commit_locking", false, SeenKind::Commit(CommitStep::Locking)),
    wanted("jbd2", "jbd2_commit_flushing", false, SeenKind::Commit(CommitStep::Flushing)),
    wanted("jbd2", "jbd2_commit_logging", false, SeenKind::Commit(CommitStep::Logging)),
    wanted("jbd2", "jbd2_end_commit", false, SeenKind::Commit(CommitStep::Ended)),
];

/// Decodes payloads into what was seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenDecoder {
    /// The events that it knows.
    pub(crate) layouts: Layouts<SeenKind>,
    disks: DiskNumbers,
}

impl SeenDecoder {
    /// Makes a decoder for these disks, given all numbers by which events may name each.
    pub(crate) fn new(disks: &[Vec<u64>]) -> Self {
        Self { layouts: Layouts::default(), disks: DiskNumbers::new(disks) }
    }

    /// What a payload tells: of most events one thing, of a switch of threads two; nothing if the event is not wanted or
    /// belongs to another disk.
    pub(crate) fn decode(&self, at_ns: u64, cpu: u32, payload: &[u8]) -> impl Iterator<Item = Seen> {
        let told = self.layouts.open(payload).and_then(|payload| {
            let thread = payload.thread()?;
            let in_interrupt = payload.in_interrupt()?;
            Some(self.happenings(payload)?.map(|what| Some(Seen { at_ns, cpu, thread, in_interrupt, what: what? })))
        });
        told.into_iter().flatten().flatten()
    }

    fn happenings(&self, payload: Payload<'_, SeenKind>) -> Option<[Option<Happening>; 2]> {
        let number = |place: usize| payload.number(place);
        let device = || Some(DeviceNumber::from_events(number(0)?).in_stat());
        let what = match payload.kind() {
            SeenKind::Switched => {
                let state = number(1)? & WAITING;
                let before = number(0)? as u32;
                let after = number(2)? as u32;
                // Thread 0 stands for a processor that has nothing to do.
                return Some([
                    (before != 0).then_some(Happening::SwitchedOut { thread: before, state }),
                    (after != 0).then_some(Happening::SwitchedIn { thread: after }),
                ]);
            }
            SeenKind::CallBegan(call) => {
                let args = std::array::from_fn(|place| number(place).unwrap_or(0));
                Happening::CallBegan { call, args }
            }
            SeenKind::CallEnded(call) => Happening::CallEnded { call, result: payload.signed(0)? },
            SeenKind::Closes => Happening::Closes { fd: number(0)? as u32 },
            SeenKind::RingBegan => {
                Happening::RingBegan { request: number(0)?, ring: number(1)?, opcode: number(2)? as u8 }
            }
            SeenKind::RingFile => Happening::RingFile { request: number(0)?, fd: number(1)? as u32 },
            SeenKind::RingEnded => {
                // Request 0 stands for a completion that ends no request.
                let request = number(0).filter(|request| *request != 0)?;
                Happening::RingEnded { request, result: payload.signed(1)? }
            }
            SeenKind::Woken => Happening::Woken { thread: number(0)? as u32 },
            SeenKind::Wakes => Happening::Wakes { thread: number(0)? as u32 },
            SeenKind::Block(event) => self.of_disk(event, payload)?,
            SeenKind::SyncBegan => {
                Happening::SyncBegan { device: device()?, inode: number(1)?, data_only: number(2)? != 0 }
            }
            SeenKind::SyncEnded => Happening::SyncEnded { device: device()?, inode: number(1)? },
            SeenKind::Commit(step) => Happening::Commit { device: device()?, step, transaction: number(1)? as u32 },
            SeenKind::Throttled => {
                let pause_ms = u64::try_from(payload.signed(0)?).ok().filter(|pause| *pause > 0)?;
                Happening::Throttled { pause_ms }
            }
            SeenKind::ReadAhead => Happening::ReadAhead { device: device()?, inode: number(1)?, pages: number(2)? },
            SeenKind::Fault => Happening::Fault { device: device()?, inode: number(1)? },
        };
        Some([Some(what), None])
    }

    fn of_disk(&self, event: BlockEvent, payload: Payload<'_, SeenKind>) -> Option<Happening> {
        let disk = self.disks.disk(payload.number(0)?)?;
        let from = payload.number(1)?;
        let last = payload.number(2)?;
        Some(match event {
            BlockEvent::Step(step) => {
                let rwbs = Rwbs::of_letters(payload.bytes(LETTERS)?);
                let mut name = [0; 16];
                name.iter_mut().zip(payload.bytes(NAME)?).for_each(|(to, byte)| *to = *byte);
                Happening::Block { step, disk, sectors: from..from.saturating_add(last), rwbs, name }
            }
            BlockEvent::Split => Happening::Split { disk, from, at: last },
        })
    }
}

/// All events that a watcher may read.
pub(crate) fn seen_events() -> impl Iterator<Item = WantedEvent<SeenKind>> {
    call_events().chain(THREAD_EVENTS).chain([WAKES]).chain(block_events()).chain(FILE_SYSTEM_EVENTS)
}

/// As [`super::events_of_page`], what a watcher sees in one page of a ring buffer.
pub fn seen_in_page(header_page: &str, formats: &[&str], disk: &[u64], page: &[u8]) -> Vec<Seen> {
    let mut events = Vec::new();
    let Some(layout) = PageLayout::parse(header_page) else { return events };
    let mut decoder = SeenDecoder::new(&[disk.to_vec()]);
    decoder.layouts.learn_all(seen_events(), formats);
    layout.read(page, |at_ns, payload| events.extend(decoder.decode(at_ns, 0, payload)));
    events
}

#[cfg(test)]
mod tests;
