//! Defines what was seen of an application while it was watched: what it did, where it waited, who else was at work.
//!
//! Nothing here interprets: what limits the application is `analyse`'s to say. All times are of the traced part of the
//! watch, unless the field says otherwise; rates are counts divided by that time.

use halfpower_spec::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CpuTimes, DeviceUse, Latency};

/// What was seen of an application over a time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Watched {
    /// Whom the watch was asked to look at.
    pub subject: Subject,
    /// When it began, in milliseconds of Unix time.
    pub started_unix_ms: u64,
    /// Its whole length, in nanoseconds.
    pub span_ns: u64,
    /// The part of it that was traced, in nanoseconds: all of it, or slices where tracing everything would cost too much.
    pub traced_ns: u64,
    /// Slices that were traced; 1 if it was traced throughout.
    pub slices: u64,
    /// What the watch itself cost.
    pub cost: WatchCost,
    /// Sources that this machine does not offer, each with the reason and what is unknown without it.
    pub unseen: Vec<Unseen>,
    /// Whether nothing told how many bytes the application moved: no events, and its counters may not be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bytes_unseen: bool,
    /// The file systems and devices that the application's operations went to.
    pub places: Vec<WatchedPlace>,
    /// What the application did, one entry for each place, kind, way and size class, most time first.
    pub operations: Vec<Operations>,
    /// What the disks were asked for, by cause, and for whom.
    pub requests: Vec<DiskRequests>,
    /// The application's processor time, and that of the machine.
    pub processors: WatchedProcessors,
    /// Time that tasks waited, as the kernel counts it.
    pub pressure: Vec<Pressure>,
    /// Limits that a control group sets on the application, and how much they held it up.
    pub group_limits: Vec<GroupLimit>,
    /// Counters of the disks over the whole watch, all processes together.
    pub disks: Vec<DeviceUse>,
    /// Other processes that used the same disks, most bytes first.
    pub others: Vec<OtherUser>,
    /// What happened second by second, over the whole watch.
    pub seconds: Vec<WatchedSecond>,
    /// Single requests that the watch sent itself; `None` if it was not asked to, or could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<SafeProbe>,
}

/// Whom the watch looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// What was asked for: `pid 4711`, `cgroup /system.slice/postgresql.service`, `device nvme0n1`, `mount /srv`, or a command.
    pub asked: String,
    /// Name of the program that most of its processes run.
    pub name: String,
    /// Processes that were seen, over the whole watch.
    pub processes: u64,
    /// Threads that were seen, over the whole watch.
    pub threads: u64,
    /// Its control group; empty if its processes are in several.
    pub cgroup: String,
    /// Exit code of the command, or its processes' end: `null` while they still run.
    pub ended: Option<String>,
}

/// What the watch itself cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WatchCost {
    /// Processor time of the watching process, in nanoseconds, over the whole watch.
    pub processor_ns: u64,
    /// Events that the kernel recorded for it.
    pub events: u64,
    /// Estimated processor time that others spent on them, in nanoseconds: on recording them, and on their probes while
    /// nothing was recorded.
    pub recording_ns: u64,
    /// Events that the kernel could not record, or overwrote before they were read.
    pub lost_events: u64,
}

/// A source that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unseen {
    /// The source, such as "events of jbd2".
    pub source: String,
    /// Why it could not be used.
    pub why: String,
    /// What is unknown without it, and what would be seen with it.
    pub without: String,
}

/// A file system, or a block device used without one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WatchedPlace {
    /// Where it is mounted, or the device's path.
    pub path: String,
    /// Type of the file system, such as `ext4`; empty for a device.
    pub file_system: String,
    /// Kernel names of the disks beneath.
    pub disks: Vec<String>,
    /// Kernel names of the volumes that it stands on, if these are no disks: of a volume manager, of encryption, of a RAID.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<String>,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Writes that are durable when they return: the file is open with `O_DSYNC` or `O_SYNC`, or `RWF_DSYNC` was given.
    DurableWrite,
    /// `fdatasync`.
    Fdatasync,
    /// `fsync`.
    Fsync,
    /// `sync_file_range`, `sync` or `syncfs`.
    OtherSync,
    /// A page fault that had to read.
    FaultRead,
}

impl OperationKind {
    /// Whether it makes data durable.
    pub fn is_durable(self) -> bool {
        matches!(self, Self::DurableWrite | Self::Fdatasync | Self::Fsync | Self::OtherSync)
    }

    /// Whether it makes durable what was written to its file before, or is written by itself.
    pub fn ends_a_commit(self) -> bool {
        matches!(self, Self::DurableWrite | Self::Fdatasync | Self::Fsync)
    }
}

/// How operations are issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssuedBy {
    /// System calls that wait.
    Calls,
    /// io_uring.
    IoUring,
    /// The kernel's older asynchronous I/O (libaio).
    Aio,
    /// A mapping of the file.
    Mapping,
}

/// Operations of one kind on one place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Operations {
    /// Index into `places`; `None` if not known.
    pub place: Option<usize>,
    /// What they do.
    pub kind: OperationKind,
    /// How they are issued.
    pub by: IssuedBy,
    /// Whether they pass the page cache by (`O_DIRECT`); `None` if not known.
    pub direct: Option<bool>,
    /// Operations that began in the traced time. What was seen whole stands for what was cut, in all that follows.
    pub count: u64,
    /// The longest of them of which only is known how long they took at least: tracing stopped, and none that took longer was
    /// seen whole.
    #[serde(default)]
    pub unended: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Sizes in bytes, each with its number, most frequent first: at most eight; the rest is under size 0.
    pub sizes: Vec<(u64, u64)>,
    /// Those that continued where the one before on the same file ended.
    pub sequential: u64,
    /// Writes that made their file longer.
    pub appends: u64,
    /// Those that needed no disk: found in, or left in, the page cache.
    pub cached: u64,
    /// Time from their beginning to their end.
    pub latency: Latency,
    /// That time of all together, in nanoseconds, by what it was spent on; its sum is the latencies' sum.
    pub waits: Vec<(Wait, u64)>,
    /// Threads that issued them.
    pub threads: u64,
    /// Mean number in progress while at least one was.
    pub depth_while_busy: f64,
    /// Mean number in progress over the traced time.
    pub depth: f64,
    /// Most in progress at once.
    pub deepest: u32,
    /// For syncs: operations of other threads that were in the same flush or journal commit, summed over the syncs.
    pub shared_flushes: u64,
}

/// What an operation's time was spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// The processor worked for it.
    Processor,
    /// It was ready, and waited for a processor.
    RunQueue,
    /// It waited for a limit of a control group, or for the kernel's throttling of writers (dirty pages).
    Throttle,
    /// It waited for a commit of the journal, beyond the disk's own time in it.
    Journal,
    /// It waited while data was written back, its own or that of others.
    Writeback,
    /// Its request waited in the block layer: for a tag, in the scheduler.
    BlockQueue,
    /// The device worked on it.
    Device,
    /// The device flushed its cache for it.
    Flush,
    /// It waited for a lock, or for something that was not seen.
    Other,
}

/// Why a request reached a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// An operation of the process that read or wrote it.
    Operation,
    /// Read ahead of what was asked for.
    ReadAhead,
    /// A sync of the process.
    Sync,
    /// A commit of the journal.
    Journal,
    /// Pages that the kernel wrote back by itself.
    Writeback,
    /// A flush of the device's cache.
    Flush,
    /// Reading of pages that were taken from a process, or of a program's own pages.
    Paging,
    /// Discards and others.
    Other,
}

/// Requests to one disk for one cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskRequests {
    /// Kernel name of the disk.
    pub disk: String,
    /// Why.
    pub cause: Cause,
    /// Whether they are the application's; `None` where the kernel acts for all (journal, writeback, flush).
    pub own: Option<bool>,
    /// Whether they write.
    pub writes: bool,
    /// Requests that completed in the traced time.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those that began where the one before on this disk ended.
    pub sequential: u64,
    /// Time in the block layer before the device got them.
    pub queue: Latency,
    /// Time that the device took.
    pub device: Latency,
    /// Mean number at the device over the traced time.
    pub depth: f64,
}

/// Processor time over the whole watch.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WatchedProcessors {
    /// Of the application's threads, in nanoseconds.
    pub own_ns: u64,
    /// That its threads were ready and waited for a processor, in nanoseconds; `None` if the kernel does not count it.
    pub run_queue_ns: Option<u64>,
    /// That its threads waited for block I/O, in nanoseconds; `None` if the kernel does not count it (delay accounting is off).
    pub block_io_ns: Option<u64>,
    /// The busiest of its threads, in nanoseconds of processor time.
    pub busiest_thread_ns: u64,
    /// Each processor of the machine.
    pub machine: Vec<CpuTimes>,
}

/// Time that tasks waited (pressure stall information), over the whole watch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pressure {
    /// Of what: `machine`, or the path of the control group.
    pub of: String,
    /// `io`, `cpu` or `memory`.
    pub resource: String,
    /// Time that some task waited, in nanoseconds.
    pub some_ns: u64,
    /// Time that all tasks that were not idle waited, in nanoseconds; `null` if the kernel does not count it.
    pub full_ns: Option<u64>,
}

/// A limit that a control group sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupLimit {
    /// File that sets it.
    pub file: String,
    /// What it limits: `read_bps`, `write_bps`, `read_iops`, `write_iops`, `cpu_quota` (processors) or `memory` (bytes).
    pub limits: String,
    /// The disk it is for; empty if it is for none.
    pub disk: String,
    /// The limit, a second where it is a rate.
    pub limit: f64,
    /// What was used of it, in the same unit, over the whole watch.
    pub used: f64,
    /// Time that the group was held up by it, in nanoseconds; `null` if the kernel does not count it.
    pub held_ns: Option<u64>,
    /// For memory: bytes that were read again over the whole watch, because the kernel had taken them from it; `null` if it
    /// does not count them.
    #[serde(default)]
    pub read_again_bytes: Option<u64>,
}

/// Another process that used the same disks in the traced time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherUser {
    /// Name of its program.
    pub name: String,
    /// Its process ID; 0 for the kernel.
    pub pid: u32,
    /// Its control group.
    pub cgroup: String,
    /// Bytes that it read from these disks.
    pub read_bytes: u64,
    /// Bytes that it wrote to these disks.
    pub written_bytes: u64,
    /// Requests that it sent.
    pub requests: u64,
    /// Syncs that it asked for.
    pub syncs: u64,
    /// Latency of the application's operations (its reads and syncs) that overlap a request or a sync of this process.
    pub own_during: Latency,
    /// Latency of those that overlap none.
    pub own_without: Latency,
}

/// One second of the watch.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WatchedSecond {
    /// Nanoseconds of it that were traced.
    pub traced_ns: u64,
    /// Latency of the application's reads that ended in it.
    pub reads: Latency,
    /// Latency of the application's writes that ended in it.
    pub writes: Latency,
    /// Latency of the application's syncs and durable writes that ended in it.
    pub syncs: Latency,
    /// Mean number of the application's operations in progress.
    pub depth: f64,
    /// Bytes that the application's requests moved.
    pub own_bytes: u64,
    /// Bytes that requests of others moved on the same disks.
    pub other_bytes: u64,
}

/// Single reads that the watch sent itself, each while the disk had nothing else to do: at random offsets, past the page
/// cache, at idle priority.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SafeProbe {
    /// Index into `places`.
    pub place: usize,
    /// Whether a file or a device was read that the application has open; otherwise it was the disk beneath.
    pub of_own_file: bool,
    /// Requests that were sent, with those that reached no disk.
    pub requests: u64,
    /// Latency of those that a disk answered, for each size in bytes.
    pub latency: Vec<(u64, Latency)>,
    /// Why it ended before all were sent; `None` if it did not.
    pub stopped: Option<ProbeStop>,
}

/// Why a probe ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeStop {
    /// Reads of the application took longer beside it.
    ReadsSlower,
    /// Syncs of the application took longer beside it.
    SyncsSlower,
    /// One of its own requests took more than ten times as long as their median.
    OwnSlower,
    /// The disk was hardly ever without a request.
    NeverIdle,
    /// The place could not be read, or its thread could not go behind everybody else.
    Unread,
}
